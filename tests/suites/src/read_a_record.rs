//! Suite `read-a-record` (exercise 3): one row by its key, through a pool, and every way in which that can fail.

use futures_util::future::join_all;
use rand::seq::index::sample;

use crate::row::Row;
use workshop_harness::contract::{Context, TestResult};
use workshop_harness::contract_tests;
use workshop_harness::failure::Failure;
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
const AT_ONCE: usize = 32;

async fn a_known_id_answers_its_record(context: &Context) -> TestResult {
    let row = Row::load(&mut *context.database.lock().await, 3).await?;
    context
        .client
        .get("/read/3")
        .await?
        .expect_json(200, &row.json())?;
    Ok(())
}

async fn every_field_comes_from_its_column(context: &Context) -> TestResult {
    let mut database = context.database.lock().await;
    let sampled = sample(&mut rand::rng(), context.rows as usize, SAMPLED);
    let ids: Result<Vec<i32>, _> = sampled
        .iter()
        .map(|index| i32::try_from(index + 1))
        .collect();
    let ids = ids.map_err(anyhow::Error::from)?;
    let rows = Row::load_those(&mut database, &ids).await?;
    let paths: Vec<String> = rows.iter().map(|row| format!("/read/{}", row.id)).collect();
    let answers = join_all(paths.iter().map(|path| context.client.get(path))).await;
    for (row, answer) in rows.iter().zip(answers) {
        answer?.expect_json(200, &row.json())?;
    }
    // No row of the data set is like these: each boolean against its neighbours, and text that must be escaped.
    let unlike_the_rule = [
        (-1, "", true, false, false),
        (
            -2,
            "quote \" backslash \\ newline \n tab \t",
            false,
            true,
            false,
        ),
        (-3, "Grüße, 世界, 🦀, \u{7f}", false, false, true),
    ];
    for (id, value, odd, divisible_by_3, visited) in unlike_the_rule {
        let row = Row {
            id,
            value: value.to_owned(),
            odd,
            divisible_by_3,
            visited,
        };
        row.insert(&mut database).await?;
        let answer = context.client.get(&format!("/read/{id}")).await;
        row.delete(&mut database).await?;
        answer?.expect_json(200, &row.json())?;
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
        let row = Row::load(&mut database, 7).await?;
        context
            .client
            .get("/read/7")
            .await?
            .expect_json(200, &row.json())?;
    }
    Ok(())
}

async fn an_unknown_id_answers_404_and_names_it(context: &Context) -> TestResult {
    for id in [0, i64::from(context.rows) + 1] {
        let answer = context.client.get(&format!("/read/{id}")).await?;
        answer.expect_problem(
            404,
            "Not Found",
            &format!("there is no record with id {id}"),
        )?;
    }
    Ok(())
}

async fn an_id_that_is_no_integer_answers_400(context: &Context) -> TestResult {
    // The last ones: a digit that is no ASCII digit, a number with a point, and an attempt at SQL.
    for id in [
        "abc",
        "1x",
        "0x10",
        "1e3",
        "-",
        "%D9%A3",
        "1.0",
        "1%20OR%201=1",
    ] {
        context
            .client
            .get(&format!("/read/{id}"))
            .await?
            .expect_problem(400, "Bad Request", NO_32_BIT_INTEGER)?;
    }
    Ok(())
}

async fn an_id_beyond_32_bits_answers_400(context: &Context) -> TestResult {
    for id in [
        "2147483648",
        "-2147483649",
        "4294967297",
        "99999999999999999999",
    ] {
        context
            .client
            .get(&format!("/read/{id}"))
            .await?
            .expect_problem(400, "Bad Request", NO_32_BIT_INTEGER)?;
    }
    Ok(())
}

const NO_32_BIT_INTEGER: &str = "id must be a 32-bit integer";

async fn the_limits_of_32_bits_are_valid_ids(context: &Context) -> TestResult {
    for id in [i32::MAX, i32::MIN] {
        let answer = context.client.get(&format!("/read/{id}")).await?;
        answer.expect_problem(
            404,
            "Not Found",
            &format!("there is no record with id {id}"),
        )?;
    }
    Ok(())
}

async fn connections_are_reused_between_requests(context: &Context) -> TestResult {
    let before = context.proxy.opened();
    for id in 1..=SAMPLED {
        context
            .client
            .get(&format!("/read/{id}"))
            .await?
            .expect_status(200)?;
    }
    let opened = context.proxy.opened() - before;
    let pool_size = u64::from(context.settings.pool_size);
    if opened > pool_size {
        let expected = format!(
            "at most {pool_size} new connections to PostgreSQL for {SAMPLED} reads, one after the other"
        );
        return Err(Failure::new(expected, format!("{opened} new connections")).into());
    }
    Ok(())
}

async fn never_more_connections_than_the_pool_allows(context: &Context) -> TestResult {
    let paths: Vec<String> = (1..=AT_ONCE).map(|id| format!("/read/{id}")).collect();
    let answers = join_all(paths.iter().map(|path| context.client.get(path))).await;
    for answer in answers {
        answer?.expect_status(200)?;
    }
    let most_open = context.proxy.most_open();
    let pool_size = usize::from(context.settings.pool_size);
    if most_open > pool_size {
        let expected = format!(
            "at most {pool_size} connections (DATABASE_POOL_SIZE) with {AT_ONCE} reads at once"
        );
        return Err(Failure::new(
            expected,
            format!("{most_open} connections at the same time"),
        )
        .into());
    }
    Ok(())
}

fn a_lost_database_answers_503_within_the_time_limit(outage: &Outage) -> TestResult {
    let answer = outage.read_during.clone()?;
    answer.expect_problem(503, "Service Unavailable", "the database does not answer")?;
    if answer.took() > crate::PATIENCE {
        let expected = format!(
            "an answer soon after DATABASE_TIMEOUT_MS, at most after {} s",
            crate::PATIENCE.as_secs()
        );
        return Err(answer
            .failure(
                expected,
                format!("the answer came after {:.1} s", answer.took().as_secs_f64()),
            )
            .into());
    }
    Ok(())
}

fn reads_work_again_when_the_database_is_back(outage: &Outage) -> TestResult {
    outage.read_after.clone()?.expect_status(200)?;
    Ok(())
}
