//! Suite `two-releases-at-once` (exercise 14): a column is replaced while two releases serve requests, and at each step but the last
//! one, the earlier release can take over again.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::rc::Rc;

use futures_util::future::join_all;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection};
use url::Url;
use workshop_base::wait;

use workshop_harness::contract::{
    Answer, Failure, TestError, TestResult, contract_tests, expect, expect_at_most, expect_eq,
};
use workshop_harness::http::{Body, Client};
use workshop_harness::two_releases::{Ended, Instance, LIMIT, Release, TwoReleases};

contract_tests! {
    two_releases: [
        an_open_export_costs_nobody_a_read,
        release_1_that_starts_again_gets_ready,
        a_visit_through_either_is_seen_through_both,
        a_new_visit_keeps_its_time,
        an_old_visit_is_never_dated_later,
        the_backfill_goes_on_where_it_was_killed,
        two_instances_share_the_backfill,
        one_held_row_holds_up_no_other,
        a_half_made_index_is_made_again,
        an_index_in_the_making_is_left_alone,
        two_instances_build_one_index,
        a_database_away_costs_the_backfill_nothing,
        the_switch_waits_for_the_last_row,
        the_old_column_stays_while_release_1_runs,
        nothing_fails_while_the_column_goes,
        back_and_forth_at_every_step,
    ]
}

/// The number of earlier visits: enough for several batches.
const OLD: i32 = 2500;
/// The maximum number of rows that one batch may hold.
const BATCH: i64 = 1000;
/// The number of observed attempts to lock the table.
const ATTEMPTS: usize = 3;
/// The number of concurrent clients.
const CLIENTS: i32 = 4;
/// How many visits each of them makes at each step.
const VISITS_EACH: i32 = 5;

/// Whether the table has a column of this name.
const COLUMN: &str = "SELECT EXISTS (SELECT FROM pg_attribute
     WHERE attrelid = 'records'::regclass AND attname = $1 AND NOT attisdropped)";
/// The attempts to lock the table that wait right now, each with an id of its own.
const WAITING: &str = "SELECT pid || ' ' || virtualtransaction FROM pg_locks
     WHERE relation = 'records'::regclass AND mode = 'AccessExclusiveLock' AND NOT granted";
/// The visits without a time.
const UNDATED: &str = "SELECT count(*) FROM records WHERE visited AND visited_at IS NULL";
/// The visits without a time that no session has locked.
const UNDATED_AND_FREE: &str = "SELECT count(*) FROM (SELECT FROM records
     WHERE visited AND visited_at IS NULL FOR UPDATE SKIP LOCKED) AS free";
/// The sessions of instances that read the old column: release 1 has no name, or in Kotlin that of its service.
const READERS: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
     AND backend_type = 'client backend'
     AND application_name IN ('', 'kotlin-service', 'records 2 (visited)')";
/// Their process ids.
const READER_PIDS: &str = "SELECT pid::text FROM pg_stat_activity WHERE datname = current_database()
     AND backend_type = 'client backend'
     AND application_name IN ('', 'kotlin-service', 'records 2 (visited)')";
/// The sessions that have come to the index: the one that builds it, and those that ask for a lock or wait to change it.
const AT_THE_INDEX: &str = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
     AND pid <> pg_backend_pid()
     AND (query ~* 'advisory' OR query ~* 'index' AND wait_event_type = 'Lock')";
/// Notes each change of a time.
const AUDIT: &str = "CREATE TABLE audit (id int);
     CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF to_jsonb(NEW) ->> 'visited_at' IS DISTINCT FROM to_jsonb(OLD) ->> 'visited_at' THEN
             INSERT INTO audit VALUES (NEW.id);
         END IF;
         RETURN NULL;
     END $$;
     CREATE TRIGGER audit AFTER UPDATE ON records FOR EACH ROW EXECUTE FUNCTION audit()";
/// The index of the visits without a time: its identity, and whether it is valid.
const INDEX: &str = "SELECT indexrelid::bigint, indisvalid FROM pg_index
     WHERE indexrelid = to_regclass('records_undated')";

/// Marks the first records as visited, long before there is a column for the time.
async fn mark(database: &mut PgConnection, count: i32) -> TestResult {
    let mark = sqlx::query("UPDATE records SET visited = true WHERE id <= $1");
    mark.bind(count).execute(database).await?;
    Ok(())
}

async fn has_column(database: &mut PgConnection, name: &str) -> sqlx::Result<bool> {
    let asked = sqlx::query_scalar(COLUMN).bind(name);
    asked.fetch_one(database).await
}

