//! Stage 7: the schema is shared with a release that is still to come, and migrations take their time.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use workshop_base::wait;
use workshop_harness::contract::{
    Answer, Client, Failure, TestError, TestResult, contract_tests, expect, expect_at_most,
};
use workshop_harness::outage::RECOVERY_LIMIT;
use workshop_harness::reports_releases::Release;

use super::asking::{current, expect_problem, id_of, json_of, made, page, patch, post, report};

contract_tests! {
    reports_releases: [
        a_service_starts_beside_a_later_migration,
        an_added_column_costs_no_answer,
        a_text_column_of_another_type_costs_no_read,
        a_service_whose_columns_are_gone_waits_for_them,
        migrations_take_as_long_as_they_need,
    ],
}

/// More requests at the same time than there are connections.
const AT_ONCE: usize = 12;

/// Makes every connection of the pool prepare the statements of reads and writes.
async fn warmed_up(client: &Client, tag: u32) -> Result<i64, TestError> {
    let id = id_of(&made(client, &format!("warm-{tag}"), tag).await?);
    for round in 0..3 {
        for answer in reads(client, id, tag).await {
            answer?.expect_status(200)?;
        }
        for answer in writes(client, tag, round).await {
            expect_done_or_503(&answer?)?;
        }
    }
    Ok(id)
}

/// Reads of a report and of pages, all at the same time.
async fn reads(client: &Client, id: i64, tag: u32) -> Vec<Result<Answer, Failure>> {
    let paths = [
        format!("/reports/{id}"),
        format!("/reports?tag={tag}&limit=5"),
    ];
    let paths: Vec<&String> = paths.iter().cycle().take(2 * AT_ONCE).collect();
    client.get_all(&paths).await
}

/// New reports, and a change of each, all at the same time.
async fn writes(client: &Client, tag: u32, round: u32) -> Vec<Result<Answer, Failure>> {
    let report = &report(tag);
    let written = (0..AT_ONCE).map(async |number| {
        let key = format!("write-{tag}-{round}-{number}");
        let made = post(client, &key, report).await?;
        if made.status() != 201 {
            return Ok(made);
        }
        let change = json!({"status": "closed"});
        patch(client, id_of(&json_of(&made)?), Some("*"), &change).await
    });
    join_all(written).await
}

fn expect_done_or_503(answer: &Answer) -> Result<(), Failure> {
    match answer.status() {
        200 | 503 => Ok(()),
        _ => answer.expect_status(200).map(|_| ()),
    }
}

/// Expects what a service owes its clients while its schema is altered: reads as before, no write that fails for good, and soon
/// none that fails at all.
async fn expect_no_loss(client: &Client, id: i64, tag: u32) -> TestResult {
    for round in 10..13 {
        for answer in reads(client, id, tag).await {
            answer?.expect_status(200)?;
        }
        for answer in writes(client, tag, round).await {
            expect_done_or_503(&answer?)?;
        }
    }
    let mut round = 20;
    let all = async || {
        round += 1;
        writes(client, tag, round).await
    };
    let done = |answers: &Vec<Result<Answer, Failure>>| {
        let mut answers = answers.iter();
        answers.all(|answer| answer.as_ref().is_ok_and(|answer| answer.status() == 200))
    };
    for answer in wait::last_within(RECOVERY_LIMIT, all, done).await {
        answer?.expect_status(200)?;
    }
    Ok(())
}

/// Adds a column to each table, as the next release would do first.
async fn add_columns(release: &Release) -> Result<(), TestError> {
    let mut tables: Vec<String> = release
        .columns()
        .await?
        .into_iter()
        .map(|column| column.table)
        .collect();
    tables.dedup();
    for table in tables {
        let sql = format!("ALTER TABLE {table} ADD COLUMN of_the_next_release integer");
        release.alter(&sql).await?;
    }
    Ok(())
}

async fn a_service_starts_beside_a_later_migration(release: &Release) -> TestResult {
    let client = release.start_ready().await?;
    let id = id_of(&made(&client, "before-the-next-release", 7001).await?);
    add_columns(release).await?;
    // Services that migrate with sqlx keep a list. Others have their own ways, of which only the columns are visible.
    let listed = "DO $$ BEGIN IF to_regclass('_sqlx_migrations') IS NOT NULL THEN \
            INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
            SELECT max(version) + 1, 'of the next release', true, '\\x00', 0 FROM _sqlx_migrations; \
        END IF; END $$";
    release.alter(listed).await?;
    let client = release.start_ready().await?;
    current(&client, id).await?;
    made(&client, "beside-the-next-release", 7001).await?;
    Ok(())
}

