//! Suite `a-pool-that-comes-back` (exercise 11): a network that falls silent under load costs the pool nothing permanently, and a
//! connection gets a ping only if it has been idle for a while.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use sqlx::Executor;
use tokio::time::sleep;
use workshop_base::wait;

use crate::fail_the_same_way::a_failing_read;
use crate::row::{RecordRow, paths};
use crate::{expect_an_answer_or_no_database, expect_no_database};
use workshop_harness::contract::{
    Answer, Context, Failure, TestError, TestResult, contract_tests, expect, expect_each,
    has_status,
};
use workshop_harness::restart::END_ITS_SESSIONS;
use workshop_harness::silence::{Answers, lock_the_records, wait_for_waiting};
use workshop_harness::silences::{RECOVERY_LIMIT, Silences};

contract_tests! {
    impatient: [
        a_connection_in_use_is_lent_without_a_question,
        connections_that_were_closed_while_idle_cost_no_request,
        reads_wait_for_a_database_that_is_being_restarted,
        a_late_answer_reaches_nobody_else,
        the_log_says_why_there_is_no_connection,
        a_failed_query_costs_no_connection,
        reads_wait_for_their_turn_when_the_server_gives_fewer_connections,
    ],
    silences: [
        the_whole_pool_is_back_after_the_last_silence,
        a_request_in_a_silence_is_answered_within_the_time_limits,
        no_more_connections_are_open_than_allowed,
    ]
}

/// Longer than a connection may be idle and still be lent without a ping.
const PAUSE: Duration = Duration::from_millis(700);
/// How long the database refuses connections: shorter than a request waits for one.
const REFUSED: Duration = Duration::from_millis(50);
/// The number of attempts at that.
const RESTARTS: usize = 3;
/// How often all queries are to be under way at the same time.
const STALLS: usize = 10;
/// The number of reads per count.
const READS: i32 = 8;
/// The number of counts: a pool may open connections beside them.
const COUNTS: usize = 3;
/// The number of pauses.
const PAUSES: usize = 5;

/// The number of connections of a server that allows few.
const FEW: usize = 2;
/// The number of clients that read then, and the reads of each: more than the refusals of a pool that asks for each read.
const CLIENTS: i32 = 8;
const READS_EACH: usize = 25;

/// Reads these records at the same time.
async fn read(context: &Context, ids: &[i32]) -> Answers {
    context.client.get_all(&paths(ids.iter().copied())).await
}

/// Reads these records at the same time, again and again until all of them come, at most until the limit of a recovery.
async fn read_until_all_come(context: &Context, ids: &[i32]) -> Answers {
    let all_come = |answers: &Answers| answers.iter().all(comes);
    wait::last_within(RECOVERY_LIMIT, async || read(context, ids).await, all_come).await
}

/// Checks that all of these records can be read at the same time.
async fn expect_all_to_come(context: &Context, ids: &[i32]) -> TestResult {
    let answers = read_until_all_come(context, ids).await;
    RecordRow::expect_each(context, ids, answers).await
}

fn comes(answer: &Result<Answer, Failure>) -> bool {
    answer.as_ref().is_ok_and(|answer| answer.status() == 200)
}

/// As many ids as the pool has connections, from this one on.
fn ids_from(context: &Context, first: i32) -> Vec<i32> {
    (first..).take(context.settings.pool_size.into()).collect()
}

/// The round trips per read of some reads, one after the other.
async fn round_trips_per_read(context: &Context, reads: i32) -> Result<f64, TestError> {
    let before = context.proxy.round_trips();
    let reads_in_a_row = context.client.each(paths(1..=reads), has_status(200));
    reads_in_a_row.await?;
    Ok((context.proxy.round_trips() - before) as f64 / f64::from(reads))
}