async fn count(database: &mut PgConnection, query: &'static str) -> sqlx::Result<i64> {
    sqlx::query_scalar(query).fetch_one(database).await
}

/// The time of a visit, in microseconds.
async fn time_of(database: &mut PgConnection, id: i32) -> sqlx::Result<Option<i64>> {
    sqlx::query_scalar(
        "SELECT (extract(epoch FROM visited_at) * 1000000)::bigint FROM records WHERE id = $1",
    )
    .bind(id)
    .fetch_one(database)
    .await
}

/// The database's current time, in microseconds.
async fn now(database: &mut PgConnection) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
        .fetch_one(database)
        .await
}

/// Starts an instance of release 2 that reads the old column, and sees that it has added the new one.
async fn expanded(releases: &TwoReleases) -> Result<Rc<Instance>, TestError> {
    let instance = releases.ready(Release::Two).await?;
    let there = has_column(&mut releases.connect().await?, "visited_at").await?;
    let expected = "the column visited_at in records, once release 2 is ready";
    expect(there, expected, "no such column")?;
    Ok(instance)
}

/// Waits until this query counts at most this many.
async fn until_at_most(
    database: &mut PgConnection,
    query: &'static str,
    few: i64,
    what: &str,
) -> TestResult {
    let look = async || count(&mut *database, query).await;
    let few_enough = |left: &sqlx::Result<i64>| !matches!(left, Ok(left) if *left > few);
    let left = wait::last_within(LIMIT, look, few_enough).await?;
    expect(left <= few, what, format!("{left} after {} s", LIMIT.as_secs()))
}

/// Waits until every visit has a time.
async fn until_all_are_dated(database: &mut PgConnection) -> TestResult {
    until_at_most(database, UNDATED, 0, "0 visits without a time").await
}

/// Expects that no time was set twice.
async fn expect_each_dated_once(database: &mut PgConnection) -> TestResult {
    let twice = "SELECT count(*) FROM (SELECT FROM audit GROUP BY id HAVING count(*) > 1) AS twice";
    let twice = count(database, twice).await?;
    expect_eq("rows whose time was set more than once", twice, 0)
}

/// A gate of the test's: a session that changes a certain row waits there until it is opened.
struct Gate {
    holder: PgConnection,
}

impl Gate {
    /// The row waits before it is changed.
    async fn before(releases: &TwoReleases, id: i32) -> Result<Gate, TestError> {
        let trigger = format!(
            "CREATE TRIGGER gate BEFORE UPDATE ON records FOR EACH ROW WHEN (NEW.id = {id})
             EXECUTE FUNCTION wait_at_the_gate()"
        );
        Gate::with(releases, trigger).await
    }

    /// The row waits when its change is committed.
    async fn at_commit(releases: &TwoReleases, id: i32) -> Result<Gate, TestError> {
        let trigger = format!(
            "CREATE CONSTRAINT TRIGGER gate AFTER UPDATE ON records DEFERRABLE INITIALLY DEFERRED
             FOR EACH ROW WHEN (NEW.id = {id}) EXECUTE FUNCTION wait_at_the_gate()"
        );
        Gate::with(releases, trigger).await
    }

    async fn with(releases: &TwoReleases, trigger: String) -> Result<Gate, TestError> {
        let mut holder = releases.connect().await?;
        holder.execute("SELECT pg_advisory_lock(4711)").await?;
        holder
            .execute(
                "DROP TRIGGER IF EXISTS gate ON records;
                 CREATE OR REPLACE FUNCTION wait_at_the_gate() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                     PERFORM pg_advisory_xact_lock_shared(4711);
                     RETURN NEW;
                 END $$",
            )
            .await?;
        sqlx::raw_sql(AssertSqlSafe(trigger))
            .execute(&mut holder)
            .await?;
        Ok(Gate { holder })
    }

    /// Waits until a session waits; returns its process in the database.
    async fn reached(&mut self) -> Result<i32, TestError> {
        let waiter = "SELECT pid FROM pg_locks
             WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted LIMIT 1";
        let look = async || {
            let waiter = sqlx::query_scalar(waiter).fetch_optional(&mut self.holder);
            waiter.await.transpose()
        };
        let waiter: Option<sqlx::Result<i32>> = wait::within(LIMIT, look).await;
        let expected = "a backfill that reaches each visit without a time";
        Ok(waiter.ok_or_else(|| Failure::new(expected, "it has not reached one of them"))??)
    }

