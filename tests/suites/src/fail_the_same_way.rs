//! Suite `fail-the-same-way` (exercise 5): every failure is a problem that tells a client only what it may know, and no trouble of the
//! database outlasts the time limits.

use sqlx::Executor;

use crate::{
    expect_a_refusal, expect_an_answer_or_no_database, expect_no_database, expect_no_such_method,
};
use workshop_harness::contract::{
    Answer, Client, Context, TestError, TestResult, contract_tests, expect, expect_each,
    expect_eq, has_status, is_problem,
};
use workshop_harness::restart::Restart;
use workshop_harness::silence::Silence;
use workshop_harness::http::Method;

contract_tests! {
    steady: [
        an_unknown_path_answers_404_as_a_problem,
        a_wrong_method_is_refused_as_a_problem,
        a_request_that_cannot_be_read_is_refused_as_a_problem,
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
        reads_work_again_after_the_databases_return,
        an_outage_leaves_nothing_behind,
    ]
}

async fn an_unknown_path_answers_404_as_a_problem(context: &Context) -> TestResult {
    for client in [&context.client, &context.client.without_key()] {
        let paths = ["/", "/nothing-here", "/read", "/read/1/value"];
        let check = is_problem(404, "there is nothing at this path");
        client.each(paths, check).await?;
    }
    Ok(())
}

async fn a_wrong_method_is_refused_as_a_problem(context: &Context) -> TestResult {
    let keyless = context.client.without_key();
    for (method, path) in [
        (Method::POST, "/health"),
        (Method::DELETE, "/ready"),
        (Method::PUT, "/read/1"),
        (Method::PATCH, "/read/abc"),
        (Method::OPTIONS, "/read/1"),
    ] {
        for client in [&context.client, &keyless] {
            expect_no_such_method(&client.send(method.clone(), path).await?)?;
        }
    }
    // A HEAD is answered wherever a GET is.
    context.client.head("/read/1").await?.expect_status(200)?;
    Ok(())
}

async fn a_request_that_cannot_be_read_is_refused_as_a_problem(context: &Context) -> TestResult {
    let brew = Method::from_bytes(b"BREW").map_err(anyhow::Error::from)?;
    for path in ["/health", "/nothing-here"] {
        let answer = context.client.send(brew.clone(), path).await?;
        expect_a_refusal(&answer, &[400, 404, 405, 501])?;
    }
    // These arrive, and their last segment isn't an integer: it isn't UTF-8, or isn't percent-encoded at all.
    let paths = ["/read/%ff", "/read/%zz", "/read/5%00"];
    for path in paths {
        expect_a_refusal(&context.client.get(path).await?, &[400, 404, 422])?;
    }
    Ok(())
}

/// Reads a record while the column of its value is not there.
pub(super) async fn a_failing_read(
    context: &Context,
    client: &Client,
) -> Result<Answer, TestError> {
    let mut database = context.database.lock().await;
    let move_away = "ALTER TABLE records RENAME COLUMN value TO moved";
    let move_back = "ALTER TABLE records RENAME COLUMN moved TO value";
    database.execute(move_away).await?;
    let answer = client.get("/read/1").await;
    database.execute(move_back).await?;
    Ok(answer?)
}

async fn a_failed_query_answers_500_and_tells_the_client_nothing(context: &Context) -> TestResult {
    let answer = a_failing_read(context, &context.client).await?;
    answer.expect_problem(500, "an unexpected error occurred")?;
    // A query that has failed once is not broken for good.
    context.client.get("/read/1").await?.expect_status(200)?;
    Ok(())
}

async fn the_log_says_why_a_query_failed(context: &Context) -> TestResult {
    let before = context.logged()?.len();
    a_failing_read(context, &context.client).await?;
    let logged = context.logged()?.split_off(before);
    // PostgreSQL's own words for it. A stack trace says them again.
    let says_why = |line: &&str| line.contains("does not exist");
    let lines = logged.lines().filter(says_why).count();
    let is_traced = ["Traceback", "\tat "]
        .iter()
        .any(|trace| logged.contains(trace));
    expect(
        lines == 1 || lines > 1 && is_traced,
        "one line in the service's log that says why the query failed: a column does not exist",
        match logged.trim() {
            "" => "nothing in the log".to_owned(),
            lines => format!("these lines: {lines}"),
        },
    )
}

fn a_query_without_an_answer_is_given_up(silence: &Silence) -> TestResult {
    expect_each(&silence.under_way, expect_no_database)
}

fn a_query_that_was_given_up_ends_at_the_database_as_well(silence: &Silence) -> TestResult {
    let still_running = "queries left at the database a second after their requests were answered";
    expect_eq(still_running, silence.abandoned, 0)
}

fn a_silent_database_answers_503_within_the_time_limits(silence: &Silence) -> TestResult {
    expect_each(&silence.into_it, expect_no_database)
}

fn the_right_records_come_when_the_database_speaks_again(silence: &Silence) -> TestResult {
    expect_each(&silence.after, has_status(200))?;
    for (before, after) in silence.before.iter().zip(&silence.after) {
        let (before, after) = (before.clone()?, after.clone()?);
        after.expect(before.body() == after.body(), before.text(), after.text())?;
    }
    Ok(())
}

fn connections_that_were_lost_are_replaced(silence: &Silence) -> TestResult {
    expect_each(&silence.when_lost, expect_no_database)?;
    expect_each(&silence.after_the_loss, has_status(200))
}

fn a_stopped_database_answers_503_within_the_time_limits(restart: &Restart) -> TestResult {
    expect_each(&restart.at_the_edges, expect_an_answer_or_no_database)?;
    expect_each(&restart.while_stopped, expect_no_database)
}

fn reads_work_again_after_the_databases_return(restart: &Restart) -> TestResult {
    expect_each(&restart.after, has_status(200))
}

/// A JVM starts and ends threads of its compilers as it sees fit.
const THREADS_TO_SPARE: usize = 8;

fn an_outage_leaves_nothing_behind(restart: &Restart) -> TestResult {
    expect_each(&restart.after, has_status(200))?;
    let (connections, pool) = (restart.connections, restart.pool_size);
    let mut left = Vec::new();
    if connections > pool {
        left.push(format!(
            "{connections} connections to the database, with a pool of {pool}"
        ));
    }
    if let Some((before, after)) = restart.before.zip(restart.afterwards) {
        let (files, threads) = (after.files, after.threads);
        if files > before.files {
            left.push(format!(
                "{files} open files and sockets, {} before",
                before.files
            ));
        }
        if threads > before.threads + THREADS_TO_SPARE {
            left.push(format!("{threads} threads, {} before", before.threads));
        }
    }
    expect(
        left.is_empty(),
        "no more connections, files and threads than before the outage",
        left.join("; "),
    )
}