async fn an_added_column_costs_no_answer(release: &Release) -> TestResult {
    let client = release.start_ready().await?;
    let id = warmed_up(&client, 7002).await?;
    add_columns(release).await?;
    expect_no_loss(&client, id, 7002).await
}

async fn a_text_column_of_another_type_costs_no_read(release: &Release) -> TestResult {
    let client = release.start_ready().await?;
    let id = warmed_up(&client, 7003).await?;
    for column in release.columns().await? {
        if column.kind == "text" {
            let (table, name) = (&column.table, &column.name);
            let sql = format!("ALTER TABLE {table} ALTER COLUMN {name} TYPE varchar(1000)");
            release.alter(&sql).await?;
        }
    }
    expect_no_loss(&client, id, 7003).await?;
    // A new instance, which has never seen the old type, reads the new one as well.
    let client = release.start_ready().await?;
    current(&client, id).await?;
    page(&client, "tag=7003").await?;
    made(&client, "of-another-type", 7003).await?;
    Ok(())
}

async fn a_service_whose_columns_are_gone_waits_for_them(release: &Release) -> TestResult {
    let client = release.start_ready().await?;
    let id = id_of(&made(&client, "before-they-are-gone", 7004).await?);
    // The type doesn't show what a service reads, so all text columns are dropped.
    let mut columns = release.columns().await?;
    columns.retain(|column| column.kind == "text" || column.kind.starts_with("character varying"));
    for column in &columns {
        let (table, name) = (&column.table, &column.name);
        let sql = format!("ALTER TABLE {table} RENAME COLUMN {name} TO gone_{name}");
        release.alter(&sql).await?;
    }
    let client = release.start().await?;
    client.get("/health").await?.expect_status(200)?;
    // Asked repeatedly: a service that is only slow to start would become ready.
    let asked = async || client.get("/ready").await;
    let is_ready = |answer: &Result<Answer, Failure>| {
        answer.as_ref().is_ok_and(|answer| answer.status() == 200)
    };
    let ready = wait::last_within(Duration::from_secs(1), asked, is_ready).await?;
    expect_problem(&ready, 503)?;
    for column in &columns {
        let (table, name) = (&column.table, &column.name);
        let sql = format!("ALTER TABLE {table} RENAME COLUMN gone_{name} TO {name}");
        release.alter(&sql).await?;
    }
    let ready = wait::last_within(RECOVERY_LIMIT, asked, is_ready).await?;
    ready.expect_status(200)?;
    current(&client, id).await?;
    Ok(())
}

/// How long the first table takes: longer than the usual time limits for a database.
const SLOW_TABLE: Duration = Duration::from_secs(11);

async fn migrations_take_as_long_as_they_need(release: &Release) -> TestResult {
    // The tables of the migrations themselves are created at once.
    let slow = format!(
        "CREATE FUNCTION slow() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF current_query() !~* 'migrations|schema_history' \
                 AND NOT EXISTS (SELECT FROM pg_tables WHERE schemaname = 'public' AND tablename !~ 'migration|schema_history') \
             THEN PERFORM pg_sleep({}); END IF; \
         END $$; \
         CREATE EVENT TRIGGER slow ON ddl_command_start WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION slow()",
        SLOW_TABLE.as_secs(),
    );
    if let Err(refused) = release.alter(&slow).await {
        // Only a superuser can make a database slow like this. Elsewhere the tests say nothing about it.
        return match refused {
            TestError::CouldNotJudge(_) => Ok(()),
            TestError::Failed(_) => Err(refused),
        };
    }
    let client = release.start().await?;
    let began = Instant::now();
    let mut most_busy = 0;
    let ready = wait::until(began + 2 * SLOW_TABLE, async || {
        most_busy = most_busy.max(release.busy_sessions().await.unwrap_or(i64::MAX));
        let answer = client.get("/ready").await;
        let is_ready = answer.as_ref().is_ok_and(|answer| answer.status() == 200);
        is_ready.then_some(())
    });
    let ready = ready.await;
    release.alter("DROP EVENT TRIGGER slow").await?;
    expect(
        ready.is_some(),
        format!("a service that gets ready when its first table has taken {SLOW_TABLE:?}"),
        "it does not get ready",
    )?;
    // One session migrates, and one may ask whether it is done.
    expect_at_most(2, "sessions at work during the migrations", most_busy)?;
    made(&client, "after-slow-migrations", 7005).await?;
    Ok(())
}