    /// Ends the process that waits, so that it changes nothing.
    async fn end(&mut self, waiter: i32) -> TestResult {
        let end = sqlx::query("SELECT pg_terminate_backend($1, 5000)").bind(waiter);
        end.execute(&mut self.holder).await?;
        Ok(())
    }

    async fn open(&mut self) -> TestResult {
        let open = "SELECT pg_advisory_unlock(4711)";
        self.holder.execute(open).await?;
        Ok(())
    }
}

/// Waits until this many attempts to lock the table were seen waiting.
async fn see_attempts(watcher: &mut PgConnection, what: &str) -> TestResult {
    let mut seen = HashSet::new();
    let look = async || {
        let waiting: Vec<String> = sqlx::query_scalar(WAITING).fetch_all(&mut *watcher).await?;
        seen.extend(waiting);
        Ok(seen.len())
    };
    let enough = |seen: &sqlx::Result<usize>| !matches!(seen, Ok(seen) if *seen < ATTEMPTS);
    let seen = wait::last_within(LIMIT, look, enough).await?;
    let expected = format!("{ATTEMPTS} attempts {what}, one after the other");
    expect(seen >= ATTEMPTS, expected, format!("{seen}"))
}

/// Instances behind one address: each request goes to the next of them.
#[derive(Default)]
struct Balancer {
    instances: RefCell<Vec<Rc<Instance>>>,
    turn: Cell<usize>,
}

impl Balancer {
    fn of(instances: &[&Rc<Instance>]) -> Balancer {
        let instances = instances.iter().map(|instance| Rc::clone(instance));
        Balancer {
            instances: RefCell::new(instances.collect()),
            turn: Cell::default(),
        }
    }

    fn add(&self, instance: &Rc<Instance>) {
        self.instances.borrow_mut().push(Rc::clone(instance));
    }

    /// Sends nothing more to this instance, and stops it once all requests are answered.
    async fn stop(&self, instance: &Rc<Instance>) {
        let others = |other: &Rc<Instance>| !Rc::ptr_eq(other, instance);
        self.instances.borrow_mut().retain(others);
        instance.stop().await;
    }

    async fn ask(
        &self,
        ask: impl AsyncFnOnce(&Client) -> Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
        let turn = self.turn.get();
        self.turn.set(turn + 1);
        let next = {
            let instances = self.instances.borrow();
            Rc::clone(&instances[turn % instances.len()])
        };
        next.under_way.set(next.under_way.get() + 1);
        let answer = ask(&next.client).await;
        next.under_way.set(next.under_way.get() - 1);
        answer
    }

    /// Visits a record, and reads it right after that.
    async fn visit_and_read(&self, id: i32) -> Result<(), Failure> {
        let visit = format!("/records/{id}/visit");
        let visited = self.ask(async |client| client.post(&visit).await).await?;
        expect_visited(&visited)?;
        let read = format!("/read/{id}");
        expect_visited(&self.ask(async |client| client.get(&read).await).await?)
    }

    /// Makes clients visit and read, each its own records, until something has happened, and each at least a few times.
    async fn during<T>(
        &self,
        event: impl Future<Output = Result<T, TestError>>,
    ) -> Result<T, TestError> {
        let has_happened = Cell::new(false);
        let clients = (0..CLIENTS).map(async |client| {
            let (mut times, mut failed) = (0, None);
            while failed.is_none() && (times < VISITS_EACH || !has_happened.get()) {
                let id = 5000 + client * 1000 + times % 1000;
                failed = self.visit_and_read(id).await.err();
                times += 1;
            }
            failed
        });
        let event = async {
            let result = event.await;
            has_happened.set(true);
            result
        };
        let (result, failed) = tokio::join!(event, join_all(clients));
        // A client's failure comes first: it may be why nothing has happened.
        match failed.into_iter().flatten().next() {
            Some(failure) => Err(failure.into()),
            None => result,
        }
    }
}

/// Expects a record that was visited.
fn expect_visited(answer: &Answer) -> Result<(), Failure> {
    answer.expect_status(200)?;
    let record: serde_json::Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    let expected = "a record that was visited";
    match record["visited"].as_bool() {
        Some(true) => Ok(()),
        _ => Err(answer.failure(expected, answer.text())),
    }
}

