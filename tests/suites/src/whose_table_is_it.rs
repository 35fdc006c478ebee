//! Suite `whose-table-is-it` (exercise 21): the target follows Kotlin's visits, is compared with it, takes visits over, and gives them
//! back.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::join_all;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use workshop_base::wait;

use workshop_harness::contract::{
    Answer, Client, Failure, TestError, TestResult, contract_tests, expect, expect_at_most,
    expect_eq, expect_none,
};
use workshop_harness::http::Method;
use workshop_harness::two_services::{Command, Ended, LIMIT, TwoServices};

contract_tests! {
    two_services: [
        an_event_that_commits_late_is_not_skipped,
        an_older_event_never_wins,
        each_crash_applies_each_event_once,
        two_workers_share,
        a_poison_event_steps_aside,
        an_outage_makes_no_poison,
        a_deaf_listener_loses_nothing,
        copying_overwrites_nothing_new,
        the_fingerprint_names_the_row_that_bypassed,
        the_client_never_waits_for_the_copy,
        a_difference_is_told_without_the_key,
        a_record_that_moves_is_no_difference,
        a_difference_that_lag_explains_is_late,
        a_visit_and_its_event_live_or_die_together,
        a_visit_that_is_passed_on_holds_up_no_switch,
        the_switch_waits_for_a_visit_under_way,
        a_late_writer_is_refused_and_its_client_served,
        a_switch_that_dies_leaves_at_most_one_owner,
        a_switch_that_cannot_end_gives_visits_back,
        ten_times_there_and_back,
        the_end_is_refused_with_a_reason,
    ]
}

/// The maximum time of a visit on its way to the other table: many times `VISITS_POLL_MS`.
const SOON: Duration = Duration::from_secs(10);
/// The number of concurrent clients.
const CLIENTS: i32 = 4;
/// The visits of each client while visits are passed on.
const PASSED_ON: usize = 10;
/// The first of the records that are visited while Kotlin is killed, and how many each client could visit.
const FIRST: i32 = 300;
const MANY: i32 = 2000;
/// The number of switches under load.
const SWITCHES: usize = 10;
/// The number of reads that are sent while nothing can be compared.
const READS: i32 = 1000;
/// The maximum number of them that may wait.
const WAITING: i64 = 100;

/// Nothing is left to apply.
const NOTHING_WAITS: &str = "SELECT NOT EXISTS (SELECT FROM visits_outbox WHERE reason IS NULL)";
/// Nothing was put aside.
const NOTHING_ASIDE: &str = "SELECT NOT EXISTS (SELECT FROM visits_outbox WHERE reason IS NOT NULL)";
/// The records that are visited.
const VISITED: &str = "SELECT id FROM records WHERE visited ORDER BY id";
/// Moves visits from Kotlin to the target.
const RUST_OWNS: [&str; 2] = [
    "UPDATE visits_ownership SET owner = 'none', epoch = 2",
    "UPDATE visits_ownership SET owner = 'rust', epoch = 2",
];
/// Notes how often each record was written.
const AUDIT: &str = "CREATE TABLE audit (id int);
     CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO audit VALUES (NEW.id);
         RETURN NULL;
     END $$;
     CREATE TRIGGER audit AFTER UPDATE ON records FOR EACH ROW EXECUTE FUNCTION audit()";

async fn run(database: &mut PgConnection, statement: &str) -> TestResult {
    sqlx::raw_sql(AssertSqlSafe(statement.to_owned()))
        .execute(database)
        .await?;
    Ok(())
}

async fn is_so(database: &mut PgConnection, query: &str) -> sqlx::Result<bool> {
    let query = AssertSqlSafe(query.to_owned());
    sqlx::query_scalar(query).fetch_one(database).await
}

/// Waits until this query is true.
async fn until(database: &mut PgConnection, query: &str, what: &str) -> TestResult {
    let look = async || is_so(&mut *database, query).await;
    let seen = wait::last_within(SOON, look, |seen| !matches!(seen, Ok(false))).await?;
    expect(seen, what, format!("not so after {} s", SOON.as_secs()))
}

async fn ids(database: &mut PgConnection, query: &'static str) -> sqlx::Result<Vec<i32>> {
    sqlx::query_scalar(query).fetch_all(database).await
}

async fn visited(database: &mut PgConnection, id: i32) -> sqlx::Result<bool> {
    is_so(database, &format!("SELECT visited FROM records WHERE id = {id}")).await
}

async fn until_visited(database: &mut PgConnection, id: i32) -> TestResult {
    let query = format!("SELECT visited FROM records WHERE id = {id}");
    until(database, &query, &format!("record {id} visited in the other table")).await
}

/// Waits until the outbox of this database is empty, with nothing put aside.
async fn until_applied(database: &mut PgConnection) -> TestResult {
    until(database, NOTHING_WAITS, "an outbox in which nothing waits").await?;
    let nothing = is_so(database, NOTHING_ASIDE).await?;
    expect(nothing, "no event that was put aside", "there is one")
}

/// A visit, or the reversal of one, as Kotlin writes it.
fn noted(id: i32, visited: bool) -> String {
    format!(
        "UPDATE records SET visited = {visited} WHERE id = {id};
         INSERT INTO visits_outbox (id, visited) VALUES ({id}, {visited})"
    )
}

/// A gate of the test's: a session that does a certain thing waits there until it is opened.
struct Gate {
    holder: PgConnection,
    table: &'static str,
}

