//! Suite `fail-the-same-way` (exercise 5): every failure is a problem that tells a client what it may know, and no trouble of the
//! database outlasts the time limits.

use reqwest::Method;

use workshop_harness::contract::{Context, TestResult};
use workshop_harness::contract_tests;
use workshop_harness::failure::{Failure, TestError};
use workshop_harness::http::{Answer, Client};
use workshop_harness::restart::Restart;
use workshop_harness::silence::Silence;

contract_tests! {
    steady: [
        an_unknown_path_answers_404_as_a_problem,
        a_wrong_method_answers_405_and_names_the_right_ones,
        a_request_that_cannot_be_read_answers_400,
        a_failed_query_answers_500_and_tells_the_client_nothing,
        the_log_says_why_a_query_failed,
    ],
    silence: [
        a_query_without_an_answer_is_given_up,
        a_query_that_was_given_up_ends_at_the_database_as_well,
        a_silent_database_answers_503_within_the_time_limits,
        the_right_records_come_when_the_database_speaks_again,
        connections_that_were_lost_are_replaced,
    ],
    restart: [
        a_stopped_database_answers_503_within_the_time_limits,
        reads_work_within_two_seconds_of_the_databases_return,
        an_outage_leaves_nothing_behind,
    ]
}

async fn an_unknown_path_answers_404_as_a_problem(context: &Context) -> TestResult {
    let keyless = context.client.without_key();
    for client in [&context.client, &keyless] {
        for path in ["/", "/nothing-here", "/read", "/read/1/value"] {
            client.get(path).await?.expect_problem(
                404,
                "Not Found",
                "there is nothing at this path",
            )?;
        }
    }
    Ok(())
}

async fn a_wrong_method_answers_405_and_names_the_right_ones(context: &Context) -> TestResult {
    let keyless = context.client.without_key();
    let wrong = [
        (Method::POST, "/health"),
        (Method::DELETE, "/ready"),
        (Method::PUT, "/read/1"),
        (Method::PATCH, "/read/abc"),
        (Method::OPTIONS, "/read/1"),
    ];
    for (method, path) in wrong {
        for client in [&context.client, &keyless] {
            client
                .send(method.clone(), path)
                .await?
                .expect_problem(
                    405,
                    "Method Not Allowed",
                    "this path does not support that method",
                )?
                .expect_header("Allow", "GET, HEAD")?;
        }
    }
    // A HEAD is answered wherever a GET is.
    context.client.head("/read/1").await?.expect_status(200)?;
    Ok(())
}

async fn a_request_that_cannot_be_read_answers_400(context: &Context) -> TestResult {
    let brew = Method::from_bytes(b"BREW").map_err(anyhow::Error::from)?;
    for path in ["/health", "/nothing-here"] {
        context
            .client
            .send(brew.clone(), path)
            .await?
            .expect_problem(400, "Bad Request", "the request is malformed")?;
    }
    // These arrive, and their last segment is no integer: it is no UTF-8, or no percent-encoding at all.
    for path in ["/read/%ff", "/read/%zz", "/read/5%00"] {
        context.client.get(path).await?.expect_problem(
            400,
            "Bad Request",
            "id must be a 32-bit integer",
        )?;
    }
    Ok(())
}

/// Reads a record while the column of its value is not there.
pub(super) async fn a_failing_read(
    context: &Context,
    client: &Client,
) -> Result<Answer, TestError> {
    let mut database = context.database.lock().await;
    sqlx::query("ALTER TABLE records RENAME COLUMN value TO moved")
        .execute(&mut *database)
        .await?;
    let answer = client.get("/read/1").await;
    sqlx::query("ALTER TABLE records RENAME COLUMN moved TO value")
        .execute(&mut *database)
        .await?;
    Ok(answer?)
}

async fn a_failed_query_answers_500_and_tells_the_client_nothing(context: &Context) -> TestResult {
    a_failing_read(context, &context.client)
        .await?
        .expect_problem(500, "Internal Server Error", "an unexpected error occurred")?;
    // What has failed once is not broken for good.
    context.client.get("/read/1").await?.expect_status(200)?;
    Ok(())
}