async fn an_open_export_costs_nobody_a_read(releases: &TwoReleases) -> TestResult {
    let earlier = releases.ready(Release::One).await?;
    let (mut exporting, mut watcher) = (releases.connect().await?, releases.connect().await?);
    let mut export = exporting.begin().await?;
    export.execute("SELECT id FROM records LIMIT 1").await?;
    let holder: i32 = sqlx::query_scalar("SELECT pg_backend_pid()")
        .fetch_one(&mut *export)
        .await?;
    let later = releases.start(Release::Two).await?;
    let waiting = async {
        see_attempts(&mut watcher, "to add the column").await?;
        let answer = later.client.get("/ready").await?;
        answer.expect_problem(503, "the schema is not up to date yet")?;
        let says_who = |log: &String| {
            let mut lines = log.lines();
            lines.any(|line| line.contains("in the way") && line.contains(&holder.to_string()))
        };
        let log = wait::last_within(LIMIT, async || later.logged(), says_who).await;
        let expected = format!("a log line that names the process in its way, {holder}");
        expect(says_who(&log), expected, "none")
    };
    Balancer::of(&[&earlier]).during(waiting).await?;
    export.rollback().await?;
    later.ready().await?;
    let added = has_column(&mut watcher, "visited_at").await?;
    expect(added, "the column visited_at, once the export has ended", "no such column")
}

async fn release_1_that_starts_again_gets_ready(releases: &TwoReleases) -> TestResult {
    expanded(releases).await?.stop().await;
    let earlier = releases.ready(Release::One).await?;
    Balancer::of(&[&earlier]).visit_and_read(7).await?;
    Ok(())
}

async fn a_visit_through_either_is_seen_through_both(releases: &TwoReleases) -> TestResult {
    let earlier = releases.ready(Release::One).await?;
    let later = expanded(releases).await?;
    let switched = releases.ready(Release::TwoSwitched).await?;
    let instances = [&earlier, &later, &switched];
    for (place, writer) in instances.into_iter().enumerate() {
        let first = 100 * (place as i32 + 1);
        let ids = [first, first + 1, first + 2];
        let answer = writer.client.post(&format!("/records/{first}/visit")).await?;
        expect_visited(&answer)?;
        let body = format!("{{\"ids\": [{}, {}]}}", ids[1], ids[2]);
        let answer = writer.client.post_body("/visits", Body::json(&body)).await?;
        answer.expect_status(200)?;
        for reader in instances {
            for id in ids {
                expect_visited(&reader.client.get(&format!("/read/{id}")).await?)?;
            }
            let page = format!("/records?after={}&limit=3", first - 1);
            let page = reader.client.get(&page).await?;
            let visited = page.text().matches("\"visited\":true").count();
            expect_eq("visited records on a page of three", visited, 3)?;
            let export = format!("/records/export?after={}", first - 1);
            let export = reader.client.get(&export).await?;
            let text = export.text();
            let visited = text.lines().take(3).filter(|line| line.contains("\"visited\":true"));
            expect_eq("visited records of the first three of an export", visited.count(), 3)?;
        }
    }
    Ok(())
}

async fn a_new_visit_keeps_its_time(releases: &TwoReleases) -> TestResult {
    let mut database = releases.connect().await?;
    mark(&mut database, OLD).await?;
    let earlier = releases.ready(Release::One).await?;
    let mut gate = Gate::before(releases, 10).await?;
    let later = expanded(releases).await?;
    gate.reached().await?;
    let (before, ids) = (now(&mut database).await?, [OLD + 1, OLD + 2]);
    for (instance, id) in [&earlier, &later].into_iter().zip(ids) {
        let visit = format!("/records/{id}/visit");
        expect_visited(&instance.client.post(&visit).await?)?;
    }
    let times = [time_of(&mut database, ids[0]).await?, time_of(&mut database, ids[1]).await?];
    let expected = format!("the time of its visit, {before} or later, for each");
    let dated = times.iter().all(|time| time.is_some_and(|time| time >= before));
    expect(dated, expected, format!("{times:?}"))?;
    gate.open().await?;
    until_all_are_dated(&mut database).await?;
    let switched = releases.ready(Release::TwoSwitched).await?;
    for instance in [&earlier, &later, &switched] {
        for id in ids {
            let visit = format!("/records/{id}/visit");
            expect_visited(&instance.client.post(&visit).await?)?;
        }
        let body = format!("{{\"ids\": [{}, {}]}}", ids[0], ids[1]);
        let answer = instance.client.post_body("/visits", Body::json(&body)).await?;
        answer.expect_status(200)?;
    }
    let afterwards = [time_of(&mut database, ids[0]).await?, time_of(&mut database, ids[1]).await?];
    expect_eq("the times of two first visits, after the backfill and later visits", afterwards, times)
}

