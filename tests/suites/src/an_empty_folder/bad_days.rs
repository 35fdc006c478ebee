//! Stage 6: the database is away, silent or slow, and clients are slow, rude or many.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use workshop_base::wait;
use workshop_harness::contract::{
    Answer, Failure, TestResult, contract_tests, expect, expect_at_most, expect_each,
};
use workshop_harness::outage::{PATIENCE, RECOVERY_LIMIT};
use workshop_harness::reports_faults::BadDays;

use super::asking::{
    IDEMPOTENCY_KEY, current, expect_problem, id_of, made_patiently, patch, post, raw, raw_post,
    read_to_end, report,
};

contract_tests! {
    reports_faults: [
        a_pool_has_no_more_connections_than_are_set,
        without_a_database_every_call_answers_503_in_time,
        a_silent_database_answers_503_in_time,
        lost_connections_are_replaced,
        a_server_that_gives_fewer_connections_serves_all_who_wait,
        a_held_lock_answers_503_and_the_pool_is_whole_afterwards,
        writers_who_wait_keep_nobody_from_reading,
        clients_that_hang_up_cost_no_connection,
        a_body_that_comes_too_slowly_is_not_waited_for,
        a_body_without_an_end_is_not_read_to_it,
        a_thousand_clients_at_once_get_answers,
    ],
}

/// The maximum time until a slow body is refused, and what a slow machine adds.
const SLOW_BODY: Duration = Duration::from_secs(2 + 3);

async fn a_pool_has_no_more_connections_than_are_set(days: &BadDays) -> TestResult {
    made_patiently(&days.client, "pool", 4001).await?;
    // On a slow disk, some of so many requests time out waiting for a connection, which the contract allows.
    let may_be = |answer: Answer, status: u16| match answer.status() {
        503 => Ok(()),
        _ => answer.expect_status(status).map(|_| ()),
    };
    let paths = vec!["/reports?tag=4001"; 100];
    for answer in days.client.get_all(&paths).await {
        may_be(answer?, 200)?;
    }
    let keys: Vec<String> = (0..100).map(|number| format!("pool-{number}")).collect();
    let one = report(4001);
    for answer in join_all(keys.iter().map(|key| post(&days.client, key, &one))).await {
        may_be(answer?, 201)?;
    }
    // One more than the pool's: a task may check the tables beside it.
    expect_at_most(
        days.pool_size + 1,
        "connections to the database at the same time",
        days.most_connections().await,
    )
}

/// Expects a 503 from every call that needs the database, within a limit.
async fn expect_all_503(days: &BadDays, id: i64) -> Result<(), Failure> {
    let client = &days.client.within(PATIENCE);
    let (one, page, change, change_body) = (
        format!("/reports/{id}"),
        "/reports?limit=1",
        "\"1\"",
        json!({"text": "x"}),
    );
    let new = report(4002);
    let answers: [Result<Answer, Failure>; 5] = tokio::join!(
        client.get("/ready"),
        client.get(&one),
        client.get(page),
        patch(client, id, Some(change), &change_body),
        post(client, "away", &new),
    )
    .into();
    for answer in answers {
        expect_problem(&answer?, 503)?;
    }
    days.client.get("/health").await?.expect_status(200)?;
    Ok(())
}

/// Waits until as many reads at once as there are connections are answered, twice over.
async fn expect_recovery(days: &BadDays, id: i64) -> Result<(), Failure> {
    let paths = vec![format!("/reports/{id}"); 2 * days.pool_size];
    let all = async || days.client.get_all(&paths).await;
    let work = |answers: &Vec<Result<Answer, Failure>>| {
        answers
            .iter()
            .all(|answer| answer.as_ref().is_ok_and(|answer| answer.status() == 200))
    };
    for answer in wait::last_within(RECOVERY_LIMIT, all, work).await {
        answer?.expect_status(200)?;
    }
    Ok(())
}