async fn the_log_says_why_a_query_failed(context: &Context) -> TestResult {
    let before = context.logged()?.len();
    a_failing_read(context, &context.client).await?;
    let logged = context.logged()?.split_off(before);
    // PostgreSQL's own words for it.
    if logged.contains("does not exist") {
        return Ok(());
    }
    Err(Failure::new(
        "a line in the service's log that says why the query failed: a column does not exist",
        match logged.trim() {
            "" => "nothing in the log".to_owned(),
            lines => format!("these lines: {lines}"),
        },
    )
    .into())
}

/// Each of these answers is the problem of an outage.
fn expect_unavailable(answers: &[Result<Answer, Failure>]) -> TestResult {
    for answer in answers {
        answer.clone()?.expect_problem(
            503,
            "Service Unavailable",
            "the database does not answer",
        )?;
    }
    Ok(())
}

/// Each of these answers is a record.
fn expect_records(answers: &[Result<Answer, Failure>]) -> TestResult {
    for answer in answers {
        answer.clone()?.expect_status(200)?;
    }
    Ok(())
}

fn a_query_without_an_answer_is_given_up(silence: &Silence) -> TestResult {
    expect_unavailable(&silence.under_way)
}

fn a_query_that_was_given_up_ends_at_the_database_as_well(silence: &Silence) -> TestResult {
    if silence.abandoned == 0 {
        return Ok(());
    }
    Err(Failure::new(
        "no query left at the database a second after its request was answered",
        format!(
            "{} of {} queries still running",
            silence.abandoned,
            silence.under_way.len()
        ),
    )
    .into())
}

fn a_silent_database_answers_503_within_the_time_limits(silence: &Silence) -> TestResult {
    expect_unavailable(&silence.into_it)
}

fn the_right_records_come_when_the_database_speaks_again(silence: &Silence) -> TestResult {
    expect_records(&silence.after)?;
    for (before, after) in silence.before.iter().zip(&silence.after) {
        let (before, after) = (before.clone()?, after.clone()?);
        if before.body() != after.body() {
            let shown = |answer: &Answer| String::from_utf8_lossy(answer.body()).into_owned();
            return Err(after.failure(shown(&before), shown(&after)).into());
        }
    }
    Ok(())
}

fn connections_that_were_lost_are_replaced(silence: &Silence) -> TestResult {
    expect_unavailable(&silence.when_lost)?;
    expect_records(&silence.after_the_loss)
}

fn a_stopped_database_answers_503_within_the_time_limits(restart: &Restart) -> TestResult {
    for answer in &restart.at_the_edges {
        if !answer.as_ref().is_ok_and(|answer| answer.status() == 200) {
            expect_unavailable(std::slice::from_ref(answer))?;
        }
    }
    expect_unavailable(&restart.while_stopped)
}

fn reads_work_within_two_seconds_of_the_databases_return(restart: &Restart) -> TestResult {
    expect_records(&restart.after)
}

/// A JVM starts and ends threads of its compilers as it sees fit.
const THREADS_TO_SPARE: usize = 8;

fn an_outage_leaves_nothing_behind(restart: &Restart) -> TestResult {
    expect_records(&restart.after)?;
    let mut left = Vec::new();
    if restart.connections > restart.pool_size {
        left.push(format!(
            "{} connections to the database, with a pool of {}",
            restart.connections, restart.pool_size
        ));
    }
    if let Some((before, after)) = restart.before.zip(restart.afterwards) {
        if after.files > before.files {
            left.push(format!(
                "{} open files and sockets, {} before",
                after.files, before.files
            ));
        }
        if after.threads > before.threads + THREADS_TO_SPARE {
            left.push(format!(
                "{} threads, {} before",
                after.threads, before.threads
            ));
        }
    }
    if left.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        "no more connections, files and threads than before the outage",
        left.join("; "),
    )
    .into())
}