async fn an_old_visit_is_never_dated_later(releases: &TwoReleases) -> TestResult {
    let mut database = releases.connect().await?;
    mark(&mut database, OLD).await?;
    let earlier = releases.ready(Release::One).await?;
    let mut gate = Gate::before(releases, 10).await?;
    let later = expanded(releases).await?;
    gate.reached().await?;
    let expand = now(&mut database).await?;
    // Rows of later batches, which nobody holds yet.
    let ids = [OLD - 2, OLD - 1];
    for (instance, id) in [&earlier, &later].into_iter().zip(ids) {
        let visit = format!("/records/{id}/visit");
        expect_visited(&instance.client.post(&visit).await?)?;
    }
    gate.open().await?;
    until_all_are_dated(&mut database).await?;
    for id in ids {
        let time = time_of(&mut database, id).await?;
        let expected = format!("the time of the expand for a visit from before, {expand} or earlier");
        let got = format!("{time:?} for one that was visited again");
        expect(time.is_some_and(|time| time <= expand), expected, got)?;
    }
    Ok(())
}

async fn the_backfill_goes_on_where_it_was_killed(releases: &TwoReleases) -> TestResult {
    let mut database = releases.connect().await?;
    mark(&mut database, OLD).await?;
    database.execute(AUDIT).await?;

    // In the middle of a batch, which is rolled back.
    let mut gate = Gate::before(releases, OLD - 100).await?;
    let killed = expanded(releases).await?;
    let waiter = gate.reached().await?;
    killed.kill();
    gate.end(waiter).await?;
    gate.open().await?;
    let left = count(&mut database, UNDATED).await?;
    expect_at_most(BATCH, "visits without a time when the last batch is killed", left)?;

    // At a commit that the database carries out all the same.
    let mut gate = Gate::at_commit(releases, OLD - 50).await?;
    let killed = releases.ready(Release::Two).await?;
    gate.reached().await?;
    killed.kill();
    gate.open().await?;

    releases.ready(Release::Two).await?;
    until_all_are_dated(&mut database).await?;
    expect_each_dated_once(&mut database).await
}

async fn two_instances_share_the_backfill(releases: &TwoReleases) -> TestResult {
    let mut database = releases.connect().await?;
    mark(&mut database, OLD).await?;
    database.execute(AUDIT).await?;
    let mut gate = Gate::before(releases, 10).await?;
    expanded(releases).await?;
    gate.reached().await?;
    releases.ready(Release::Two).await?;
    let what = "no visits without a time, except those that the first instance holds";
    until_at_most(&mut database, UNDATED_AND_FREE, 0, what).await?;
    let held = count(&mut database, UNDATED).await?;
    expect_at_most(BATCH, "visits in one batch", held)?;
    gate.open().await?;
    until_all_are_dated(&mut database).await?;
    expect_each_dated_once(&mut database).await
}

async fn one_held_row_holds_up_no_other(releases: &TwoReleases) -> TestResult {
    let (mut database, mut holder) = (releases.connect().await?, releases.connect().await?);
    mark(&mut database, OLD).await?;
    let mut gate = Gate::before(releases, 10).await?;
    expanded(releases).await?;
    gate.reached().await?;
    let mut held = holder.begin().await?;
    let hold = sqlx::query("SELECT id FROM records WHERE id = $1 FOR UPDATE");
    hold.bind(OLD - 10).execute(&mut *held).await?;
    gate.open().await?;
    let what = "1 visit without a time: the one that another session holds";
    until_at_most(&mut database, UNDATED, 1, what).await?;
    held.rollback().await?;
    until_all_are_dated(&mut database).await
}

/// Waits until the index is valid; returns its identity.
async fn valid_index(database: &mut PgConnection) -> Result<i64, TestError> {
    let look = async || sqlx::query_as(INDEX).fetch_optional(&mut *database).await;
    let valid = |index: &sqlx::Result<Option<(i64, bool)>>| {
        !matches!(index, Ok(None | Some((_, false))))
    };
    match wait::last_within(LIMIT, look, valid).await? {
        Some((identity, true)) => Ok(identity),
        Some(_) => Err(Failure::new("a valid index records_undated", "it is invalid").into()),
        None => Err(Failure::new("an index records_undated", "none").into()),
    }
}

/// Lets release 2 expand the schema, drops the index that it has built, and leaves it a visit to fill.
async fn expanded_without_index(
    releases: &TwoReleases,
    database: &mut PgConnection,
) -> TestResult {
    mark(database, OLD).await?;
    let first = expanded(releases).await?;
    until_all_are_dated(database).await?;
    valid_index(database).await?;
    first.stop().await;
    // A visit without a time, as if it were an old one.
    database
        .execute(
            "DROP INDEX records_undated;
             BEGIN; SET LOCAL session_replication_role = replica;
             UPDATE records SET visited_at = NULL WHERE id = 1; COMMIT",
        )
        .await?;
    Ok(())
}