async fn without_a_database_every_call_answers_503_in_time(days: &BadDays) -> TestResult {
    let id = id_of(&made_patiently(&days.client, "before-it-is-away", 4003).await?);
    days.cut().await;
    expect_all_503(days, id).await?;
    days.restore().await;
    Ok(expect_recovery(days, id).await?)
}

async fn a_silent_database_answers_503_in_time(days: &BadDays) -> TestResult {
    let id = id_of(&made_patiently(&days.client, "before-it-is-silent", 4004).await?);
    expect_recovery(days, id).await?;
    days.stall().await;
    expect_all_503(days, id).await?;
    days.resume().await;
    Ok(expect_recovery(days, id).await?)
}

async fn lost_connections_are_replaced(days: &BadDays) -> TestResult {
    let id = id_of(&made_patiently(&days.client, "before-they-are-lost", 4005).await?);
    expect_recovery(days, id).await?;
    days.lose().await;
    expect_recovery(days, id).await?;
    current(&days.client, id).await?;
    Ok(())
}

/// How many connections a server gives that has few, how many clients read then, and how often each.
const FEW: usize = 2;
const READERS: usize = 8;
const READS_EACH: usize = 25;

async fn a_server_that_gives_fewer_connections_serves_all_who_wait(days: &BadDays) -> TestResult {
    let id = id_of(&made_patiently(&days.client, "before-they-are-few", 4012).await?);
    expect_recovery(days, id).await?;
    days.give_only(FEW).await;
    let ready = days.ready().await;
    let (began, path) = (Instant::now(), format!("/reports/{id}"));
    let reading = (0..READERS).map(async |_| {
        let mut answers = Vec::new();
        for _ in 0..READS_EACH {
            answers.push(days.client.get(&path).await);
        }
        answers
    });
    let answers = join_all(reading).await.concat();
    let seconds = began.elapsed().as_secs() as usize;
    let refused = days.give_all().await;
    ready?;
    expect_each(&answers, |answer| answer.expect_status(200))?;
    // Each slot of the pool may be refused a connection once, and then has to wait.
    expect_at_most(
        days.pool_size * (2 * seconds + 6),
        "refused connections: a server that is full is not asked again for each request",
        refused,
    )?;
    Ok(expect_recovery(days, id).await?)
}

async fn a_held_lock_answers_503_and_the_pool_is_whole_afterwards(days: &BadDays) -> TestResult {
    let id = id_of(&made_patiently(&days.client, "before-the-lock", 4006).await?);
    days.with_locked_tables(async |_lock| {
        let client = days.client.within(PATIENCE);
        let paths = vec![format!("/reports/{id}"); 3 * days.pool_size];
        for answer in client.get_all(&paths).await {
            expect_problem(&answer?, 503)?;
        }
        Ok(())
    })
    .await?;
    Ok(expect_recovery(days, id).await?)
}

/// How many write at the same time: five times as many as there are connections.
const WRITERS: usize = 20;

async fn writers_who_wait_keep_nobody_from_reading(days: &BadDays) -> TestResult {
    let id = id_of(&made_patiently(&days.client, "before-the-writers", 4011).await?);
    expect_recovery(days, id).await?;
    days.with_writers_locked_out(async |lock| {
        let report = &report(4011);
        let write = async |writer: usize| loop {
            // 503, until the tables are free again; only later answers matter.
            let _ = post(&days.client, &format!("writer-{writer}"), report).await;
        };
        let read = async {
            let waits = wait::within(RECOVERY_LIMIT, async || {
                let waiting = sqlx::query_scalar(
                    "SELECT count(*) FROM pg_locks WHERE NOT granted AND database IN \
                     (SELECT oid FROM pg_database WHERE datname = current_database())",
                );
                let waiting: Result<i64, _> = waiting.fetch_one(&mut *lock).await;
                waiting.is_ok_and(|waiting| waiting > 0).then_some(())
            });
            expect(waits.await.is_some(), "a writer that waits", "none")?;
            let paths = [
                "/ready".to_owned(),
                format!("/reports/{id}"),
                "/reports?tag=4011".to_owned(),
            ];
            for path in paths.iter().cycle().take(15) {
                days.client.get(path).await?.expect_status(200)?;
            }
            Ok(())
        };
        tokio::select! {
            _ = join_all((0..WRITERS).map(write)) => Ok(()),
            result = read => result,
        }
    })
    .await?;
    Ok(expect_recovery(days, id).await?)
}