impl Gate {
    /// A gate at an event, `BEFORE UPDATE` for instance, for rows (or statements) that meet the condition.
    async fn at(
        mut holder: PgConnection,
        event: &str,
        table: &'static str,
        rows: &str,
    ) -> Result<Gate, TestError> {
        holder.execute("SELECT pg_advisory_lock(4711)").await?;
        let constraint = if event.starts_with("AFTER") { "CONSTRAINT" } else { "" };
        let deferred = if event.starts_with("AFTER") { "DEFERRABLE INITIALLY DEFERRED" } else { "" };
        let gate = format!(
            "CREATE OR REPLACE FUNCTION wait_at_the_gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                 PERFORM pg_advisory_xact_lock_shared(4711);
                 RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
             END $$;
             CREATE {constraint} TRIGGER a_gate {event} ON {table} {deferred}
             FOR EACH {rows} EXECUTE FUNCTION wait_at_the_gate()"
        );
        run(&mut holder, &gate).await?;
        Ok(Gate { holder, table })
    }

    /// Waits until a session waits; returns its process in the database.
    async fn reached(&mut self, what: &str) -> Result<i32, TestError> {
        let waiter = "SELECT pid FROM pg_locks JOIN pg_database ON pg_database.oid = database
             WHERE datname = current_database() AND locktype = 'advisory' AND objid = 4711
               AND NOT granted LIMIT 1";
        let look = async || {
            let waiter = sqlx::query_scalar(waiter).fetch_optional(&mut self.holder);
            waiter.await.transpose()
        };
        let waiter: Option<sqlx::Result<i32>> = wait::within(LIMIT, look).await;
        let failure = || Failure::new(what, format!("no session, within {} s", LIMIT.as_secs()));
        Ok(waiter.ok_or_else(failure)??)
    }

    /// Ends the process that waits, so that it changes nothing.
    async fn end(&mut self, waiter: i32) -> TestResult {
        let end = sqlx::query("SELECT pg_terminate_backend($1, 5000)").bind(waiter);
        end.execute(&mut self.holder).await?;
        Ok(())
    }

    async fn open(&mut self) -> TestResult {
        self.holder.execute("SELECT pg_advisory_unlock(4711)").await?;
        Ok(())
    }

    /// Opens the gate for good.
    async fn remove(mut self) -> TestResult {
        self.open().await?;
        run(&mut self.holder, &format!("DROP TRIGGER a_gate ON {}", self.table)).await
    }
}

fn rows(condition: &str) -> String {
    format!("ROW WHEN ({condition})")
}

// Two tables.

async fn an_event_that_commits_late_is_not_skipped(services: &TwoServices) -> TestResult {
    let (mut kotlin, mut late) = (services.kotlin_database().await?, services.kotlin_database().await?);
    let mut rust = services.rust_database().await?;
    let _service = services.start().await?;
    let mut transaction = late.begin().await?;
    run(&mut transaction, &noted(1, true)).await?;
    run(&mut kotlin, &noted(2, true)).await?;
    until_visited(&mut rust, 2).await?;
    transaction.commit().await?;
    until_visited(&mut rust, 1).await?;
    until_applied(&mut kotlin).await
}

async fn an_older_event_never_wins(services: &TwoServices) -> TestResult {
    let (mut kotlin, mut rust) = (services.kotlin_database().await?, services.rust_database().await?);
    let _service = services.start().await?;
    let events = |events: &str| {
        format!("INSERT INTO visits_outbox (seq, id, visited) OVERRIDING SYSTEM VALUE VALUES {events}")
    };
    // Two events of one record at the same time.
    run(&mut kotlin, &events("(101, 3, true), (102, 3, false), (103, 4, false), (104, 4, true)")).await?;
    until_applied(&mut kotlin).await?;
    expect_eq("record 3 visited, which was taken back last", visited(&mut rust, 3).await?, false)?;
    expect_eq("record 4 visited, which was visited last", visited(&mut rust, 4).await?, true)?;
    // The older ones come again, and a new one comes late.
    run(&mut kotlin, &events("(101, 3, true), (103, 4, false)")).await?;
    run(&mut kotlin, &events("(110, 5, false)")).await?;
    until_applied(&mut kotlin).await?;
    run(&mut kotlin, &events("(109, 5, true)")).await?;
    until_applied(&mut kotlin).await?;
    let what = "record 3 visited, after an older event came again";
    expect_eq(what, visited(&mut rust, 3).await?, false)?;
    let what = "record 4 visited, after an older event came again";
    expect_eq(what, visited(&mut rust, 4).await?, true)?;
    let what = "record 5 visited, after an older event came late";
    expect_eq(what, visited(&mut rust, 5).await?, false)
}

async fn each_crash_applies_each_event_once(services: &TwoServices) -> TestResult {
    let (mut kotlin, mut rust) = (services.kotlin_database().await?, services.rust_database().await?);
    run(&mut rust, AUDIT).await?;
    let gates = [
        ("before it is applied", true, "BEFORE UPDATE", "records", "NEW.visited"),
        ("before it is acknowledged", false, "BEFORE DELETE", "visits_outbox", "OLD.visited"),
        ("when the acknowledgment is committed", false, "AFTER DELETE", "visits_outbox", "OLD.visited"),
    ];
    let mut ids = 10..;
    for (when, in_rust, event, table, condition) in gates {
        let Some(id) = ids.next() else { break };
        let holder = if in_rust { services.rust_database().await? } else { services.kotlin_database().await? };
        let mut gate = Gate::at(holder, event, table, &rows(condition)).await?;
        let service = services.start().await?;
        run(&mut kotlin, &noted(id, true)).await?;
        let waiter = gate.reached(&format!("the event of a visit {when}")).await?;
        service.kill();
        gate.end(waiter).await?;
        gate.remove().await?;
        let again = services.start().await?;
        until_applied(&mut kotlin).await?;
        let what = format!("record {id} visited, after a crash {when}");
        expect_eq(&what, visited(&mut rust, id).await?, true)?;
        let written = format!("SELECT count(*) = 1 FROM audit WHERE id = {id}");
        let once = is_so(&mut rust, &written).await?;
        let what = format!("record {id} written once, around a crash {when}");
        expect(once, what, "not once")?;
        again.kill();
    }
    Ok(())
}