/// Waits until an index is being built; returns its identity.
async fn index_in_the_making(database: &mut PgConnection) -> Result<i64, TestError> {
    let look = async || {
        let index: sqlx::Result<Option<(i64, bool)>> =
            sqlx::query_as(INDEX).fetch_optional(&mut *database).await;
        index.transpose()
    };
    let index = wait::within(LIMIT, look).await;
    let none = || Failure::new("an index records_undated that is being built", "none");
    let (identity, _) = index.ok_or_else(none)??;
    Ok(identity)
}

/// Waits until two sessions have come to the index.
async fn two_at_the_index(database: &mut PgConnection) {
    let both = async || matches!(count(&mut *database, AT_THE_INDEX).await, Ok(2..)).then_some(());
    wait::within(LIMIT, both).await;
}

async fn a_half_made_index_is_made_again(releases: &TwoReleases) -> TestResult {
    let (mut database, mut exporting) = (releases.connect().await?, releases.connect().await?);
    expanded_without_index(releases, &mut database).await?;
    let mut export = exporting.begin().await?;
    let snapshot = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT id FROM records LIMIT 1";
    export.execute(snapshot).await?;
    database.execute("SET lock_timeout = '50ms'").await?;
    let given_up = database.execute(
        "CREATE INDEX CONCURRENTLY records_undated ON records (id) WHERE visited AND visited_at IS NULL",
    );
    given_up.await.err();
    let half: Option<(i64, bool)> = sqlx::query_as(INDEX).fetch_optional(&mut database).await?;
    export.rollback().await?;
    let half = half.map(|(identity, _)| identity);
    releases.ready(Release::Two).await?;
    let whole = valid_index(&mut database).await?;
    expect(half != Some(whole), "another index than the half-made one", "the same")
}

async fn an_index_in_the_making_is_left_alone(releases: &TwoReleases) -> TestResult {
    let (mut database, mut exporting) = (releases.connect().await?, releases.connect().await?);
    expanded_without_index(releases, &mut database).await?;
    let mut export = exporting.begin().await?;
    let snapshot = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT id FROM records LIMIT 1";
    export.execute(snapshot).await?;
    let killed = releases.ready(Release::Two).await?;
    let in_the_making = index_in_the_making(&mut database).await?;
    // The process in the database keeps running, and builds.
    killed.kill();
    let second = releases.ready(Release::Two).await?;
    two_at_the_index(&mut database).await;
    export.rollback().await?;
    // Release 2 fills the column when it has the index.
    until_all_are_dated(&mut database).await?;
    let whole = valid_index(&mut database).await?;
    expect(
        whole == in_the_making,
        "the index that was being built when release 2 was started again",
        "another one: the first one was dropped",
    )?;
    // A session that drops it during the build waits for the build, which waits in turn: the database ends either of the two.
    let logged = second.logged();
    let failed = logged.lines().find(|line| line.contains("trying again"));
    expect(failed.is_none(), "an instance that leaves the build alone", failed.unwrap_or_default())
}

async fn two_instances_build_one_index(releases: &TwoReleases) -> TestResult {
    let (mut database, mut writing) = (releases.connect().await?, releases.connect().await?);
    expanded_without_index(releases, &mut database).await?;
    // The builder waits for a write that is open.
    let mut write = writing.begin().await?;
    write.execute("UPDATE records SET value = value WHERE id = 7").await?;
    let builder = releases.ready(Release::Two).await?;
    let in_the_making = index_in_the_making(&mut database).await?;
    let other = releases.ready(Release::Two).await?;
    two_at_the_index(&mut database).await;
    write.rollback().await?;
    until_all_are_dated(&mut database).await?;
    let whole = valid_index(&mut database).await?;
    expect(whole == in_the_making, "the first instance's index", "another one: it was built twice")?;
    let logged = builder.logged() + &other.logged();
    let failed = logged.lines().find(|line| line.contains("trying again"));
    expect(failed.is_none(), "two instances that don't block each other", failed.unwrap_or_default())
}