async fn clients_that_hang_up_cost_no_connection(days: &BadDays) -> TestResult {
    let id = id_of(&made_patiently(&days.client, "before-they-hang-up", 4007).await?);
    let get =
        format!("GET /reports/{id} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: valid_key\r\n\r\n");
    days.with_locked_tables(async |_lock| {
        for _ in 0..3 * days.pool_size {
            drop(raw(days.address, &get).await?);
        }
        days.client.get("/health").await?.expect_status(200)?;
        Ok(())
    })
    .await?;
    Ok(expect_recovery(days, id).await?)
}

/// Expects a refusal of a body that was not read to its end: this status, or a closed connection.
fn expect_given_up(answer: &str, closed: bool, status: u16) -> TestResult {
    let holds = match answer.lines().next() {
        Some(line) => line.starts_with(&format!("HTTP/1.1 {status}")),
        None => closed,
    };
    let got = answer
        .lines()
        .next()
        .unwrap_or("an open connection without an answer");
    expect(holds, format!("{status}, or a closed connection"), got)
}

async fn a_body_that_comes_too_slowly_is_not_waited_for(days: &BadDays) -> TestResult {
    let body = report(4008).to_string();
    // Some of it has come: Rocket reads the first bytes before any code of a service runs.
    let half = &body[..body.len() / 2];
    let mut connection = raw(days.address, &raw_post("slow", half, body.len())).await?;
    let began = Instant::now();
    let (answer, closed) = read_to_end(&mut connection, SLOW_BODY).await;
    expect_given_up(&answer, closed, 408)?;
    expect_at_most(SLOW_BODY.as_secs(), "seconds", began.elapsed().as_secs())?;
    // No report was made, and the key is free.
    made_patiently(&days.client, "slow", 4008).await?;
    Ok(())
}

async fn a_body_without_an_end_is_not_read_to_it(days: &BadDays) -> TestResult {
    const CHUNKS: usize = 4096;
    let head = format!(
        "POST /reports HTTP/1.1\r\nHost: localhost\r\nX-API-Key: valid_key\r\nContent-Type: application/json\r\n\
         {IDEMPOTENCY_KEY}: endless\r\nTransfer-Encoding: chunked\r\n\r\n"
    );
    let mut connection = raw(days.address, &head).await?;
    let chunk = format!("400\r\n{}\r\n", " ".repeat(1024));
    let mut sent = 0;
    // Until the service no longer reads: buffers on the way hold some of it.
    while sent < CHUNKS {
        let write = connection.write_all(chunk.as_bytes());
        match tokio::time::timeout(Duration::from_secs(1), write).await {
            Ok(Ok(())) => sent += 1,
            _ => break,
        }
    }
    let (answer, closed) = read_to_end(&mut connection, SLOW_BODY).await;
    expect_given_up(&answer, closed, 413)?;
    made_patiently(&days.client, "endless", 4009).await?;
    Ok(())
}

async fn a_thousand_clients_at_once_get_answers(days: &BadDays) -> TestResult {
    let id = id_of(&made_patiently(&days.client, "before-the-thousand", 4010).await?);
    let paths = vec![format!("/reports/{id}"); 1000];
    let client = days.client.within(Duration::from_secs(10));
    expect_each(&client.get_all(&paths).await, |answer| {
        match answer.status() {
            503 => Ok(answer),
            _ => answer.expect_status(200),
        }
    })?;
    Ok(expect_recovery(days, id).await?)
}
