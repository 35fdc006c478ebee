//! The names of our databases, the locks that say which of them are in use, and the broom for those that are not.
//!
//! Every name begins with `workshop_<checkout>_`; nothing else is ever dropped. Whoever builds a data set or runs on a
//! copy holds an advisory lock on the database's name. PostgreSQL lets go of it when that session ends, however it
//! ends, so a database whose lock can be taken is a leftover.

use anyhow::Context;
use sha2::{Digest, Sha256};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::datasets::DataSet;

use crate::datasets::records;

/// The names of one checkout.
#[derive(Debug, Clone)]
pub(super) struct Names {
    prefix: String,
}

impl Names {
    /// The names of the checkout with this id.
    pub(super) fn of(checkout: &str) -> Self {
        Names {
            prefix: format!("workshop_{checkout}_"),
        }
    }

    /// The seeded database, for reading.
    pub(super) fn shared(&self, set: DataSet) -> String {
        format!("{}{set}_{}", self.prefix, records::edition(set))
    }

    /// The database that copies are made from; nobody connects to it, so copying never has to wait.
    pub(super) fn template(&self, set: DataSet) -> String {
        format!("{}_template", self.shared(set))
    }

    /// A new name for a data set that is being built.
    pub(super) fn building(&self, set: DataSet) -> String {
        format!("{}building_{set}_{}", self.prefix, random())
    }

    /// A new name for a run's copy.
    pub(super) fn run(&self) -> String {
        format!("{}run_{}", self.prefix, random())
    }

    /// True for the names of [`Names::building`] and [`Names::run`].
    fn is_passing(&self, name: &str) -> bool {
        name.strip_prefix(&self.prefix)
            .is_some_and(|rest| rest.starts_with("building_") || rest.starts_with("run_"))
    }

    /// True for a data set's database (or template) in a form that this version of the tool does not make.
    fn is_outdated(&self, name: &str, set: DataSet) -> bool {
        name.strip_prefix(&self.prefix)
            .is_some_and(|rest| rest.starts_with(&format!("{set}_")))
            && name != self.shared(set)
            && name != self.template(set)
    }

    /// Our databases on the server.
    async fn present(&self, connection: &mut PgConnection) -> Result<Vec<String>, sqlx::Error> {
        // Owned by this role, too: a name alone is no proof on a server that others use.
        sqlx::query_scalar(
            "SELECT datname FROM pg_database
             WHERE starts_with(datname, $1) AND pg_get_userbyid(datdba) = current_user
             ORDER BY datname",
        )
        .bind(&self.prefix)
        .fetch_all(connection)
        .await
    }

    /// Drops what a killed or interrupted command left, and `set`'s older forms; gives their names.
    ///
    /// # Errors
    /// When the server does not answer or refuses.
    pub(super) async fn sweep(
        &self,
        connection: &mut PgConnection,
        set: Option<DataSet>,
    ) -> anyhow::Result<Vec<String>> {
        let present = self
            .present(&mut *connection)
            .await
            .context("cannot list the databases")?;
        let mut dropped = Vec::new();
        for name in present {
            let outdated = set.is_some_and(|set| self.is_outdated(&name, set));
            if !outdated && !self.is_passing(&name) {
                continue;
            }
            if !try_claim(connection, &name).await? {
                continue;
            }
            let result = drop_database(connection, &name).await;
            unclaim(connection, &name).await?;
            result?;
            dropped.push(name);
        }
        Ok(dropped)
    }
}

/// Drops every database of a checkout, in use or not; gives their names.
///
/// # Errors
/// When the server does not answer or refuses.
pub async fn drop_everything(
    connection: &mut PgConnection,
    checkout: &str,
) -> anyhow::Result<Vec<String>> {
    let present = Names::of(checkout)
        .present(&mut *connection)
        .await
        .context("cannot list the databases")?;
    for name in &present {
        drop_database(connection, name).await?;
    }
    Ok(present)
}

/// Drops one database and ends the sessions in it; no error when it is gone already.
///
/// # Errors
/// When the server does not answer or refuses.
pub(super) async fn drop_database(connection: &mut PgConnection, name: &str) -> anyhow::Result<()> {
    execute(
        connection,
        format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)"),
    )
    .await
    .with_context(|| format!("cannot drop the database {name}"))
}

/// Claims a name for this session; false when another session has it.
pub(super) async fn try_claim(connection: &mut PgConnection, name: &str) -> anyhow::Result<bool> {
    sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
        .bind(key(name))
        .fetch_one(connection)
        .await
        .context("cannot take an advisory lock")
}

/// Lets go of a claimed name.
async fn unclaim(connection: &mut PgConnection, name: &str) -> anyhow::Result<()> {
    sqlx::query("SELECT pg_advisory_unlock($1)")
        .bind(key(name))
        .execute(connection)
        .await
        .context("cannot let go of an advisory lock")?;
    Ok(())
}

/// Runs a statement whose names are ours: letters, digits and underscores.
pub(super) async fn execute(connection: &mut PgConnection, sql: String) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(connection)
        .await
        .map(|_| ())
}

/// Ends a session; one that is lost already is as good.
pub(super) async fn close(connection: PgConnection) {
    let _ = connection.close().await;
}

fn key(name: &str) -> i64 {
    let digest = Sha256::digest(name);
    digest
        .iter()
        .take(8)
        .fold(0, |key, byte| (key << 8) | i64::from(*byte))
}

fn random() -> String {
    format!("{:016x}", rand::random::<u64>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_postgresqls_63_bytes_and_need_no_escaping() {
        let names = Names::of("0123456789");
        for set in [DataSet::Small, DataSet::Pi, DataSet::Full] {
            for name in [
                names.shared(set),
                names.template(set),
                names.building(set),
                names.run(),
            ] {
                assert!(name.len() <= 63, "{name}");
                assert!(
                    name.bytes()
                        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn only_our_own_passing_databases_count_as_leftovers() {
        let names = Names::of("0123456789");
        assert!(names.is_passing(&names.run()));
        assert!(names.is_passing(&names.building(DataSet::Full)));
        assert!(!names.is_passing(&names.shared(DataSet::Full)));
        assert!(
            !names.is_passing(&Names::of("9876543210").run()),
            "of another checkout"
        );
        assert!(!names.is_passing("run_and_see"));
    }

    #[test]
    fn an_older_form_of_a_data_set_is_outdated_and_the_present_one_is_not() {
        let names = Names::of("0123456789");
        assert!(names.is_outdated("workshop_0123456789_pi_aaaaaaaaaa", DataSet::Pi));
        assert!(!names.is_outdated("workshop_0123456789_pi_aaaaaaaaaa", DataSet::Full));
        assert!(!names.is_outdated(&names.shared(DataSet::Pi), DataSet::Pi));
        assert!(!names.is_outdated(&names.template(DataSet::Pi), DataSet::Pi));
    }
}