async fn a_database_away_costs_the_backfill_nothing(releases: &TwoReleases) -> TestResult {
    let mut database = releases.connect().await?;
    mark(&mut database, OLD).await?;
    database.execute(AUDIT).await?;
    let mut gate = Gate::before(releases, 10).await?;
    let line = releases.line().await?;
    let instance = releases.start_behind(Release::Two, &line).await?;
    instance.ready().await?;
    gate.reached().await?;
    // In the middle of a batch, which the database carries out all the same.
    line.allow(0);
    line.reset();
    let tried = async || (line.refused() >= ATTEMPTS).then_some(());
    let expected = format!("{ATTEMPTS} attempts to connect while the database is away");
    let tried = wait::within(LIMIT, tried).await;
    tried.ok_or_else(|| Failure::new(expected, format!("{}", line.refused())))?;
    gate.open().await?;
    line.allow(usize::MAX);
    until_all_are_dated(&mut database).await?;
    expect_each_dated_once(&mut database).await
}

async fn the_switch_waits_for_the_last_row(releases: &TwoReleases) -> TestResult {
    const FEW: i32 = 47;
    let mut database = releases.connect().await?;
    mark(&mut database, FEW).await?;
    let mut gate = Gate::before(releases, 10).await?;
    expanded(releases).await?;
    gate.reached().await?;
    let switched = releases.start(Release::TwoSwitched).await?;
    let says_how_many = |log: &String| log.lines().any(|line| line.contains("VISITED_FROM") && line.contains("47"));
    let log = wait::last_within(LIMIT, async || switched.logged(), says_how_many).await;
    let expected = format!("a log line that names VISITED_FROM and the {FEW} visits without a time");
    expect(says_how_many(&log), expected, "none")?;
    let answer = switched.client.get("/ready").await?;
    answer.expect_problem(503, "the schema is not up to date yet")?;
    gate.open().await?;
    switched.ready().await?;
    for id in 1..=FEW {
        expect_visited(&switched.client.get(&format!("/read/{id}")).await?)?;
    }
    Ok(())
}

/// Runs `contract` as a role of its own, which owns the table, and which can't see the type of other roles' sessions. As
/// the usual role if the server doesn't allow another.
async fn contract_by_another_role(releases: &TwoReleases, database: &mut PgConnection) -> Result<Ended, TestError> {
    let role: String = sqlx::query_scalar("SELECT current_database() || '_two'")
        .fetch_one(&mut *database)
        .await?;
    let make = format!(
        r#"DROP ROLE IF EXISTS "{role}";
           CREATE ROLE "{role}" LOGIN PASSWORD 'two';
           GRANT ALL ON SCHEMA public TO "{role}";
           ALTER TABLE records OWNER TO "{role}";
           ALTER FUNCTION note_visit_twice() OWNER TO "{role}""#
    );
    match sqlx::raw_sql(AssertSqlSafe(make)).execute(&mut *database).await {
        Ok(_) => {}
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("42501") => {
            return Ok(releases.contract().await?);
        }
        Err(error) => return Err(error.into()),
    }
    let mut url = Url::parse(releases.database_url()).map_err(anyhow::Error::new)?;
    let _ = (url.set_username(&role), url.set_password(Some("two")));
    let ended = releases.contract_by(url.as_str()).await;
    let unmake = format!(
        r#"REASSIGN OWNED BY "{role}" TO CURRENT_USER; DROP OWNED BY "{role}"; DROP ROLE "{role}""#
    );
    sqlx::raw_sql(AssertSqlSafe(unmake)).execute(database).await?;
    Ok(ended?)
}

async fn the_old_column_stays_while_release_1_runs(releases: &TwoReleases) -> TestResult {
    let mut database = releases.connect().await?;
    expanded(releases).await?.stop().await;
    let switched = releases.ready(Release::TwoSwitched).await?;
    // Each of them alone keeps the column from being dropped.
    for (release, name) in [(Release::One, "release 1"), (Release::Two, "release 2 before its switch")] {
        let reader = releases.ready(release).await?;
        let contract = async {
            match release {
                Release::One => contract_by_another_role(releases, &mut database).await,
                _ => Ok(releases.contract().await?),
            }
        };
        let refused = Balancer::of(&[&reader]).during(contract).await?;
        let there = has_column(&mut database, "visited").await?;
        let what = format!("exit code while {name} runs");
        expect_eq(&what, refused.code, Some(1))?;
        let says_why = refused.said.lines().count() == 1 && refused.said.contains("records.visited stays");
        expect(says_why, "one sentence: records.visited stays, and why", &refused.said)?;
        let readers: Vec<String> = sqlx::query_scalar(READER_PIDS).fetch_all(&mut database).await?;
        let names_one = readers.iter().any(|pid| refused.said.contains(pid));
        expect(names_one, format!("a sentence that names a session of {name}, by its pid"), refused.said)?;
        expect(there, "the column visited", "it is gone")?;
        reader.stop().await;
        until_at_most(&mut database, READERS, 0, "0 sessions of an instance that was stopped").await?;
    }
    let ended = releases.contract().await?;
    let what = "exit code when only instances run that don't read visited";
    expect_eq(what, ended.code, Some(0))?;
    let gone = !has_column(&mut database, "visited").await?;
    expect(gone, "no column visited", "it is there")?;
    Balancer::of(&[&switched]).visit_and_read(7).await?;
    for release in [Release::One, Release::Two] {
        let late = releases.start(release).await?;
        let names_it = |log: &String| log.lines().any(|line| line.contains("visited") && line.contains("no longer"));
        let log = wait::last_within(LIMIT, async || late.logged(), names_it).await;
        expect(names_it(&log), "a log line that names the missing column", "none")?;
        let answer = late.client.get("/ready").await?;
        answer.expect_problem(503, "the schema is not up to date yet")?;
    }
    Ok(())
}