async fn two_workers_share(services: &TwoServices) -> TestResult {
    let (mut kotlin, mut rust) = (services.kotlin_database().await?, services.rust_database().await?);
    let holder = services.rust_database().await?;
    let mut gate = Gate::at(holder, "BEFORE UPDATE", "records", &rows("NEW.id = 10 AND NEW.visited")).await?;
    let (_one, _other) = (services.start().await?, services.start().await?);
    run(&mut kotlin, &noted(10, true)).await?;
    gate.reached("the event of a visit, before it is applied").await?;
    run(&mut kotlin, &noted(11, true)).await?;
    until_visited(&mut rust, 11).await?;
    // The other worker reaches the record that the first one is at.
    run(&mut kotlin, &noted(10, false)).await?;
    run(&mut kotlin, &noted(12, true)).await?;
    gate.remove().await?;
    until_visited(&mut rust, 12).await?;
    until_applied(&mut kotlin).await?;
    let what = "record 10 visited, which was taken back last";
    expect_eq(what, visited(&mut rust, 10).await?, false)
}

async fn a_poison_event_steps_aside(services: &TwoServices) -> TestResult {
    let (mut kotlin, mut rust) = (services.kotlin_database().await?, services.rust_database().await?);
    let service = services.start().await?;
    let poison = "INSERT INTO visits_outbox (id, visited) VALUES (99000001, true)";
    run(&mut kotlin, &format!("{poison}; {}", noted(20, true))).await?;
    until_visited(&mut rust, 20).await?;
    let aside = "SELECT reason IS NOT NULL FROM visits_outbox WHERE id = 99000001";
    until(&mut kotlin, aside, "an event with a reason, for a record that isn't there").await?;
    let is_told = |log: &String| log.lines().any(|line| line.contains("99000001"));
    let log = wait::last_within(LIMIT, async || service.logged(), is_told).await;
    expect(is_told(&log), "a log line that names record 99000001", "none")?;
    // The record is added, and the event tried again.
    run(
        &mut rust,
        "INSERT INTO records (id, value, odd, divisible_by_3) VALUES (99000001, '', true, false)",
    )
    .await?;
    run(&mut kotlin, "UPDATE visits_outbox SET reason = NULL; NOTIFY visits").await?;
    until_visited(&mut rust, 99_000_001).await?;
    until_applied(&mut kotlin).await
}

async fn an_outage_makes_no_poison(services: &TwoServices) -> TestResult {
    let (mut kotlin, mut rust) = (services.kotlin_database().await?, services.rust_database().await?);
    let (to_kotlin, line) = (services.line_to_kotlin().await?, services.line_to_rust().await?);
    let service = services.start_behind(to_kotlin.url(), line.url()).await?;
    // The database ends the session, as it does when it is stopped.
    let holder = services.rust_database().await?;
    let mut gate = Gate::at(holder, "BEFORE UPDATE", "records", &rows("NEW.id = 30")).await?;
    run(&mut kotlin, &noted(30, true)).await?;
    for _ in 0..2 {
        let put_aside = "SELECT EXISTS (SELECT FROM visits_outbox WHERE reason IS NOT NULL)";
        let waiter = tokio::select! {
            waiter = gate.reached("an attempt to apply the event") => waiter?,
            aside = until(&mut kotlin, put_aside, "another attempt to apply the event") => {
                aside?;
                let expected = "no event that was put aside";
                let got = "there is one, and only its session was ended";
                return Err(Failure::new(expected, got).into());
            }
        };
        gate.end(waiter).await?;
    }
    gate.remove().await?;
    // Then it is away.
    line.cut().await;
    run(&mut kotlin, &noted(31, true)).await?;
    let waits = |log: &String| log.lines().any(|line| line.contains("outbox of kotlin waits"));
    let log = wait::last_within(LIMIT, async || service.logged(), waits).await;
    expect(waits(&log), "a log line that says that the outbox of kotlin waits", "none")?;
    let nothing = is_so(&mut kotlin, NOTHING_ASIDE).await?;
    expect(nothing, "no event that was put aside", "there is one, and nothing is wrong with it")?;
    line.restore().await;
    until_visited(&mut rust, 30).await?;
    until_visited(&mut rust, 31).await?;
    until_applied(&mut kotlin).await
}

async fn a_deaf_listener_loses_nothing(services: &TwoServices) -> TestResult {
    let (mut kotlin, mut rust) = (services.kotlin_database().await?, services.rust_database().await?);
    let line = services.line_to_kotlin().await?;
    let to_rust = services.line_to_rust().await?;
    let _service = services.start_behind(line.url(), to_rust.url()).await?;
    run(&mut kotlin, &noted(40, true)).await?;
    until_visited(&mut rust, 40).await?;
    // All open connections are lost silently. Twice: a worker in the middle of a query has noticed the first time.
    for id in [41, 42] {
        until_applied(&mut kotlin).await?;
        line.lose();
        run(&mut kotlin, &noted(id, true)).await?;
        until_visited(&mut rust, id).await?;
    }
    Ok(())
}

