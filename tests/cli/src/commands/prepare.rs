//! `just prepare exercise-6`: what `cargo sqlx prepare` does, with a database that the exercise's own migrations have made.

use std::path::Path;

use anyhow::Context;
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::files::{self, Tree};
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::scratch;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{BuildError, Crate, queries};
use workshop_postgres::Server;
use workshop_postgres::datasets::RunDatabase;

/// Where sqlx's macros look for what a database has said, beside the manifest.
const CACHE: &str = ".sqlx";
const MIGRATIONS: &str = "migrations";

pub async fn run(workspace: &Workspace, target: Target) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let krate = match catalogue.of(target)? {
        Some(exercise) if asks_a_database(exercise) => Crate::of(workspace, exercise, target),
        _ => {
            return Trouble::new(format!("{target} has no queries for the compiler to check"))
                .expected("a service in Rust that the course has begun; in a crate of your own, cargo sqlx prepare does it")
                .next("just prepare exercise-6")
                .err();
        }
    };
    let answers = answers(workspace, &krate).await?;
    if answers.is_empty() {
        return Trouble::new(format!("{target} has no query that the compiler checks"))
            .expected("a query_as!(…), or another of sqlx's macros for queries")
            .next(format!("write one, then just prepare {target}"))
            .failed()
            .err();
    }
    let cache = krate.folder.join(CACHE);
    keep(&cache, &answers)?;
    let count = match answers.len() {
        1 => "1 query".to_owned(),
        count => format!("{count} queries"),
    };
    let shown = files::shown(workspace, &cache);
    println!("{count} checked; what the database says about each is in {shown}");
    println!("next: just check {target}");
    Ok(Outcome::Passed)
}

/// Services that the course begins are members of its workspace.
fn asks_a_database(exercise: &Exercise) -> bool {
    exercise.is_crate() && exercise.calls().is_none() && !exercise.is_own()
}

/// What a database with the crate's schema says about its queries: one file for each.
async fn answers(workspace: &Workspace, krate: &Crate) -> anyhow::Result<Tree> {
    let server = Server::ensure(workspace).await?;
    let migrations = krate.folder.join(MIGRATIONS);
    let database = match migrations.is_dir() {
        true => RunDatabase::empty(&server).await?,
        false => RunDatabase::create(&server).await?,
    };
    let answers = asked(workspace, krate, &database, &migrations).await;
    database.remove().await?;
    answers
}

async fn asked(
    workspace: &Workspace,
    krate: &Crate,
    database: &RunDatabase,
    migrations: &Path,
) -> anyhow::Result<Tree> {
    if migrations.is_dir() {
        let migrated = database.migrate(migrations).await;
        migrated.map_err(|error| {
            Trouble::new(format!("the database rejects a migration: {error}"))
                .expected(format!("SQL in {}", files::shown(workspace, migrations)))
                .next(format!("just prepare {}", krate.package))
                .failed()
        })?;
    }
    let kept = scratch::folder_in_checkout(workspace, "queries")?;
    let prepared = queries::prepare(workspace, krate, database.url(), kept.path()).await;
    prepared.map_err(|error| does_not_compile(error, &krate.package))?;
    files::read_tree(kept.path())
}

fn does_not_compile(error: BuildError, package: &str) -> anyhow::Error {
    match error {
        BuildError::DoesNotCompile { .. } => {
            Trouble::new(format!("{error}; see the compiler's messages above"))
                .expected("queries that the database takes, and types that its columns fit")
                .next(format!("just prepare {package}"))
                .failed()
                .into()
        }
        BuildError::CouldNotBuild(error) => error,
    }
}

/// Puts the answers in the place of earlier ones.
fn keep(cache: &Path, answers: &Tree) -> anyhow::Result<()> {
    for path in files::read_tree(cache)?.keys() {
        let is_an_answer = path.to_string_lossy().starts_with("query-");
        if is_an_answer && !answers.contains_key(path) {
            files::remove(&cache.join(path))?;
        }
    }
    for (path, bytes) in answers {
        files::write(&cache.join(path), bytes)
            .with_context(|| format!("cannot keep an answer in {}", cache.display()))?;
    }
    Ok(())
}
