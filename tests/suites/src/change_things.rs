//! Suite `change-things` (exercise 6): one visit, many visits or none, invalid bodies, and a service that
//! migrates its own schema.

use std::ops::RangeInclusive;
use std::time::Duration;

use futures_util::future::join_all;
use rand::seq::SliceRandom;
use serde_json::json;
use sqlx::{AssertSqlSafe, Connection, Executor, PgConnection, Postgres, Transaction};

use crate::expect_no_database;
use crate::row::RecordRow;
use workshop_harness::contract::{
    Answer, Context, Failure, TestResult, contract_tests, expect, expect_each, expect_eq,
    has_status,
};
use workshop_harness::first_start::{FirstStart, Hindered, SCHEMA};
use workshop_harness::http::Body;
use workshop_harness::releases::{Releases, WAITS};
use workshop_harness::silence::wait_for_waiting;

contract_tests! {
    steady: [
        a_visit_is_stored_and_answers_the_record,
        a_second_visit_answers_the_same,
        a_visit_of_no_record_is_refused_like_a_read,
        visits_mark_every_record_and_count_each_once,
        up_to_1000_ids_are_accepted,
        a_missing_id_is_named_and_nothing_changes,
        a_body_that_is_not_said_to_be_json_answers_415,
        a_body_over_the_limit_answers_413,
        a_body_that_is_no_json_answers_400,
        json_of_another_shape_answers_422,
        json_is_judged_as_a_whole_before_its_shape,
        the_last_of_a_repeated_member_counts,
        the_body_is_judged_step_by_step,
        visits_need_no_statement_for_each_id,
        others_see_all_of_the_visits_or_none,
        a_record_that_vanishes_meanwhile_counts_as_missing,
        opposite_orders_do_not_lock_each_other_out,
        many_visits_at_once_are_all_or_nothing,
        a_database_that_cannot_write_now_answers_503,
        a_transaction_is_not_tried_again,
    ],
    first_start: [
        a_service_without_a_database_is_alive_and_not_ready,
        it_is_ready_soon_after_its_database_has_come,
        a_migration_that_fails_is_tried_again_until_it_works,
        a_migration_whose_line_falls_silent_is_tried_again,
        services_that_wait_for_a_migration_are_alive_and_not_ready,
        of_two_services_that_start_at_once_one_migrates,
        both_become_ready_and_the_schema_is_there,
        data_that_is_there_already_is_kept,
    ],
    releases: [
        a_release_starts_beside_a_later_one,
        a_release_waits_for_a_column_that_it_needs,
        a_migration_that_waits_leaves_no_pile_of_sessions,
        a_migration_that_waits_says_so_once,
    ]
}

/// The maximum size of a body, in bytes.
const LARGEST_BODY: usize = 32_768;
/// How soon after its database has come a service must be ready.
const READY_LIMIT: Duration = Duration::from_secs(5);

async fn visit(context: &Context, ids: &[i32]) -> Result<Answer, Failure> {
    send(context, json!({ "ids": ids }).to_string()).await
}

async fn send(context: &Context, body: impl AsRef<[u8]>) -> Result<Answer, Failure> {
    context.client.post_body("/visits", Body::json(&body)).await
}

async fn expect_visited(context: &Context, ids: &[i32], records: usize) -> TestResult {
    expect_count(&visit(context, ids).await?, records)?;
    Ok(())
}

fn expect_count(answer: &Answer, records: usize) -> Result<&Answer, Failure> {
    answer.expect_json(200, &json!({ "visited": records }))
}

fn expect_missing<'a>(answer: &'a Answer, ids: &str) -> Result<&'a Answer, Failure> {
    answer.expect_problem(404, &format!("there are no records with the ids {ids}"))
}

/// Compares the visited ones among these records, in ascending order, with the contract.
async fn expect_marked(
    database: &mut PgConnection,
    among: impl IntoIterator<Item = i32>,
    expected: &[i32],
    when: &str,
) -> TestResult {
    let ids: Vec<i32> = among.into_iter().collect();
    let visited = "SELECT id FROM records WHERE id = ANY($1) AND visited ORDER BY id";
    let visited = sqlx::query_scalar(visited).bind(ids).fetch_all(database);
    let visited: Vec<i32> = visited.await?;
    let what = format!("the records marked as visited {when}");
    expect_eq(&what, visited, expected)
}

