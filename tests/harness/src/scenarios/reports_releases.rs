//! Services that each have a database of their own, whose schema an earlier or a later release of them changes. The tests play those
//! releases: they find tables and columns in the catalog, since a service names them as it likes.

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection as _};
use tokio::sync::Mutex;
use workshop_base::workspace::Workspace;
use workshop_postgres::datasets::RunDatabase;

use super::outage::settled;
use super::{LOG_LINES, Place, Played, Scenario, When, stage, status_of};
use crate::build::launch::Launch;
use crate::scenarios::ContractTest;
use crate::service::{Service, Settings};
use std::time::Duration;
use workshop_requests::failure::{Failure, TestError};
use workshop_requests::http::Client;

pub use super::asked as test;

/// `DATABASE_TIMEOUT_MS`: the documented default.
const TIMEOUT: Duration = Duration::from_secs(1);

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: false,
    ..Scenario::new("reports_releases", When::Waiting, 16, |place, tests| {
        Box::pin(play(place, tests))
    })
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let mut statuses = Vec::new();
    for test in tests {
        let database = RunDatabase::empty(place.server).await?;
        let release = Release {
            schema: Mutex::new(database.connect().await?),
            settings: Settings {
                database_url: database.url().to_owned(),
                ..stage::settings(TIMEOUT)
            },
            workspace: place.workspace.clone(),
            launch: place.launch.clone(),
            service: Mutex::default(),
        };
        let result = (test.judge)(&release).await;
        let service = release.service.into_inner();
        let log = || service.map_or_else(String::new, |service| service.log_tail(LOG_LINES));
        statuses.push(status_of(test, result, log)?);
        release.schema.into_inner().close().await?;
    }
    Ok(Played {
        statuses,
        leaving: Vec::new(),
    })
}

/// A release of a service, and the database that it shares with others.
pub struct Release {
    /// The test's own connection.
    pub schema: Mutex<PgConnection>,
    settings: Settings,
    workspace: Workspace,
    launch: Launch,
    service: Mutex<Option<Service>>,
}

/// A column that a service has created.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct TableColumn {
    /// Its table, in quotes where it needs them.
    pub table: String,
    /// Its name, in quotes where it needs them.
    pub name: String,
    /// Its type, as `format_type` has it.
    pub kind: String,
}

impl Release {
    /// Starts the service, or starts it again, and returns a client for it. It may not be ready yet.
    pub async fn start(&self) -> Result<Client, TestError> {
        let mut service = self.service.lock().await;
        if let Some(mut running) = service.take() {
            running.kill();
        }
        let started = Service::start(&self.workspace, &self.launch, &self.settings).await;
        let started = started.map_err(|error| {
            Failure::new("a service that starts on its database", error.to_string())
        })?;
        let key = self.settings.api_keys.first().map(String::as_str);
        let client = Client::new(started.base_url(), key)?;
        *service = Some(started);
        Ok(client)
    }

    /// Starts the service, and waits until it is ready.
    pub async fn start_ready(&self) -> Result<Client, TestError> {
        let client = self.start().await?;
        settled(&client, "/ready").await?.expect_status(200)?;
        Ok(client)
    }

    /// The columns of the tables that the service has created, except those of its migrations.
    pub async fn columns(&self) -> Result<Vec<TableColumn>, TestError> {
        let columns = sqlx::query_as(
            "SELECT attrelid::regclass::text AS table, quote_ident(attname) AS name, format_type(atttypid, atttypmod) AS kind \
             FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid \
             WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped \
             AND relname !~ 'migration|schema_history|changelog' ORDER BY 1, attnum",
        )
        .fetch_all(&mut *self.schema.lock().await)
        .await?;
        if columns.is_empty() {
            return Err(Failure::new("tables of the service in the schema public", "none").into());
        }
        Ok(columns)
    }

    /// Runs this statement.
    pub async fn alter(&self, sql: &str) -> Result<(), TestError> {
        let mut schema = self.schema.lock().await;
        sqlx::raw_sql(AssertSqlSafe(sql.to_owned()))
            .execute(&mut *schema)
            .await?;
        Ok(())
    }

    /// Makes all stored times this many hours older.
    pub async fn pass(&self, hours: u32) -> Result<(), TestError> {
        for column in self.columns().await? {
            if column.kind.starts_with("timestamp") {
                let TableColumn { table, name, .. } = column;
                let sql = format!("UPDATE {table} SET {name} = {name} - interval '{hours} hours'");
                self.alter(&sql).await?;
            }
        }
        Ok(())
    }

    /// The rows in all tables of the service.
    pub async fn rows(&self) -> Result<i64, TestError> {
        let mut tables: Vec<String> = self
            .columns()
            .await?
            .into_iter()
            .map(|column| column.table)
            .collect();
        tables.dedup();
        let counts = tables
            .iter()
            .map(|table| format!("(SELECT count(*) FROM {table})"));
        let sql = format!("SELECT {}", counts.collect::<Vec<_>>().join(" + "));
        let rows = sqlx::query_scalar(AssertSqlSafe(sql));
        Ok(rows.fetch_one(&mut *self.schema.lock().await).await?)
    }

    /// How many sessions of other clients are active in the database, including those that wait in a statement.
    pub async fn busy_sessions(&self) -> Result<i64, TestError> {
        let busy = sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' \
             AND backend_type = 'client backend' AND pid <> pg_backend_pid()",
        );
        Ok(busy.fetch_one(&mut *self.schema.lock().await).await?)
    }
}