async fn copying_overwrites_nothing_new(services: &TwoServices) -> TestResult {
    let (mut kotlin, mut rust) = (services.kotlin_database().await?, services.rust_database().await?);
    run(&mut kotlin, "UPDATE records SET visited = true WHERE id BETWEEN 1 AND 2500").await?;
    run(&mut rust, "DELETE FROM records WHERE id = 2400").await?;
    let _service = services.start().await?;
    let holder = services.rust_database().await?;
    let condition = rows("NEW.epoch = 0");
    let mut gate = Gate::at(holder, "BEFORE INSERT", "visits_applied", &condition).await?;
    let copying = services.begin(&["copy"])?;
    gate.reached("copy, which writes a row with the version (0, 0) to visits_applied").await?;
    run(&mut kotlin, &noted(20, false)).await?;
    run(&mut kotlin, &noted(2600, true)).await?;
    until_applied(&mut kotlin).await?;
    gate.remove().await?;
    let copied = ended(copying).await?;
    let all = "SELECT count(*) = 2499 FROM records WHERE visited";
    let all = is_so(&mut rust, all).await?;
    let got = format!("another number; copy has said: {}", copied.said);
    expect(all, "2499 visited records, 2498 of them copied: record 2400 is only in kotlin's table", got)?;
    let names_it = copied.code == Some(1) && copied.said.contains("2400");
    expect(names_it, "exit code 1 of copy, and a sentence that names record 2400", format!("{copied:?}"))?;
    let what = "record 20 visited, which was taken back while copy ran";
    expect_eq(what, visited(&mut rust, 20).await?, false)
}

async fn the_fingerprint_names_the_row_that_bypassed(services: &TwoServices) -> TestResult {
    let (mut kotlin, mut rust) = (services.kotlin_database().await?, services.rust_database().await?);
    let _service = services.start().await?;
    let (mut writer, has_ended) = (services.kotlin_database().await?, Cell::new(false));
    let load = async {
        for id in (100..200).cycle() {
            if has_ended.get() {
                break;
            }
            run(&mut writer, &noted(id, id % 3 > 0)).await?;
            run(&mut writer, &noted(id, id % 2 > 0)).await?;
        }
        Ok::<(), TestError>(())
    };
    let proofs = async {
        let result = async {
            let proof = services.run(&["proof"]).await?;
            expect_done(&proof, "proof, under load")?;
            run(&mut rust, "DELETE FROM records WHERE id = 88").await?;
            run(&mut kotlin, "UPDATE records SET visited = true WHERE id IN (77, 88)").await?;
            let proof = services.run(&["proof"]).await?;
            expect_eq("exit code of proof, after a visit without an event", proof.code, Some(1))?;
            let named: Vec<&str> = proof.said.split(|c: char| !c.is_ascii_digit()).collect();
            let named: Vec<&str> = named.into_iter().filter(|word| !word.is_empty()).collect();
            let both = named.contains(&"77") && named.contains(&"88");
            let only = both && !named.iter().any(|word| word.len() == 3);
            expect(only, "record 77 named, and 88, which only kotlin has, and no other", proof.said)
        };
        let result = result.await;
        has_ended.set(true);
        result
    };
    let (loaded, proven) = tokio::join!(load, proofs);
    loaded?;
    proven
}

// Comparing.

/// The service's count of comparisons with this result.
async fn counted(database: &mut PgConnection, what: &str) -> sqlx::Result<i64> {
    let query = format!("SELECT coalesce(sum({what}), 0)::bigint FROM visits_compared");
    sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(database).await
}

/// Waits until this many comparisons have this result.
async fn until_counted(database: &mut PgConnection, what: &str, many: i64) -> TestResult {
    let look = async || counted(&mut *database, what).await;
    let enough = |seen: &sqlx::Result<i64>| !matches!(seen, Ok(seen) if *seen < many);
    let seen = wait::last_within(LIMIT, look, enough).await?;
    expect_eq(&format!("comparisons that were counted as {what}"), seen, many)
}

/// Record 5, as the contract has it.
fn record_5(visited: bool) -> String {
    format!(
        r#"{{"id":5,"value":"e4da3b7fbbce2345d7772b0674a318d5","odd":true,"divisible_by_3":false,"visited":{visited}}}"#
    )
}

async fn the_client_never_waits_for_the_copy(services: &TwoServices) -> TestResult {
    let kotlin = services.stand_in()?;
    kotlin.answer_with(&[("200 OK", &record_5(false))]);
    kotlin.hold();
    let service = services.start().await?;
    for _ in 0..READS {
        service.client.get("/look/5").await?.expect_status(204)?;
    }
    kotlin.let_go();
    let mut rust = services.rust_database().await?;
    let all = "SELECT coalesce(sum(same + dropped + failed), 0)::bigint = 1000 FROM visits_compared";
    until(&mut rust, all, "1000 reads that were compared or dropped").await?;
    let looked_at = counted(&mut rust, "same + failed").await?;
    let what = "reads that waited while nothing could be compared";
    expect_at_most(WAITING, what, looked_at)
}