async fn a_connection_in_use_is_lent_without_a_question(context: &Context) -> TestResult {
    let ids = ids_from(context, 1);
    // Every connection is open, and has seen the statement as often as a driver wants before it prepares it.
    for _ in 0..READS {
        expect_all_to_come(context, &ids).await?;
    }
    let mut in_use = f64::INFINITY;
    for _ in 0..COUNTS {
        in_use = in_use.min(round_trips_per_read(context, READS).await?);
    }
    let mut after_pauses = [0.0; PAUSES];
    for after_a_pause in &mut after_pauses {
        sleep(PAUSE).await;
        *after_a_pause = round_trips_per_read(context, 1).await?;
    }
    // Now and then a read gets a connection that has just been opened: the median is without it.
    after_pauses.sort_by(f64::total_cmp);
    let after_a_pause = after_pauses[PAUSES / 2];
    let pause = PAUSE.as_millis();
    expect(
        after_a_pause > in_use + 0.5,
        format!(
            "one more round trip for a read after a pause of {pause} ms than for reads in quick succession: a connection gets a ping \
             if it was idle, and only then"
        ),
        format!("{after_a_pause} round trips after the pause, {in_use} per read without one"),
    )
}

async fn connections_that_were_closed_while_idle_cost_no_request(context: &Context) -> TestResult {
    let ids = ids_from(context, 1);
    expect_all_to_come(context, &ids).await?;
    sleep(PAUSE).await;
    context.database.lock().await.execute(END_ITS_SESSIONS).await?;
    for id in ids {
        let answers = read(context, &[id]).await;
        RecordRow::expect_each(context, &[id], answers).await?;
    }
    Ok(())
}

async fn reads_wait_for_a_database_that_is_being_restarted(context: &Context) -> TestResult {
    let ids = ids_from(context, 1);
    let mut answers = read_in_a_restart(context, &ids).await?;
    // On a busy machine a connection may take longer to open than a request waits. A pool that gives up never gets there.
    for _ in 1..RESTARTS {
        if answers.iter().all(comes) {
            break;
        }
        answers = read_in_a_restart(context, &ids).await?;
    }
    RecordRow::expect_each(context, &ids, answers).await
}

/// Reads these records at the same time, while the database refuses connections for a moment.
async fn read_in_a_restart(context: &Context, ids: &[i32]) -> Result<Answers, TestError> {
    expect_all_to_come(context, ids).await?;
    // No request is under way when it goes away.
    sleep(PAUSE).await;
    context.proxy.cut().await;
    let comes_back = async {
        sleep(REFUSED).await;
        context.proxy.restore().await;
    };
    let (answers, ()) = tokio::join!(read(context, ids), comes_back);
    Ok(answers)
}

/// An operator has to know whether the database is down or its name is wrong, and clients must not learn it.
async fn the_log_says_why_there_is_no_connection(context: &Context) -> TestResult {
    context.proxy.cut().await;
    let mut answers = Vec::new();
    let says_why = |logged: &anyhow::Result<String>| {
        logged.as_ref().is_ok_and(|logged| logged.contains("refused"))
    };
    // The first read may be lent a connection that has just been cut, and its line says so instead.
    let asked_again = async || {
        answers.push(context.client.get("/read/1").await);
        context.logged()
    };
    let logged = wait::last_within(RECOVERY_LIMIT, asked_again, says_why).await;
    context.proxy.restore().await;
    for answer in answers {
        expect_no_database(&answer?)?;
    }
    expect(
        says_why(&logged),
        "a log line that says that the connection was refused",
        "none",
    )?;
    Ok(())
}

async fn a_late_answer_reaches_nobody_else(context: &Context) -> TestResult {
    let [asked_first, afterwards] = [1, 201].map(|first| ids_from(context, first));
    let (given_up, opened_before) = read_into_a_stall(context, &asked_first).await?;
    let next = context.client.get("/read/101").await;
    let opens_another = async || (context.proxy.opened() > opened_before).then_some(());
    let opens_another = wait::within(RECOVERY_LIMIT, opens_another).await;
    let meanwhile = [101];
    let meanwhile_answers = read_until_all_come(context, &meanwhile).await;
    // The answers to the first reads arrive now.
    context.proxy.resume();
    let afterwards_answers = read(context, &afterwards).await;

    for (id, answer) in asked_first.iter().zip(given_up) {
        if comes(&answer) {
            RecordRow::expect_each(context, &[*id], vec![answer]).await?;
        } else {
            expect_no_database(&answer?)?;
        }
    }
    next?.expect(
        opens_another.is_some(),
        "a new connection for the next read: those whose queries were given up are not lent again, as their answers may still come",
        "none was opened",
    )?;
    RecordRow::expect_each(context, &meanwhile, meanwhile_answers).await?;
    RecordRow::expect_each(context, &afterwards, afterwards_answers).await
}