async fn a_visit_is_stored_and_answers_the_record(context: &Context) -> TestResult {
    let mut database = context.database.lock().await;
    for id in [11, 12] {
        let answer = context.client.post(&format!("/records/{id}/visit")).await?;
        let mut row = RecordRow::load(&mut database, id).await?;
        row.visited = true;
        answer.expect_json(200, &row)?;
        let read = context.client.get(&format!("/read/{id}")).await?;
        read.expect_json(200, &row)?;
    }
    let neighbors = "by a visit of 11 and 12";
    expect_marked(&mut database, 10..=13, &[11, 12], neighbors).await
}

async fn a_second_visit_answers_the_same(context: &Context) -> TestResult {
    let first = context.client.post("/records/14/visit").await?;
    let second = context.client.post("/records/14/visit").await?;
    first.expect_status(200)?;
    second.expect_status(200)?;
    expect(
        first.body() == second.body(),
        format!("the same answer to a second visit: {}", first.text()),
        second.text(),
    )
}

async fn a_visit_of_no_record_is_refused_like_a_read(context: &Context) -> TestResult {
    let unknown = context.rows + 1;
    let client = &context.client;
    let answer = client.post(&format!("/records/{unknown}/visit")).await?;
    answer.expect_problem(404, &format!("there is no record with id {unknown}"))?;
    for path in ["/records/abc/visit", "/records/2147483648/visit"] {
        let answer = client.post(path).await?;
        answer.expect_problem(400, "id must be a 32-bit integer")?;
        client.without_key().post(path).await?.expect_status(401)?;
    }
    Ok(())
}

async fn visits_mark_every_record_and_count_each_once(context: &Context) -> TestResult {
    let mut database = context.database.lock().await;
    expect_visited(context, &[], 0).await?;
    // In no order, one of them twice, and then all of it again.
    let ids = [23, 21, 25, 23];
    expect_visited(context, &ids, 3).await?;
    expect_visited(context, &ids, 3).await?;
    let named = [21, 23, 25];
    expect_marked(&mut database, 20..=26, &named, "by these visits").await?;
    let unknown_member = r#"{"from": "a test", "ids": [27]}"#;
    expect_count(&send(context, unknown_member).await?, 1)?;
    Ok(())
}

async fn up_to_1000_ids_are_accepted(context: &Context) -> TestResult {
    let ids: Vec<i32> = (1001..=2001).collect();
    expect_visited(context, &ids[..1000], 1000).await?;
    expect_unusable(&visit(context, &ids).await?)?;
    // The list counts as it is sent.
    expect_unusable(&visit(context, &[1; 1001]).await?)?;
    Ok(())
}

async fn a_missing_id_is_named_and_nothing_changes(context: &Context) -> TestResult {
    let mut database = context.database.lock().await;
    let (there, last) = ([31, 32], i32::try_from(context.rows).unwrap_or(i32::MAX));
    let answer = visit(context, &[last + 2, 32, last + 1, 31, last + 2]).await?;
    expect_missing(&answer, &format!("{}, {}", last + 1, last + 2))?;
    expect_marked(&mut database, there, &[], "by a request that answers 404").await?;

    // A transaction that is still open would show now: it keeps the records locked, or a later one commits it.
    for _ in 0..2 * context.settings.pool_size {
        expect_visited(context, &[33], 1).await?;
    }
    expect_marked(&mut database, there, &[], "by what comes after a 404").await?;
    let mut transaction = database.begin().await?;
    transaction.execute("SET LOCAL lock_timeout = '1s'").await?;
    let locked = sqlx::query("SELECT FROM records WHERE id = ANY($1) FOR UPDATE")
        .bind(there)
        .execute(&mut *transaction)
        .await;
    transaction.rollback().await?;
    match locked {
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("55P03") => {
            let expected = format!("the records {there:?} free for others after the 404");
            let got = "they are locked: its transaction is still open";
            Err(answer.failure(expected, got).into())
        }
        other => Ok(other.map(|_| ())?),
    }
}