async fn a_difference_is_told_without_the_key(services: &TwoServices) -> TestResult {
    let kotlin = services.stand_in()?;
    let mut rust = services.rust_database().await?;
    let service = services.start().await?;
    let client = service.client.without_key();
    let look = format!("/look/5?api_key={}", services.key());
    let right = record_5(false);
    let answers = [
        (right.clone(), "same"),
        (right.replace(r#""id":5,"#, "").replace('}', r#","id":5 }"#), "same"),
        (right.replace("5,", "5.4,"), "different"),
        (right.replace("true", "null"), "different"),
        (right.replace("e4da", "E4DA"), "different"),
    ];
    let (mut same, mut different) = (0, 0);
    for (body, verdict) in &answers {
        kotlin.answer_with(&[("200 OK", body)]);
        client.get(&look).await?.expect_status(204)?;
        same += i64::from(*verdict == "same");
        different += i64::from(*verdict == "different");
        until_counted(&mut rust, "same + different + moving + late + failed", same + different).await?;
        let found = (counted(&mut rust, "same").await?, counted(&mut rust, "different").await?);
        let what = format!("comparisons with the same result, and with differences, after Kotlin has answered {body}");
        expect_eq(&what, found, (same, different))?;
    }
    let log = service.logged();
    let names = |member: &str| {
        let mut lines = log.lines();
        lines.any(|line| line.contains("differ") && line.contains('5') && line.contains(member))
    };
    expect(names("value"), "a log line with id 5 and the member value", "none")?;
    expect(names("odd"), "a log line with id 5 and the member odd", "none")?;
    let told = log.contains(services.key());
    expect(!told, "a log without the key", "a line that has it")
}

async fn a_record_that_moves_is_no_difference(services: &TwoServices) -> TestResult {
    let kotlin = services.stand_in()?;
    let mut rust = services.rust_database().await?;
    let service = services.start().await?;
    kotlin.answer_with(&[("200 OK", &record_5(true)), ("200 OK", &record_5(false))]);
    service.client.get("/look/5").await?.expect_status(204)?;
    until_counted(&mut rust, "same + different + moving + late + failed", 1).await?;
    let moving = counted(&mut rust, "moving").await?;
    expect_eq("comparisons of a record that changes, counted as moving", moving, 1)
}

async fn a_difference_that_lag_explains_is_late(services: &TwoServices) -> TestResult {
    let kotlin = services.stand_in()?;
    let (mut kotlin_database, mut rust) = (services.kotlin_database().await?, services.rust_database().await?);
    let holder = services.rust_database().await?;
    let mut gate = Gate::at(holder, "BEFORE UPDATE", "records", &rows("NEW.id = 5")).await?;
    let service = services.start().await?;
    kotlin.answer_with(&[("200 OK", &record_5(true))]);
    run(&mut kotlin_database, &noted(5, true)).await?;
    gate.reached("the event of a visit, before it is applied").await?;
    service.client.get("/look/5").await?.expect_status(204)?;
    until_counted(&mut rust, "late", 1).await?;
    gate.remove().await?;
    until_applied(&mut kotlin_database).await?;
    service.client.get("/look/5").await?.expect_status(204)?;
    until_counted(&mut rust, "same", 1).await?;
    expect_eq("differences", counted(&mut rust, "different").await?, 0)?;
    // Rust owns visits, and one is taken back while the comparison waits for its own table. Kotlin doesn't have it yet.
    run(&mut kotlin_database, RUST_OWNS[0]).await?;
    run(&mut rust, RUST_OWNS[1]).await?;
    let holder = services.kotlin_database().await?;
    let mut gate = Gate::at(holder, "BEFORE UPDATE", "records", &rows("NEW.id = 5")).await?;
    let mut writer = services.rust_database().await?;
    let mut visit = writer.begin().await?;
    run(&mut visit, "LOCK TABLE records").await?;
    run(&mut visit, &noted(5, false)).await?;
    service.client.get("/look/5").await?.expect_status(204)?;
    let waits = "SELECT EXISTS (SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database
         WHERE datname = current_database() AND relation = 'records'::regclass AND NOT granted)";
    until(&mut rust, waits, "a comparison that reads its own table").await?;
    visit.commit().await?;
    gate.reached("the event of a visit on its way to kotlin").await?;
    until_counted(&mut rust, "late + different", 2).await?;
    expect_eq("differences, where an event is on its way to kotlin", counted(&mut rust, "different").await?, 0)?;
    gate.remove().await
}

// The switch, and the way back.

/// Kotlin is killed while clients visit, and one of them is between the two writes of its visit. Every visit has its event.
async fn kotlin_dies_under_load(kotlin: &mut PgConnection, services: &TwoServices) -> TestResult {
    let holder = services.kotlin_database().await?;
    let between = rows(&format!("NEW.id = {FIRST}"));
    let mut gate = Gate::at(holder, "BEFORE INSERT", "visits_outbox", &between).await?;
    let owner = services.start_kotlin("exposed").await?;
    let visits = join_all((0..CLIENTS).map(async |client| {
        let mut confirmed = Vec::new();
        let first = FIRST + client * MANY;
        for id in first..first + MANY {
            let answer = owner.client.post(&format!("/records/{id}/visit")).await;
            if !answer.is_ok_and(|answer| answer.status() == 200) {
                break;
            }
            confirmed.push(id);
        }
        confirmed
    }));
    let crash = async {
        let waiter = gate.reached("a visit of Kotlin's, before its event is noted").await?;
        until(kotlin, "SELECT count(*) > 20 FROM visits_outbox", "20 other visits").await?;
        owner.kill();
        gate.end(waiter).await?;
        gate.remove().await?;
        let gone = "SELECT NOT EXISTS (SELECT FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = 'kotlin-service')";
        until(kotlin, gone, "no session of the Kotlin that was killed").await
    };
    let (confirmed, crashed) = tokio::join!(visits, crash);
    crashed?;
    let visited = ids(kotlin, VISITED).await?;
    let told = ids(kotlin, "SELECT DISTINCT id FROM visits_outbox ORDER BY id").await?;
    expect_eq("events, after a kill -9 of Kotlin: one for each visit", &told, &visited)?;
    let lost = confirmed.concat().into_iter().find(|id| visited.binary_search(id).is_err());
    expect_none("each visit that was confirmed", lost.map(|id| format!("none of record {id}")))?;
    let _service = services.start().await?;
    until_applied(kotlin).await?;
    let mut rust = services.rust_database().await?;
    let applied = ids(&mut rust, VISITED).await?;
    expect_eq("records that are visited in the other table", applied, visited)
}

async fn a_visit_and_its_event_live_or_die_together(services: &TwoServices) -> TestResult {
    let mut rust = services.rust_database().await?;
    let mut kotlin = services.kotlin_database().await?;
    kotlin_dies_under_load(&mut kotlin, services).await?;
    run(&mut kotlin, RUST_OWNS[0]).await?;
    run(&mut rust, RUST_OWNS[1]).await?;
    let gates = [
        ("before the event is noted", 50, "BEFORE INSERT"),
        ("before both are committed", 51, "AFTER INSERT"),
    ];
    for (when, id, event) in gates {
        let holder = services.rust_database().await?;
        let mut gate = Gate::at(holder, event, "visits_outbox", &rows("NEW.visited")).await?;
        let service = services.start().await?;
        let visit = format!("/records/{id}/visit");
        let visit = service.client.post(&visit);
        let crash = async {
            let waiter = gate.reached(&format!("a visit, {when}")).await?;
            service.kill();
            gate.end(waiter).await
        };
        let (_broken, crashed) = tokio::join!(visit, crash);
        crashed?;
        gate.remove().await?;
        let visited = visited(&mut rust, id).await?;
        let what = format!("record {id} visited, after a crash {when}: it has no event");
        expect_eq(&what, visited, false)?;
    }
    // And without a crash, both are there.
    let _service = services.start().await?.client.post("/records/52/visit").await?;
    until_visited(&mut kotlin, 52).await
}

async fn a_visit_that_is_passed_on_holds_up_no_switch(services: &TwoServices) -> TestResult {
    let kotlin = services.stand_in()?;
    kotlin.answer_with(&[("200 OK", &record_5(true))]);
    let mut rust = services.rust_database().await?;
    let service = services.start().await?;
    for _ in 0..PASSED_ON {
        let visits = (0..2 * CLIENTS).map(|_| service.client.post("/records/5/visit"));
        for answer in join_all(visits).await {
            expect_visited(&answer?, true)?;
        }
        let free = "SELECT NOT EXISTS (SELECT FROM pg_locks
                    WHERE relation = 'visits_ownership'::regclass AND mode = 'RowShareLock')";
        let free = is_so(&mut rust, free).await?;
        let expected = "no transaction that holds the owner's row, after all visits were passed on";
        expect(free, expected, "one that is still open")?;
    }
    Ok(())
}