/// Reads these records at the same time, one per connection. When the database has all of these queries, and before it has answered
/// any, the connections fall silent. Returns how many connections had been opened until then.
async fn read_into_a_stall(context: &Context, ids: &[i32]) -> Result<(Answers, u64), TestError> {
    let all = i64::from(context.settings.pool_size);
    let mut tries = STALLS;
    loop {
        expect_all_to_come(context, ids).await?;
        let mut database = context.database.lock().await;
        let mut lock = lock_the_records(&mut database).await?;
        let (answers, stalled) = tokio::join!(read(context, ids), async {
            wait_for_waiting(&mut lock, all..).await?;
            context.proxy.stall_those_open();
            let opened = context.proxy.opened();
            let waiting = wait_for_waiting(&mut lock, ..).await?;
            lock.rollback().await?;
            Ok::<_, sqlx::Error>((waiting == all, opened))
        });
        let (all_wait, opened) = stalled?;
        tries -= 1;
        // On a busy machine the first ones may have been given up before the last one got there.
        if all_wait || tries == 0 {
            return Ok((answers, opened));
        }
        context.proxy.resume();
    }
}

async fn a_failed_query_costs_no_connection(context: &Context) -> TestResult {
    let ids = ids_from(context, 1);
    expect_all_to_come(context, &ids).await?;
    let mut least = u64::MAX;
    for _ in 0..COUNTS {
        let before = context.proxy.opened();
        for _ in 0..READS {
            let answer = a_failing_read(context, &context.client).await?;
            answer.expect_status(500)?;
        }
        least = least.min(context.proxy.opened() - before);
        if least == 0 {
            break;
        }
    }
    expect(
        least == 0,
        format!("no new connection after {READS} queries that the database has rejected: their connections are still good"),
        format!("{least} connections were opened"),
    )
}

/// Each reads, again and again; a request waits until one of the few connections is free.
async fn reads_wait_for_their_turn_when_the_server_gives_fewer_connections(
    context: &Context,
) -> TestResult {
    expect_all_to_come(context, &ids_from(context, 1)).await?;
    // The pool pings its connections, and none of them is still good.
    sleep(PAUSE).await;
    context.proxy.allow(FEW);
    context.database.lock().await.execute(END_ITS_SESSIONS).await?;
    let few = async || (context.proxy.open() <= FEW).then_some(());
    wait::within(RECOVERY_LIMIT, few).await;
    let (began, before) = (Instant::now(), context.proxy.refused());
    let reading = (1..=CLIENTS).map(async |id| {
        let mut answers = Answers::new();
        for _ in 0..READS_EACH {
            answers.push(context.client.get(&format!("/read/{id}")).await);
        }
        answers
    });
    let answers = join_all(reading).await.concat();
    let (seconds, refused) = (began.elapsed().as_secs(), context.proxy.refused() - before);
    context.proxy.allow(usize::MAX);
    expect_each(&answers, has_status(200))?;
    // Each slot of the pool may be refused a connection once, and then has to wait for a while.
    let most = usize::from(context.settings.pool_size) * (5 * seconds as usize + 8);
    expect(
        refused <= most,
        format!("at most {most} refused connections: a server that is full is not asked again for each request"),
        format!("{refused} in {seconds} s"),
    )
}

fn the_whole_pool_is_back_after_the_last_silence(silences: &Silences) -> TestResult {
    expect_each(&silences.afterwards, has_status(200))?;
    let (size, limit) = (silences.pool_size, RECOVERY_LIMIT.as_secs());
    expect(
        silences.whole_pool,
        format!(
            "{size} queries at the same time, as many as DATABASE_POOL_SIZE says, within {limit} s of the last silence"
        ),
        "fewer: some slots of the pool are taken and never returned",
    )
}

fn a_request_in_a_silence_is_answered_within_the_time_limits(silences: &Silences) -> TestResult {
    expect_each(&silences.under_load, expect_an_answer_or_no_database)
}

fn no_more_connections_are_open_than_allowed(silences: &Silences) -> TestResult {
    let (in_the_end, most) = (silences.connections, silences.most_connections);
    let size = silences.pool_size;
    // A connection that is being closed may still be there when the one in its place is opened.
    expect(
        in_the_end <= size && most <= 2 * size,
        format!("{size} connections to the database, as DATABASE_POOL_SIZE says"),
        format!("{in_the_end} in the end, and {most} for a while"),
    )
}