async fn a_body_that_is_not_said_to_be_json_answers_415(context: &Context) -> TestResult {
    let said_to_be = async |content_type| {
        let body = Body::new(content_type, r#"{"ids": [41]}"#);
        context.client.post_body("/visits", body).await
    };
    for content_type in [None, Some("text/plain"), Some("application/jsonx")] {
        let answer = said_to_be(content_type).await?;
        answer.expect_problem(415, "the body must be application/json")?;
    }
    for content_type in ["application/json; charset=utf-8", "Application/JSON"] {
        expect_count(&said_to_be(Some(content_type)).await?, 1)?;
    }
    Ok(())
}

/// A list of ids, with spaces until it has this length.
fn padded(length: usize) -> Vec<u8> {
    let mut body = br#"{"ids": [42]}"#.to_vec();
    body.resize(length, b' ');
    body
}

async fn a_body_over_the_limit_answers_413(context: &Context) -> TestResult {
    expect_count(&send(context, padded(LARGEST_BODY)).await?, 1)?;
    let answer = send(context, padded(LARGEST_BODY + 1)).await?;
    answer.expect_problem(413, "the body must not be larger than 32768 bytes")?;
    Ok(())
}

async fn a_body_that_is_no_json_answers_400(context: &Context) -> TestResult {
    // Nothing, half of it, a bare word, something after it, a comma too many, and a byte that isn't UTF-8.
    let bodies: [&[u8]; 6] = [
        b"",
        br#"{"ids": [1"#,
        b"ids",
        br#"{"ids": [1]} and more"#,
        br#"{"ids": [1,]}"#,
        b"{\"ids\": [\"\xff\"]}",
    ];
    for body in bodies {
        let answer = send(context, body).await?;
        answer.expect_problem(400, "the body must be JSON")?;
    }
    Ok(())
}

fn expect_unusable(answer: &Answer) -> Result<&Answer, Failure> {
    let detail = "the body must be {\"ids\": […]} with at most 1000 32-bit integers";
    answer.expect_problem(422, detail)
}

async fn json_of_another_shape_answers_422(context: &Context) -> TestResult {
    for body in [
        "{}",
        "42",
        r#"{"ids": null}"#,
        r#"{"ids": 1}"#,
        r#"{"ids": ["1"]}"#,
        r#"{"ids": [1.0]}"#,
        r#"{"ids": [2147483648]}"#,
        "[[1]]",
    ] {
        expect_unusable(&send(context, body).await?)?;
    }
    Ok(())
}

async fn json_is_judged_as_a_whole_before_its_shape(context: &Context) -> TestResult {
    // The shape is wrong at the beginning, and something at the end keeps it from being JSON.
    for body in [
        r#"{"ids": ["1""#,
        r#"{"ids": [1.0], "more": }"#,
        r#"{"ids": null} and more"#,
        "[[1]",
        "42 43",
        r#"["ids" 1]"#,
    ] {
        let answer = send(context, body).await?;
        answer.expect_problem(400, "the body must be JSON")?;
    }
    Ok(())
}

async fn the_last_of_a_repeated_member_counts(context: &Context) -> TestResult {
    expect_count(&send(context, r#"{"ids": [43, 44], "ids": [43]}"#).await?, 1)?;
    expect_count(&send(context, r#"{"ids": "none", "ids": [43]}"#).await?, 1)?;
    expect_unusable(&send(context, r#"{"ids": [43], "ids": "none"}"#).await?)?;
    Ok(())
}

async fn the_body_is_judged_step_by_step(context: &Context) -> TestResult {
    // Each request has two faults, and the earlier one in the contract's order is answered.
    let too_long = padded(LARGEST_BODY + 1);
    let nothing_right = Body::new("text/plain", &too_long);
    let keyless = context.client.without_key();
    for (client, status) in [(&keyless, 401), (&context.client, 415)] {
        let answer = client.post_body("/visits", nothing_right).await?;
        answer.expect_status(status)?;
    }
    let no_json = send(context, [b'x'; LARGEST_BODY + 1]).await?;
    no_json.expect_status(413)?;
    visit(context, &[-1; 1001]).await?.expect_status(422)?;
    Ok(())
}

async fn visits_need_no_statement_for_each_id(context: &Context) -> TestResult {
    const IDS: usize = 100;
    const MAX_ROUND_TRIPS: u64 = 20;
    let ids: Vec<i32> = (501..).take(IDS).collect();
    let before = context.proxy.round_trips();
    let answer = visit(context, &ids).await?;
    let round_trips = context.proxy.round_trips() - before;
    expect_count(&answer, IDS)?.expect(
        round_trips <= MAX_ROUND_TRIPS,
        format!("at most {MAX_ROUND_TRIPS} round trips to PostgreSQL for {IDS} ids"),
        format!("{round_trips} round trips"),
    )?;
    Ok(())
}

async fn others_see_all_of_the_visits_or_none(context: &Context) -> TestResult {
    let mut database = context.database.lock().await;
    let ids: Vec<i32> = (51..=60).collect();
    // While another session holds the last record, the request can't finish.
    let mut held = hold(&mut database, 60).await?;
    let (answer, seen) = tokio::join!(visit(context, &ids), async {
        wait_for_waiting(&mut held, 1..).await?;
        let seen = expect_marked(&mut held, 51..=60, &[], "before all of them can be").await;
        held.rollback().await?;
        seen
    });
    seen?;
    expect_count(&answer?, ids.len())?;
    expect_marked(&mut database, 51..=60, &ids, "by one request").await
}

/// Begins a transaction that locks this record.
async fn hold(database: &mut PgConnection, id: i32) -> sqlx::Result<Transaction<'_, Postgres>> {
    let mut transaction = database.begin().await?;
    sqlx::query("SELECT FROM records WHERE id = $1 FOR UPDATE")
        .bind(id)
        .execute(&mut *transaction)
        .await?;
    Ok(transaction)
}

async fn a_record_that_vanishes_meanwhile_counts_as_missing(context: &Context) -> TestResult {
    let mut database = context.database.lock().await;
    let (stays, vanishes) = (61, -61);
    let row = RecordRow {
        id: vanishes,
        ..RecordRow::default()
    };
    row.insert(&mut database).await?;
    let mut transaction = database.begin().await?;
    row.delete(&mut transaction).await?;
    let ids = [stays, vanishes];
    let (answer, deleted) = tokio::join!(visit(context, &ids), async {
        wait_for_waiting(&mut transaction, 1..).await?;
        transaction.commit().await
    });
    deleted?;
    expect_missing(&answer?, "-61")?;
    expect_marked(&mut database, [stays], &[], "by a request that answers 404").await
}

async fn opposite_orders_do_not_lock_each_other_out(context: &Context) -> TestResult {
    let mut database = context.database.lock().await;
    let ascending: Vec<i32> = (71..=99).collect();
    let descending: Vec<i32> = ascending.iter().rev().copied().collect();
    // Both get as far as the record in the middle, or wait for each other before that.
    let down = expect_visited(context, &descending, ascending.len());
    while_held(context, &mut database, &ascending, down).await?;
    on_a_table_in_another_order(context, &mut database, &ascending).await
}

/// Visits these records, and does the other thing, while another session holds record 85 until both wait.
async fn while_held(
    context: &Context,
    database: &mut PgConnection,
    ids: &[i32],
    other: impl Future<Output = TestResult>,
) -> TestResult {
    let mut held = hold(database, 85).await?;
    let (visited, other, released) =
        tokio::join!(expect_visited(context, ids, ids.len()), other, async {
            wait_for_waiting(&mut held, 2..).await?;
            held.rollback().await
        });
    released?;
    visited.and(other)
}

/// The same on a table of these records that has no index: PostgreSQL comes to the records in the order in which it stores them, and
/// that changes while the first request waits. Requests that leave the order of their locks to PostgreSQL end in a deadlock.
async fn on_a_table_in_another_order(
    context: &Context,
    database: &mut PgConnection,
    ids: &[i32],
) -> TestResult {
    // Free space before the first record, for the last one to move to.
    for statement in [
        "ALTER TABLE records RENAME TO records_of_the_others",
        "CREATE TABLE records (LIKE records_of_the_others INCLUDING DEFAULTS)",
        "INSERT INTO records (id, value, odd, divisible_by_3) VALUES (0, '', false, true)",
        "INSERT INTO records SELECT * FROM records_of_the_others WHERE id BETWEEN 71 AND 99 ORDER BY id",
        "DELETE FROM records WHERE id = 0",
        "VACUUM records",
    ] {
        database.execute(statement).await?;
    }
    let result = two_orders(context, database, ids).await;
    database.execute("DROP TABLE records").await?;
    database
        .execute("ALTER TABLE records_of_the_others RENAME TO records")
        .await?;
    result
}

async fn two_orders(context: &Context, database: &mut PgConnection, ids: &[i32]) -> TestResult {
    let mut mover = PgConnection::connect(&context.settings.database_url).await?;
    let move_the_last = "UPDATE records SET value = value || '.' WHERE id = 99";
    let in_another_order = async {
        wait_for_waiting(&mut mover, 1..).await?;
        mover.execute(move_the_last).await?;
        mover.close().await?;
        expect_visited(context, ids, ids.len()).await
    };
    while_held(context, database, ids, in_another_order).await
}

/// Some of these ids, in no order.
fn some_of(range: RangeInclusive<i32>) -> Vec<i32> {
    let mut ids: Vec<i32> = range.collect();
    ids.shuffle(&mut rand::rng());
    ids.truncate(ids.len() / 2);
    ids
}

async fn many_visits_at_once_are_all_or_nothing(context: &Context) -> TestResult {
    const EACH: usize = 12;
    let good: Vec<Vec<i32>> = (0..EACH).map(|_| some_of(2001..=2040)).collect();
    let bad: Vec<Vec<i32>> = (0..EACH)
        .map(|_| [some_of(2041..=2080), vec![0]].concat())
        .collect();
    let requests = good.iter().zip(&bad).flat_map(|(good, bad)| [good, bad]);
    let answers = join_all(requests.map(|ids| visit(context, ids))).await;
    for (index, answer) in answers.into_iter().enumerate() {
        match index % 2 {
            0 => expect_count(&answer?, good[index / 2].len())?,
            _ => expect_missing(&answer?, "0")?,
        };
    }

    let mut expected: Vec<i32> = good.into_iter().flatten().collect();
    expected.sort_unstable();
    expected.dedup();
    let mut database = context.database.lock().await;
    let named = "by the requests with 200";
    expect_marked(&mut database, 2001..=2080, &expected, named).await
}

/// PostgreSQL's codes for errors that pass: read-only since a failover, two transactions that deadlock or
/// can't be serialized, out of memory, too many connections.
const NOT_NOW: [&str; 5] = ["25006", "40P01", "40001", "53200", "53300"];

async fn a_database_that_cannot_write_now_answers_503(context: &Context) -> TestResult {
    let mut database = context.database.lock().await;
    database
        .execute("UPDATE records SET visited = false WHERE id = 1")
        .await?;
    let mut judged = Ok(());
    for code in NOT_NOW {
        let refuse = format!(
            "CREATE OR REPLACE FUNCTION not_now() RETURNS trigger LANGUAGE plpgsql
             AS $$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '{code}'; END $$;
             CREATE OR REPLACE TRIGGER not_now BEFORE UPDATE ON records FOR EACH STATEMENT EXECUTE FUNCTION not_now()"
        );
        sqlx::raw_sql(AssertSqlSafe(refuse))
            .execute(&mut *database)
            .await?;
        judged = expect_not_now(context, code).await;
        if judged.is_err() {
            break;
        }
    }
    database.execute("DROP FUNCTION not_now CASCADE").await?;
    judged
}

/// A visit while the database refuses to write, with this code.
async fn expect_not_now(context: &Context, code: &str) -> TestResult {
    let answer = visit(context, &[1]).await?;
    answer.expect(
        answer.status() == 503,
        format!("status 503 while the database refuses to write, with its code {code}"),
        format!("status {}, body {}", answer.status(), answer.text()),
    )?;
    Ok(())
}

/// The database's error about a statement that was prepared before the schema changed, in the middle of the first attempt to visit
/// the record 151. A sequence counts the attempts: it is not rolled back.
const STALE_ONCE: &str = "
    CREATE SEQUENCE attempts;
    CREATE FUNCTION stale_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('attempts') = 1 THEN
            CREATE TEMPORARY TABLE changing (id integer);
            EXECUTE 'PREPARE of_before AS SELECT id FROM changing';
            ALTER TABLE changing ALTER id TYPE bigint;
            EXECUTE 'EXECUTE of_before';
        END IF;
        RETURN NEW;
    END $$;
    CREATE TRIGGER stale_once BEFORE UPDATE ON records FOR EACH ROW WHEN (OLD.id = 151) EXECUTE FUNCTION stale_once()";
const NOT_STALE_ANY_MORE: &str = "DROP FUNCTION stale_once CASCADE; DROP SEQUENCE attempts";

async fn a_transaction_is_not_tried_again(context: &Context) -> TestResult {
    let mut database = context.database.lock().await;
    sqlx::raw_sql(STALE_ONCE).execute(&mut *database).await?;
    let answer = visit(context, &[151]).await;
    let attempts: i64 = sqlx::query_scalar("SELECT last_value FROM attempts")
        .fetch_one(&mut *database)
        .await?;
    let marked = expect_marked(&mut database, [151], &[], "by a transaction that has failed").await;
    sqlx::raw_sql(NOT_STALE_ANY_MORE)
        .execute(&mut *database)
        .await?;

    let answer = answer?;
    answer.expect(
        attempts == 1,
        "one attempt: the schema has changed in the middle of it, and a rollback doesn't undo all that a transaction has done",
        format!("{attempts} attempts, and status {}", answer.status()),
    )?;
    expect_no_database(&answer)?;
    marked?;
    expect_visited(context, &[151], 1).await
}

fn expect_alive_and_not_ready(service: &Hindered) -> TestResult {
    expect_each([&service.health_meanwhile], has_status(200))?;
    expect_each([&service.ready_meanwhile], |answer| {
        answer.expect_problem(503, "the schema is not up to date yet")
    })
}

fn expect_ready_soon_after(service: &Hindered, what: &str) -> TestResult {
    let (limit, took) = (READY_LIMIT, service.took);
    expect_each([&service.ready], |answer| {
        answer.expect_status(200)?.expect(
            took <= limit,
            format!("ready {} s after {what}", limit.as_secs()),
            format!("ready after {:.1} s", took.as_secs_f64()),
        )
    })
}

fn a_service_without_a_database_is_alive_and_not_ready(watched: &FirstStart) -> TestResult {
    expect_alive_and_not_ready(&watched.alone)
}

fn it_is_ready_soon_after_its_database_has_come(watched: &FirstStart) -> TestResult {
    expect_ready_soon_after(&watched.alone, "the database has come")
}

fn a_migration_that_fails_is_tried_again_until_it_works(watched: &FirstStart) -> TestResult {
    expect_alive_and_not_ready(&watched.failing)?;
    expect(
        watched.logged.is_some(),
        "a log line that says which table the migration could not create",
        "none",
    )?;
    expect_ready_soon_after(&watched.failing, "the migration can run")
}

fn a_migration_whose_line_falls_silent_is_tried_again(watched: &FirstStart) -> TestResult {
    expect_alive_and_not_ready(&watched.silenced)?;
    expect_each([&watched.silenced.ready], has_status(200))
}

fn services_that_wait_for_a_migration_are_alive_and_not_ready(watched: &FirstStart) -> TestResult {
    let mut instances = watched.together.instances.iter();
    instances.try_for_each(expect_alive_and_not_ready)
}

fn of_two_services_that_start_at_once_one_migrates(watched: &FirstStart) -> TestResult {
    let creating = watched.together.creating_at_once;
    let expected = "of two services that start at once with an empty database, one creates the table, and the \
                    other waits for it";
    let got = format!("{creating} of them were creating the table records at the same time");
    expect(creating == 1, expected, got)
}

fn both_become_ready_and_the_schema_is_there(watched: &FirstStart) -> TestResult {
    let together = &watched.together;
    let ready = together.instances.iter().map(|instance| &instance.ready);
    expect_each(ready, has_status(200))?;
    let first = together.columns.iter().take(SCHEMA.len());
    let first: Vec<&str> = first.map(String::as_str).collect();
    expect_eq("first columns of the table records", first, SCHEMA)
}

fn data_that_is_there_already_is_kept(watched: &FirstStart) -> TestResult {
    let record =
        json!({"id": 1, "value": "kept", "odd": true, "divisible_by_3": false, "visited": true});
    let read = [&watched.together.read_by_the_next];
    expect_each(read, |answer| answer.expect_json(200, &record))
}

fn a_release_starts_beside_a_later_one(watched: &Releases) -> TestResult {
    expect_ready_soon_after(&watched.earlier, "everything that it reads is there again")
}

fn a_release_waits_for_a_column_that_it_needs(watched: &Releases) -> TestResult {
    expect_alive_and_not_ready(&watched.earlier)?;
    let expected = "a log line that names the missing column";
    expect(watched.column.is_some(), expected, "none")?;
    expect_ready_soon_after(&watched.earlier, "the column is back")
}

fn a_migration_that_waits_leaves_no_pile_of_sessions(watched: &Releases) -> TestResult {
    expect_alive_and_not_ready(&watched.waiting)?;
    expect(
        watched.sessions == 1,
        "one session at a time that waits for the lock: an attempt that is given up ends in the database, too",
        format!("{} at the same time", watched.sessions),
    )?;
    expect_each([&watched.waiting.ready], has_status(200))
}

fn a_migration_that_waits_says_so_once(watched: &Releases) -> TestResult {
    expect(
        watched.said == 1,
        format!("one log line with \"{WAITS}\", however long the migration waits"),
        format!("{} such lines", watched.said),
    )
}