/// Begins to switch, and waits until the switch waits for a lock on the row that says who owns visits.
async fn waits_for_the_row(database: &mut PgConnection) -> TestResult {
    let waits = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database()
         AND query ~ 'UPDATE visits_ownership' AND wait_event_type = 'Lock')";
    until(database, waits, "a switch that waits for the visit under way").await
}

async fn the_switch_waits_for_a_visit_under_way(services: &TwoServices) -> TestResult {
    let _kotlin = services.start_kotlin("jdbc").await?;
    let service = services.start().await?;
    let (mut kotlin, mut rust) = (services.kotlin_database().await?, services.rust_database().await?);
    for (new, id, in_rust) in [("rust", 60, false), ("kotlin", 61, true)] {
        let holder = if in_rust { services.rust_database().await? } else { services.kotlin_database().await? };
        let condition = rows(&format!("NEW.id = {id}"));
        let mut gate = Gate::at(holder, "AFTER UPDATE", "records", &condition).await?;
        let (old, other) = if in_rust { (&mut rust, &mut kotlin) } else { (&mut kotlin, &mut rust) };
        let visit = format!("/records/{id}/visit");
        let visit = service.client.post(&visit);
        let switch = async {
            gate.reached("a visit, when it is committed").await?;
            let switching = services.begin(&["own", new])?;
            waits_for_the_row(old).await?;
            gate.open().await?;
            ended(switching).await
        };
        let (answer, switched) = tokio::join!(visit, switch);
        expect_visited(&answer?, true)?;
        expect_done(&switched?, &format!("own {new}, with a visit under way"))?;
        let what = format!("record {id} visited, in the table of the new owner");
        expect_eq(&what, visited(other, id).await?, true)?;
        gate.remove().await?;
    }
    Ok(())
}

