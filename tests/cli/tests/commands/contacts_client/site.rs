//! An address book for clients to play with. It can be killed and comes back at the same address, and it can get a backup back.

use std::net::SocketAddr;

use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, Launch, Profile};
use workshop_harness::service::{Service, Settings};
use workshop_postgres::Server;
use workshop_postgres::datasets::RunDatabase;

const BACK_UP: &str = "
    CREATE SCHEMA backup;
    CREATE TABLE backup.books AS TABLE books;
    CREATE TABLE backup.contacts AS TABLE contacts;";
/// The last line is the one that the exercise's page has for the runbook.
const RESTORE: &str = "
    DELETE FROM contacts;
    DELETE FROM books;
    INSERT INTO books TABLE backup.books;
    INSERT INTO contacts TABLE backup.contacts;
    UPDATE books SET life = gen_random_uuid();";

pub struct Site {
    pub workspace: Workspace,
    pub address: SocketAddr,
    launch: Launch,
    settings: Settings,
    service: Service,
    database: RunDatabase,
}

impl Site {
    pub async fn start(target: Target) -> Site {
        let workspace = Workspace::find().unwrap();
        let server = Server::ensure(&workspace).await.unwrap();
        let database = RunDatabase::empty(&server).await.unwrap();
        let launch = build::build(&workspace, target, Profile::Check)
            .await
            .unwrap();
        let settings = Settings::new(database.url());
        let service = Service::start(&workspace, &launch, &settings).await;
        let service = service.unwrap_or_else(|error| panic!("{error}"));
        Site {
            address: service.address(),
            workspace,
            launch,
            settings,
            service,
            database,
        }
    }

    pub async fn kill_and_start(&mut self) {
        self.service.kill();
        let (launch, settings) = (&self.launch, &self.settings);
        let service = Service::start_at(&self.workspace, launch, settings, self.address).await;
        self.service = service.unwrap_or_else(|error| panic!("{error}"));
    }

    /// How many changes the books have seen.
    pub async fn changes(&self) -> i64 {
        let mut connection = self.database.connect().await.unwrap();
        // A service that has just been started may not have its tables yet.
        let changes = "SELECT coalesce(sum(revision), 0)::bigint FROM books";
        let changes = sqlx::query_scalar(changes).fetch_one(&mut connection).await;
        changes.unwrap_or(0)
    }

    /// Keeps what is there now.
    pub async fn back_up(&self) {
        self.execute(BACK_UP).await;
    }

    /// Kills the service, and starts it with what was there at the backup.
    pub async fn restore(&mut self) {
        self.service.kill();
        self.execute(RESTORE).await;
        self.kill_and_start().await;
    }

    pub async fn stop(self) {
        self.service.stop().await;
        self.database.remove().await.unwrap();
    }

    async fn execute(&self, sql: &'static str) {
        let mut connection = self.database.connect().await.unwrap();
        sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    }
}
