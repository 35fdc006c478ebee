//! Suite `read-a-record` (exercise 3): one row by its key, through a pool, and every way in which that can fail.

use rand::seq::index::sample;

use crate::row::{RecordRow, paths};
use workshop_harness::contract::{
    Context, TestResult, contract_tests, expect_at_most, expect_each, has_status, is_problem,
};
use workshop_harness::outage::Outage;

contract_tests! {
    steady: [
        a_known_id_answers_its_record,
        every_field_comes_from_its_column,
        a_change_in_the_database_is_seen_at_once,
        an_unknown_id_answers_404_and_names_it,
        an_id_that_is_no_integer_answers_400,
        an_id_beyond_32_bits_answers_400,
        the_limits_of_32_bits_are_valid_ids,
        connections_are_reused_between_requests,
        never_more_connections_than_the_pool_allows,
    ],
    outage: [
        a_lost_database_answers_503_within_the_time_limit,
        reads_work_again_when_the_database_is_back,
    ]
}

/// How many records a test reads to see that all of them are right.
const SAMPLED: usize = 25;
/// How many requests a test sends at the same time.
const AT_ONCE: i32 = 32;

async fn a_known_id_answers_its_record(context: &Context) -> TestResult {
    let row = RecordRow::load(&mut *context.database.lock().await, 3).await?;
    let answer = context.client.get("/read/3").await?;
    answer.expect_json(200, &row)?;
    Ok(())
}

async fn every_field_comes_from_its_column(context: &Context) -> TestResult {
    let sampled = sample(&mut rand::rng(), context.rows as usize, SAMPLED);
    let mut ids: Vec<i32> = sampled.iter().map(|index| index as i32 + 1).collect();
    ids.sort_unstable();
    let answers = context.client.get_all(&paths(ids.iter().copied())).await;
    RecordRow::expect_each(context, &ids, answers).await?;

    let mut database = context.database.lock().await;
    // No row of the data set is like these: each boolean against its neighbours, and text that must be escaped.
    let escaped = "quote \" backslash \\ newline \n tab \t";
    for (id, value, [odd, divisible_by_3, visited]) in [
        (-1, "", [true, false, false]),
        (-2, escaped, [false, true, false]),
        (-3, "Grüße, 世界, 🦀, \u{7f}", [false, false, true]),
    ] {
        let row = RecordRow {
            id,
            value: value.to_owned(),
            odd,
            divisible_by_3,
            visited,
        };
        row.insert(&mut database).await?;
        let answer = context.client.get(&format!("/read/{id}")).await;
        row.delete(&mut database).await?;
        answer?.expect_json(200, &row)?;
    }
    Ok(())
}

async fn a_change_in_the_database_is_seen_at_once(context: &Context) -> TestResult {
    let mut database = context.database.lock().await;
    for visited in [true, false] {
        sqlx::query("UPDATE records SET visited = $1 WHERE id = 7")
            .bind(visited)
            .execute(&mut *database)
            .await?;
        let row = RecordRow::load(&mut database, 7).await?;
        let answer = context.client.get("/read/7").await?;
        answer.expect_json(200, &row)?;
    }
    Ok(())
}

/// Expects that there is no record with this id.
async fn expect_unknown(context: &Context, id: i64) -> TestResult {
    let answer = context.client.get(&format!("/read/{id}")).await?;
    answer.expect_problem(404, &format!("there is no record with id {id}"))?;
    Ok(())
}

/// Expects that these are refused as ids.
async fn expect_unusable(context: &Context, ids: &[&str]) -> TestResult {
    let paths = ids.iter().map(|id| format!("/read/{id}"));
    let no_id = is_problem(400, "id must be a 32-bit integer");
    context.client.each(paths, no_id).await
}

async fn an_unknown_id_answers_404_and_names_it(context: &Context) -> TestResult {
    expect_unknown(context, 0).await?;
    expect_unknown(context, i64::from(context.rows) + 1).await
}

async fn an_id_that_is_no_integer_answers_400(context: &Context) -> TestResult {
    let words_and_other_notations = ["abc", "1x", "0x10", "1e3", "-"];
    expect_unusable(context, &words_and_other_notations).await?;
    // A number with a point, and an attempt at SQL.
    expect_unusable(context, &["1.0", "1%20OR%201=1"]).await
}

async fn an_id_beyond_32_bits_answers_400(context: &Context) -> TestResult {
    expect_unusable(context, &["2147483648", "-2147483649"]).await?;
    expect_unusable(context, &["4294967297", "99999999999999999999"]).await
}

async fn the_limits_of_32_bits_are_valid_ids(context: &Context) -> TestResult {
    expect_unknown(context, i32::MAX.into()).await?;
    expect_unknown(context, i32::MIN.into()).await
}

async fn connections_are_reused_between_requests(context: &Context) -> TestResult {
    let before = context.proxy.opened();
    let reads = context.client.each(paths(1..=SAMPLED as i32), has_status(200));
    reads.await?;
    let opened = context.proxy.opened() - before;
    let what =
        format!("new connections to PostgreSQL for {SAMPLED} reads, one after the other");
    expect_at_most(context.settings.pool_size.into(), &what, opened)
}

async fn never_more_connections_than_the_pool_allows(context: &Context) -> TestResult {
    let answers = context.client.get_all(&paths(1..=AT_ONCE)).await;
    expect_each(&answers, has_status(200))?;
    let most_open = context.proxy.most_open();
    let what = format!("connections (DATABASE_POOL_SIZE) with {AT_ONCE} reads at once");
    expect_at_most(context.settings.pool_size.into(), &what, most_open)
}

fn a_lost_database_answers_503_within_the_time_limit(outage: &Outage) -> TestResult {
    expect_each([&outage.read_during], |answer| {
        let (limit, took) = (crate::PATIENCE.as_secs(), answer.took());
        crate::expect_no_database(answer)?.expect(
            took <= crate::PATIENCE,
            format!("an answer soon after DATABASE_TIMEOUT_MS, at most after {limit} s"),
            format!("the answer came after {:.1} s", took.as_secs_f64()),
        )
    })
}

fn reads_work_again_when_the_database_is_back(outage: &Outage) -> TestResult {
    expect_each([&outage.read_after], has_status(200))
}