async fn a_late_writer_is_refused_and_its_client_served(services: &TwoServices) -> TestResult {
    let _kotlin = services.start_kotlin("exposed").await?;
    let service = services.start().await?;
    let (mut kotlin, mut rust) = (services.kotlin_database().await?, services.rust_database().await?);
    // Kotlin's update waits here before the fence looks: it sorts first.
    let holder = services.kotlin_database().await?;
    let mut gate = Gate::at(holder, "BEFORE UPDATE OF visited", "records", "STATEMENT").await?;
    let visit = service.client.post("/records/70/visit");
    let switch = async {
        gate.reached("a visit that was passed on to Kotlin").await?;
        expect_done(&services.run(&["own", "rust"]).await?, "own rust")?;
        gate.remove().await
    };
    let (answer, switched) = tokio::join!(visit, switch);
    switched?;
    expect_visited(&answer?, true)?;
    let what = "record 70 visited, in the table of the new owner";
    expect_eq(what, visited(&mut rust, 70).await?, true)?;
    let noted = "SELECT NOT EXISTS (SELECT FROM visits_outbox) AND
                 (SELECT last_value = 1 AND NOT is_called FROM visits_outbox_seq_seq)";
    let nothing = is_so(&mut kotlin, noted).await?;
    expect(nothing, "no visit that Kotlin has written after the switch", "there is one")
}

/// The number of owners of visits, according to both databases.
async fn owners(kotlin: &mut PgConnection, rust: &mut PgConnection) -> sqlx::Result<u8> {
    let mine = "SELECT owner = me FROM visits_ownership";
    Ok(u8::from(is_so(kotlin, mine).await?) + u8::from(is_so(rust, mine).await?))
}

async fn a_switch_that_dies_leaves_at_most_one_owner(services: &TwoServices) -> TestResult {
    let (mut kotlin, mut rust) = (services.kotlin_database().await?, services.rust_database().await?);
    let gates = [
        ("when it closes", false, "visits_ownership", "NEW.epoch > OLD.epoch AND OLD.owner = 'kotlin'"),
        ("while the outbox is emptied", true, "records", "NEW.visited"),
        ("when it opens", true, "visits_ownership", "NEW.owner = 'rust'"),
        ("when it tells", false, "visits_ownership", "NEW.owner = 'rust'"),
    ];
    let mut ids = 80..;
    for (when, in_rust, table, condition) in gates {
        let Some(id) = ids.next() else { break };
        for next in ["rust", "kotlin"] {
            expect_done(&services.run(&["own", "kotlin"]).await?, "own kotlin")?;
            run(&mut kotlin, &noted(id, true)).await?;
            let holder = if in_rust { services.rust_database().await? } else { services.kotlin_database().await? };
            let mut gate = Gate::at(holder, "BEFORE UPDATE", table, &rows(condition)).await?;
            let mut switching = services.begin(&["own", "rust"])?;
            let waiter = gate.reached(&format!("own rust, {when}")).await?;
            switching.kill().map_err(anyhow::Error::new)?;
            gate.end(waiter).await?;
            gate.remove().await?;
            let owning = owners(&mut kotlin, &mut rust).await?;
            let what = format!("owners of visits, after own rust was killed {when}");
            expect_at_most(1, &what, owning)?;
            let again = services.run(&["own", next]).await?;
            expect_done(&again, &format!("own {next}, after own rust was killed {when}"))?;
            let owning = owners(&mut kotlin, &mut rust).await?;
            let what = format!("owners of visits, after own {next}, after own rust was killed {when}");
            expect_eq(&what, owning, 1)?;
            if next == "rust" {
                expect_eq("the visit in the table of the new owner", visited(&mut rust, id).await?, true)?;
            }
        }
    }
    Ok(())
}

async fn a_switch_that_cannot_end_gives_visits_back(services: &TwoServices) -> TestResult {
    let (mut kotlin, mut rust) = (services.kotlin_database().await?, services.rust_database().await?);
    run(&mut kotlin, "INSERT INTO visits_outbox (id, visited) VALUES (99000001, true)").await?;
    let before: i64 = sqlx::query_scalar("SELECT epoch FROM visits_ownership")
        .fetch_one(&mut kotlin)
        .await?;
    // The second time, another switch died after it had closed Kotlin's side.
    for owner in ["kotlin", "none"] {
        run(&mut kotlin, &format!("UPDATE visits_ownership SET owner = '{owner}'")).await?;
        let refused = services.run(&["own", "rust"]).await?;
        let what = "exit code of own rust, while an event can't be applied";
        expect_eq(what, refused.code, Some(1))?;
        expect(refused.said.contains("put aside"), "a sentence about the event that was put aside", refused.said)?;
        let owns = "SELECT owner = 'kotlin' FROM visits_ownership";
        let owns = (is_so(&mut kotlin, owns).await?, is_so(&mut rust, owns).await?);
        let what = format!("whether kotlin owns visits, as each database has it, after own rust found {owner}");
        expect_eq(&what, owns, (true, true))?;
    }
    let later = format!("SELECT epoch > {before} FROM visits_ownership");
    let later = is_so(&mut kotlin, &later).await?;
    expect(later, "a later epoch: the attempt that failed may still be on its way", "the old one")?;
    // Kotlin can write, and once the event is out of the way, visits move.
    run(&mut kotlin, &noted(90, true)).await?;
    run(&mut kotlin, "DELETE FROM visits_outbox WHERE reason IS NOT NULL").await?;
    expect_done(&services.run(&["own", "rust"]).await?, "own rust")?;
    expect_eq("record 90 visited, in the table of the new owner", visited(&mut rust, 90).await?, true)
}