async fn nothing_fails_while_the_column_goes(releases: &TwoReleases) -> TestResult {
    expanded(releases).await?.stop().await;
    let (one, other) = tokio::join!(
        releases.ready(Release::TwoSwitched),
        releases.ready(Release::TwoSwitched)
    );
    let (one, other) = (one?, other?);
    let (mut exporting, mut watcher) = (releases.connect().await?, releases.connect().await?);
    let mut polling = releases.connect().await?;
    let mut export = exporting.begin().await?;
    export.execute("SELECT id FROM records LIMIT 1").await?;
    let half_gone = Cell::new(false);
    let contract = async {
        let exported = async {
            let seen = see_attempts(&mut watcher, "to take the column away").await;
            export.rollback().await?;
            seen
        };
        let (ended, exported) = tokio::join!(releases.contract(), exported);
        exported?;
        Ok(ended?)
    };
    let both = "SELECT (SELECT count(*) FROM pg_attribute WHERE attrelid = 'records'::regclass
                         AND attname = 'visited' AND NOT attisdropped)
               = (SELECT count(*) FROM pg_trigger WHERE tgrelid = 'records'::regclass AND NOT tgisinternal)";
    let has_ended = Cell::new(false);
    let polled = async {
        while !has_ended.get() {
            let both: bool = sqlx::query_scalar(both).fetch_one(&mut polling).await?;
            half_gone.set(half_gone.get() || !both);
        }
        Ok::<(), TestError>(())
    };
    let contract = async {
        let result = Balancer::of(&[&one, &other]).during(contract).await;
        has_ended.set(true);
        result
    };
    let (ended, polled) = tokio::join!(contract, polled);
    let ended = ended?;
    polled?;
    expect(ended.code == Some(0), "exit code 0 of contract", format!("{ended:?}"))?;
    expect(
        !half_gone.get(),
        "column and trigger, or neither of them",
        "one of the two: a visit in between is noted in one column, or fails",
    )?;
    let gone = !has_column(&mut watcher, "visited").await?;
    expect(gone, "no column visited", "it is there")?;
    Balancer::of(&[&one, &other]).during(async { Ok(()) }).await
}

async fn back_and_forth_at_every_step(releases: &TwoReleases) -> TestResult {
    let mut database = releases.connect().await?;
    mark(&mut database, OLD).await?;
    let earlier = releases.ready(Release::One).await?;
    let balancer = Balancer::of(&[&earlier]);
    let steps = async {
        // Expand, and back.
        let later = expanded(releases).await?;
        balancer.add(&later);
        balancer.stop(&later).await;
        // Both, the backfill, and back.
        let later = expanded(releases).await?;
        balancer.add(&later);
        balancer.stop(&earlier).await;
        until_all_are_dated(&mut database).await?;
        let earlier = releases.ready(Release::One).await?;
        balancer.add(&earlier);
        balancer.stop(&later).await;
        // The switch, beside release 1, and back to it.
        let switched = releases.ready(Release::TwoSwitched).await?;
        balancer.add(&switched);
        balancer.stop(&earlier).await;
        let earlier = releases.ready(Release::One).await?;
        balancer.add(&earlier);
        balancer.stop(&switched).await;
        // Forward again.
        let switched = releases.ready(Release::TwoSwitched).await?;
        balancer.add(&switched);
        balancer.stop(&earlier).await;
        Ok(switched)
    };
    balancer.during(steps).await?;
    balancer.during(async { Ok(()) }).await?;
    let astray = "SELECT count(*) FROM records WHERE visited <> (visited_at IS NOT NULL)";
    let astray = count(&mut database, astray).await?;
    expect_eq("rows whose two columns differ", astray, 0)
}
