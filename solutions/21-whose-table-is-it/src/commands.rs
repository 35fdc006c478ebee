//! The commands for moving visits: each runs to completion, and reports the outcome.

use std::{fmt::Display, process::ExitCode};

use sqlx::PgConnection;

use crate::{
    copy, end, own, ownership::Side, proof, settings::Settings, sharing::Databases, start,
};

/// The maximum number of ids listed in a message.
const NAMED: usize = 20;
/// The key of the advisory lock for a switch: only one switch runs at a time.
const SWITCHING: i64 = 7_263_020;

const USAGE: &str = "there is no such command; try copy, proof, own rust, own kotlin, or end";

/// Runs a command, and prints its outcome. The exit code is 0 on success, otherwise 1.
pub async fn run(arguments: &[String], settings: &Settings) -> ExitCode {
    let Some(databases) = Databases::new(settings) else {
        return start::refuse(
            &"KOTLIN_URL and KOTLIN_DATABASE_URL are not set: visits aren't shared",
        );
    };
    let result = match *arguments.iter().map(String::as_str).collect::<Vec<_>>() {
        ["copy"] => copied(&databases).await,
        ["proof"] => proven(&databases).await,
        ["own", "rust"] => owned(&databases, Side::Rust).await,
        ["own", "kotlin"] => owned(&databases, Side::Kotlin).await,
        ["end"] => ended(&databases).await,
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(sentence) => {
            println!("{sentence}");
            ExitCode::SUCCESS
        }
        Err(sentence) => start::refuse(&sentence),
    }
}

async fn copied(databases: &Databases) -> Result<String, String> {
    let (mut kotlin, mut rust) = both(databases).await?;
    let copied = copy::copy(&mut kotlin, &mut rust).await;
    let copied =
        copied.map_err(|error| format!("not all visits are copied, run this again: {error}"))?;
    let looked_at = format!("{} visits were looked at", copied.looked_at);
    if copied.unknown.is_empty() {
        return Ok(looked_at);
    }
    let (number, named) = (copied.unknown.len(), named(&copied.unknown));
    Err(format!(
        "{looked_at}; rust lacks {number} of their records, the first are {named}"
    ))
}

async fn proven(databases: &Databases) -> Result<String, String> {
    let (mut kotlin, mut rust) = both(databases).await?;
    let ids = proof::differing(&mut kotlin, &mut rust).await;
    let ids = ids.map_err(|error| no_answer(&error))?;
    if ids.is_empty() {
        return Ok("both tables agree".to_owned());
    }
    let (number, named) = (ids.len(), named(&ids));
    Err(format!("{number} records differ, the first are {named}"))
}

/// Lists the first `NAMED` of these ids.
fn named<'a>(ids: impl IntoIterator<Item = &'a i32>) -> String {
    let ids: Vec<String> = ids.into_iter().take(NAMED).map(i32::to_string).collect();
    ids.join(", ")
}

async fn owned(databases: &Databases, new: Side) -> Result<String, String> {
    let mut turn = connected(databases, Side::Kotlin).await?;
    let is_mine: bool = sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
        .bind(SWITCHING)
        .fetch_one(&mut turn)
        .await
        .map_err(|error| no_answer(&error))?;
    if !is_mine {
        return Err("another switch is under way".to_owned());
    }
    let (mut kotlin, mut rust) = both(databases).await?;
    let (from, to) = match new {
        Side::Rust => (&mut kotlin, &mut rust),
        Side::Kotlin => (&mut rust, &mut kotlin),
    };
    let switched = own::switch(from, to, new).await;
    switched.map_err(|refusal| refusal.to_string())?;
    Ok(format!("{} owns visits", new.name()))
}

async fn ended(databases: &Databases) -> Result<String, String> {
    let (mut kotlin, mut rust) = both(databases).await?;
    let reasons = end::reasons(&mut kotlin, &mut rust).await;
    let reasons = reasons.map_err(|error| no_answer(&error))?;
    if !reasons.is_empty() {
        return Err(reasons.join("\n"));
    }
    let stopped = end::stop_sharing(&mut rust).await;
    stopped.map_err(|error| no_answer(&error))?;
    Ok("visits aren't shared any more: the other service can be switched off".to_owned())
}

async fn both(databases: &Databases) -> Result<(PgConnection, PgConnection), String> {
    let kotlin = connected(databases, Side::Kotlin).await?;
    Ok((kotlin, connected(databases, Side::Rust).await?))
}

async fn connected(databases: &Databases, side: Side) -> Result<PgConnection, String> {
    let connection = databases.connect(side).await;
    connection.map_err(|error| format!("the database of {} does not answer: {error}", side.name()))
}

fn no_answer(error: &impl Display) -> String {
    format!("a database does not answer: {error}")
}