/// One client: it visits its records, takes visits back, and reads its own writes.
async fn visit_and_read(client: &Client, id: i32, times: usize) -> Result<(), Failure> {
    let (visit, read) = (format!("/records/{id}/visit"), format!("/read/{id}"));
    let is_visited = !times.is_multiple_of(3);
    let method = if is_visited { Method::POST } else { Method::DELETE };
    expect_visited(&client.send(method, &visit).await?, is_visited)?;
    expect_visited(&client.get(&read).await?, is_visited)
}

async fn ten_times_there_and_back(services: &TwoServices) -> TestResult {
    let _kotlin = services.start_kotlin("exposed").await?;
    let services_of_rust = [services.start().await?, services.start().await?];
    let has_ended = Cell::new(false);
    let clients = (0..CLIENTS).map(async |client| {
        let mut asked = services_of_rust.iter().map(Rc::clone).cycle();
        for times in 0.. {
            if has_ended.get() {
                break;
            }
            let id = 200 + client * 10 + i32::try_from(times / 7 % 10).unwrap_or_default();
            let Some(service) = asked.next() else { break };
            if let Err(failure) = visit_and_read(&service.client, id, times).await {
                return Some(failure);
            }
        }
        None
    });
    let switches = async {
        let mut result = Ok(());
        for times in 0..SWITCHES {
            let new = if times % 2 == 0 { "rust" } else { "kotlin" };
            let switched = services.run(&["own", new]).await;
            result = match switched {
                Ok(ended) => expect_done(&ended, &format!("own {new}, under load")),
                Err(error) => Err(error.into()),
            };
            if result.is_err() {
                break;
            }
        }
        has_ended.set(true);
        result
    };
    let (switched, failed) = tokio::join!(switches, join_all(clients));
    if let Some(failure) = failed.into_iter().flatten().next() {
        return Err(failure.into());
    }
    switched?;
    let (mut kotlin, mut rust) = (services.kotlin_database().await?, services.rust_database().await?);
    until_applied(&mut kotlin).await?;
    until_applied(&mut rust).await?;
    let fingerprint = "SELECT md5(string_agg(id::text, ',' ORDER BY id)) FROM records WHERE visited";
    let theirs: Option<String> = sqlx::query_scalar(fingerprint).fetch_one(&mut kotlin).await?;
    let ours: Option<String> = sqlx::query_scalar(fingerprint).fetch_one(&mut rust).await?;
    let same = theirs == ours;
    expect(same, "two tables that agree", "two that don't")
}

// The end.

async fn the_end_is_refused_with_a_reason(services: &TwoServices) -> TestResult {
    let (mut kotlin, mut rust) = (services.kotlin_database().await?, services.rust_database().await?);
    run(
        &mut rust,
        "INSERT INTO visits_compared
         SELECT current_date - day, 2000, 3, 2, 0, 1, 5 FROM generate_series(0, 6) AS day",
    )
    .await?;
    let refused = services.run(&["end"]).await?;
    expect_eq("exit code of end, while kotlin owns visits", refused.code, Some(1))?;
    expect(refused.said.contains("kotlin owns visits"), "who owns visits", refused.said)?;
    expect_done(&services.run(&["own", "rust"]).await?, "own rust")?;
    let reasons = [
        (
            "INSERT INTO visits_outbox (id, visited) VALUES (1, true)",
            "DELETE FROM visits_outbox",
            "1 events wait in the outbox of kotlin",
        ),
        (
            "INSERT INTO visits_outbox (id, visited, reason) VALUES (1, true, 'unknown')",
            "DELETE FROM visits_outbox",
            "1 events of kotlin were put aside",
        ),
    ];
    for (planted, removed, reason) in reasons {
        run(&mut kotlin, planted).await?;
        let refused = services.run(&["end"]).await?;
        expect_eq("exit code of end", refused.code, Some(1))?;
        expect(refused.said.contains(reason), reason, refused.said)?;
        run(&mut kotlin, removed).await?;
    }
    let reasons = [
        ("different = 1", "different = 0", "1 reads differed"),
        ("same = 1", "same = 2000", "it takes 10000"),
    ];
    for (planted, removed, reason) in reasons {
        let where_ = if planted.starts_with("different") { "WHERE day = current_date" } else { "" };
        run(&mut rust, &format!("UPDATE visits_compared SET {planted} {where_}")).await?;
        let refused = services.run(&["end"]).await?;
        expect_eq("exit code of end", refused.code, Some(1))?;
        expect(refused.said.contains(reason), reason, refused.said)?;
        run(&mut rust, &format!("UPDATE visits_compared SET {removed}")).await?;
    }
    expect_done(&services.run(&["end"]).await?, "end, when there are no reasons against it")?;
    let alone = is_so(&mut rust, "SELECT NOT shared AND owner = me FROM visits_ownership").await?;
    expect(alone, "visits that are owned here and aren't shared any more", "something else")
}

async fn ended(command: Command) -> Result<Ended, TestError> {
    Ok(command.ended().await?)
}

/// Expects that the command has succeeded.
fn expect_done(ended: &Ended, what: &str) -> TestResult {
    let done = ended.code == Some(0);
    expect(done, format!("exit code 0 of {what}"), format!("{ended:?}"))
}

/// Expects a record, visited or not.
fn expect_visited(answer: &Answer, visited: bool) -> Result<(), Failure> {
    answer.expect_status(200)?;
    let record: serde_json::Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    if record["visited"].as_bool() == Some(visited) {
        return Ok(());
    }
    let expected = if visited { "a record that was visited" } else { "a record whose visit was taken back" };
    Err(answer.failure(expected, answer.text()))
}
