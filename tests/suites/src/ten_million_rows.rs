//! Suite `ten-million-rows` (exercise 7): pages by key, and an export of everything that no client can bring to a halt.

use std::time::Duration;

use futures_util::future::join_all;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until};

use crate::row::Row;
use workshop_harness::contract::{Context, TestResult};
use workshop_harness::contract_tests;
use workshop_harness::failure::{Failure, TestError};
use workshop_harness::http::{Answer, Download};

contract_tests! {
    steady: [
        a_page_has_the_records_after_a_key,
        the_first_page_has_100_records,
        all_pages_together_are_the_table,
        the_last_page_has_no_next,
        rows_that_go_between_two_pages_shift_nothing,
        an_unusable_after_answers_400,
        an_unusable_limit_answers_400,
        the_first_of_a_repeated_parameter_counts,
        a_parameter_counts_by_its_whole_name,
        an_export_is_the_table_line_by_line,
        a_head_of_an_export_has_its_headers_only,
        pages_and_exports_need_a_key,
    ],
    large: [
        the_first_line_comes_before_the_last_row_is_read,
        a_client_that_leaves_takes_its_query_with_it,
        stalled_exports_leave_the_other_half_of_the_pool,
    ],
    stalled: [
        only_a_client_that_takes_nothing_is_cut_off,
    ],
    large: [
        a_lost_database_is_told_in_the_last_line,
    ]
}

const EXPORT: &str = "/records/export";
const NO_AFTER: &str = "after must be a 32-bit integer";
const NO_LIMIT: &str = "limit must be a whole number from 1 to 1000";
/// How soon the query of an export ends when its client has gone.
const GONE_WITHIN: Duration = Duration::from_secs(1);
/// Between two looks at something that cannot be awaited.
const POLL: Duration = Duration::from_millis(5);

// Pages.

/// Holds an answer against the page with these rows, byte for byte.
fn expect_page(answer: &Answer, rows: &[Row], next: Option<i32>) -> Result<(), Failure> {
    let records: Vec<Value> = rows.iter().map(Row::json).collect();
    // What is wrong is seldom in the beginning of a body, so it is said in other words.
    let got: Page<Value> = read_page(answer)?;
    let expected = in_words(&records, next);
    let actual = in_words(&got.records, got.next);
    if actual != expected {
        return Err(answer.failure(expected, actual));
    }
    let page = match next {
        Some(next) => json!({ "records": records, "next": next }),
        None => json!({ "records": records }),
    };
    answer.expect_json(200, &page).map(|_| ())
}

/// A page by its ids and its `next`.
fn in_words(records: &[Value], next: Option<i32>) -> String {
    let ids: Vec<String> = records
        .iter()
        .map(|record| record["id"].to_string())
        .collect();
    let records = match ids.as_slice() {
        [] => "no records".to_owned(),
        [only] => format!("the record {only}"),
        [first, .., last] => format!("{} records, from {first} to {last}", ids.len()),
    };
    match next {
        Some(next) => format!("{records}, and next {next}"),
        None => format!("{records}, and no next"),
    }
}

/// The rows after this id, as the database has them.
async fn rows_after(context: &Context, id: i32, limit: usize) -> sqlx::Result<Vec<Row>> {
    Row::load_after(&mut *context.database.lock().await, id, limit).await
}

async fn a_page_has_the_records_after_a_key(context: &Context) -> TestResult {
    let rows = rows_after(context, 7, 3).await?;
    for path in [
        "/records?after=7&limit=3",
        "/records?limit=3&after=7",
        "/records?after=%2B7&limit=003&sort=value",
    ] {
        let answer = context.client.get(path).await?;
        expect_page(&answer, &rows, Some(10))?;
    }
    Ok(())
}

async fn the_first_page_has_100_records(context: &Context) -> TestResult {
    let rows = rows_after(context, 0, 100).await?;
    let answer = context.client.get("/records").await?;
    expect_page(&answer, &rows, Some(100))?;
    Ok(())
}

async fn all_pages_together_are_the_table(context: &Context) -> TestResult {
    let rows = rows_after(context, 0, usize::MAX).await?;
    let mut path = "/records?limit=1000".to_owned();
    let mut records = Vec::new();
    while records.len() <= rows.len() {
        let answer = context.client.get(&path).await?;
        let page: Page<Row> = read_page(&answer)?;
        records.extend(page.records);
        let Some(next) = page.next else { break };
        path = format!("/records?limit=1000&after={next}");
    }
    if records == rows {
        return Ok(());
    }
    Err(Failure::new(
        format!("all {} records once, by id, in pages of 1000", rows.len()),
        format!("{} records, or others, or in another order", records.len()),
    )
    .into())
}

/// A page of records, read as far as a test looks at them.
#[derive(Deserialize)]
struct Page<Record> {
    records: Vec<Record>,
    /// The `after` of the next page.
    next: Option<i32>,
}

fn read_page<Record: DeserializeOwned>(answer: &Answer) -> Result<Page<Record>, Failure> {
    answer.expect_status(200)?;
    serde_json::from_slice(answer.body()).map_err(|error| {
        answer.failure(
            "a page: a list of records, and next if there are more",
            format!("{error}"),
        )
    })
}

async fn the_last_page_has_no_next(context: &Context) -> TestResult {
    let last = i32::try_from(context.rows).map_err(anyhow::Error::from)?;
    let rows = rows_after(context, last - 11, 11).await?;
    let page = async |after: i32| {
        let path = format!("/records?after={after}&limit=10");
        context.client.get(&path).await
    };
    expect_page(&page(last - 10).await?, &rows[1..], None)?;
    expect_page(&page(last).await?, &[], None)?;
    expect_page(&page(last - 11).await?, &rows[..10], Some(last - 1))?;
    Ok(())
}

async fn rows_that_go_between_two_pages_shift_nothing(context: &Context) -> TestResult {
    let rows = rows_after(context, 0, 20).await?;
    let first = context.client.get("/records?limit=10").await?;
    expect_page(&first, &rows[..10], Some(10))?;

    let gone = &rows[1..6];
    let mut database = context.database.lock().await;
    for row in gone {
        row.delete(&mut database).await?;
    }
    let second = context.client.get("/records?limit=10&after=10").await;
    for row in gone {
        row.insert(&mut database).await?;
    }
    expect_page(&second?, &rows[10..20], Some(20))?;
    Ok(())
}

async fn an_unusable_after_answers_400(context: &Context) -> TestResult {
    for after in [
        "abc",
        "",
        "1.0",
        "2147483648",
        "-2147483649",
        "1%20",
        "%D9%A3",
    ] {
        // What is wrong with the limit is said when there is nothing wrong with this.
        for path in [
            format!("/records?after={after}"),
            format!("/records?limit=0&after={after}"),
        ] {
            let answer = context.client.get(&path).await?;
            answer.expect_problem(400, "Bad Request", NO_AFTER)?;
        }
    }
    Ok(())
}

async fn an_unusable_limit_answers_400(context: &Context) -> TestResult {
    for limit in ["0", "1001", "-1", "abc", "", "10.5", "99999999999999999999"] {
        let answer = context
            .client
            .get(&format!("/records?limit={limit}"))
            .await?;
        answer.expect_problem(400, "Bad Request", NO_LIMIT)?;
    }
    Ok(())
}

async fn the_first_of_a_repeated_parameter_counts(context: &Context) -> TestResult {
    let rows = rows_after(context, 3, 2).await?;
    let path = "/records?limit=2&limit=0&after=3&after=x";
    let answer = context.client.get(path).await?;
    expect_page(&answer, &rows, Some(5))?;
    Ok(())
}

async fn a_parameter_counts_by_its_whole_name(context: &Context) -> TestResult {
    let rows = rows_after(context, 3, 2).await?;
    // In a form, each of these is a part of `after` or of `limit`.
    for part in ["[0]", "[]", ".x", ":x"] {
        let path = format!("/records?after{part}=x&after=3&limit{part}=1&limit=2");
        let answer = context.client.get(&path).await?;
        expect_page(&answer, &rows, Some(5))?;
    }
    Ok(())
}

// The export of the table as it is.

async fn an_export_is_the_table_line_by_line(context: &Context) -> TestResult {
    let rows = Row::load_all(&mut *context.database.lock().await).await?;
    let answer = context.client.get(EXPORT).await?;
    answer
        .expect_status(200)?
        .expect_header("Content-Type", "application/x-ndjson")?;
    let mut expected = String::new();
    for row in &rows {
        expected += &serde_json::to_string(row).map_err(anyhow::Error::from)?;
        expected.push('\n');
    }
    if answer.body() == expected.as_bytes() {
        return Ok(());
    }
    Err(first_difference(&answer, &expected).into())
}

/// The failure of an export that is not the table, by its first line that differs.
fn first_difference(answer: &Answer, expected: &str) -> Failure {
    let body = String::from_utf8_lossy(answer.body());
    let mut expected_lines = expected.split_inclusive('\n');
    let mut lines = body.split_inclusive('\n');
    for number in 1.. {
        let (expected, line) = (expected_lines.next(), lines.next());
        if expected != line {
            let (expected, line) = (shown(expected), shown(line));
            return answer.failure(format!("line {number}: {expected}"), line);
        }
        if expected.is_none() {
            break;
        }
    }
    answer.failure("the table in UTF-8", "other bytes")
}

/// A line with its line break visible.
fn shown(line: Option<&str>) -> String {
    match line {
        Some(line) => line.replace('\n', "\\n"),
        None => "nothing, the body ends before it".to_owned(),
    }
}

async fn a_head_of_an_export_has_its_headers_only(context: &Context) -> TestResult {
    let answer = context.client.head(EXPORT).await?;
    answer
        .expect_status(200)?
        .expect_header("Content-Type", "application/x-ndjson")?;
    Ok(())
}

async fn pages_and_exports_need_a_key(context: &Context) -> TestResult {
    for path in ["/records", "/records?after=abc&limit=0", EXPORT] {
        let answer = context.client.without_key().get(path).await?;
        answer.expect_status(401)?;
    }
    Ok(())
}

// The export of more than fits on the way.

/// The bytes of all values: less than the whole export has, on either side of the service.
async fn size_of_the_table(context: &Context) -> Result<u64, TestError> {
    let size: i64 = sqlx::query_scalar("SELECT sum(octet_length(value)) FROM records")
        .fetch_one(&mut *context.database.lock().await)
        .await?;
    Ok(u64::try_from(size).map_err(anyhow::Error::from)?)
}

/// Begins an export and reads its first line, which is the first record. From now on it is a client that takes nothing.
async fn begin(context: &Context) -> Result<Download, Failure> {
    let mut export = context.client.download(EXPORT).await?;
    export.expect_status(200).await?;
    let line = export.line().await?;
    if line.starts_with(b"{\"id\":1,") {
        return Ok(export);
    }
    Err(export.failure("the record 1 first", String::from_utf8_lossy(&line)))
}

/// Waits until the service runs no query, and fails when that takes too long.
async fn expect_no_query(context: &Context, limit: Duration, why: &str) -> TestResult {
    let deadline = Instant::now() + limit;
    loop {
        let running: Option<String> = sqlx::query_scalar(
            "SELECT query FROM pg_stat_activity \
             WHERE datname = current_database() AND backend_type = 'client backend' \
             AND pid <> pg_backend_pid() AND state <> 'idle' LIMIT 1",
        )
        .fetch_optional(&mut *context.database.lock().await)
        .await?;
        let Some(query) = running else {
            return Ok(());
        };
        if Instant::now() > deadline {
            return Err(Failure::new(
                format!(
                    "no query in pg_stat_activity {} s after {why}",
                    limit.as_secs_f64()
                ),
                format!("this one: {query}"),
            )
            .into());
        }
        sleep(POLL).await;
    }
}

/// Fails when more than three quarters of the table have come from the database for an export, though its client has taken a
/// line. Batches under way and the sockets of a system with large buffers hold up to half of it; who reads ahead has it all.
fn expect_a_rest_unread(read: u64, size: u64) -> Result<(), Failure> {
    const MIB: u64 = 1024 * 1024;
    if read <= size / 4 * 3 {
        return Ok(());
    }
    Err(Failure::new(
        format!(
            "the rest of {} MiB left in the database until the client reads on",
            size / MIB
        ),
        format!("{} MiB read from the database for one line", read / MIB),
    ))
}

async fn the_first_line_comes_before_the_last_row_is_read(context: &Context) -> TestResult {
    let size = size_of_the_table(context).await?;
    let before = context.proxy.received();
    let export = begin(context).await;
    let read = context.proxy.received() - before;
    drop(export?);
    expect_a_rest_unread(read, size)?;
    Ok(())
}

async fn a_client_that_leaves_takes_its_query_with_it(context: &Context) -> TestResult {
    let size = size_of_the_table(context).await?;
    // More of them than there are connections: none of these is lost with its client.
    for _ in 0..=context.settings.pool_size {
        expect_no_query(context, GONE_WITHIN, "a client has gone").await?;
        let before = context.proxy.received();
        drop(begin(context).await?);
        expect_no_query(context, GONE_WITHIN, "a client has gone").await?;
        expect_a_rest_unread(context.proxy.received() - before, size)?;
    }
    Ok(())
}

async fn stalled_exports_leave_the_other_half_of_the_pool(context: &Context) -> TestResult {
    let size = size_of_the_table(context).await?;
    let before = context.proxy.received();
    let half = context.settings.pool_size / 2;
    let stalled = join_all((0..half).map(|_| begin(context))).await;
    let stalled: Vec<Download> = stalled.into_iter().collect::<Result<_, _>>()?;

    let reads = async {
        for id in 1..=8 {
            let answer = context.client.get(&format!("/read/{id}")).await?;
            answer.expect_status(200)?;
        }
        Ok::<(), Failure>(())
    };
    let (one_more, head, reads) = tokio::join!(
        context.client.get(EXPORT),
        context.client.head(EXPORT),
        reads
    );
    let read = context.proxy.received() - before;
    drop(stalled);

    // A HEAD reads no rows, so it waits for no export to end.
    head?.expect_status(200)?;
    reads?;
    one_more?.expect_problem(503, "Service Unavailable", "too many exports are running")?;
    expect_a_rest_unread(read / u64::from(half), size)?;
    expect_no_query(context, GONE_WITHIN, "the clients have gone").await
}

async fn only_a_client_that_takes_nothing_is_cut_off(context: &Context) -> TestResult {
    let size = size_of_the_table(context).await?;
    let (stalled, slow) = tokio::join!(begin(context), begin(context));
    let (stalled, slow) = (stalled?, slow?);
    let cut_off = Instant::now() + context.settings.export_timeout + GONE_WITHIN;
    // Longer than a query may take, and not as long as an export waits.
    sleep(context.settings.timeout * 5 / 4).await;
    let slow = slow.rest().await?;
    if (slow.bytes as u64) < size || !slow.last_line.ends_with(b"}\n") {
        return Err(stalled
            .failure(
                "the whole table for a client that pauses",
                format!("an export that ends in {}", beginning(&slow.last_line)),
            )
            .into());
    }

    // The end of its query would be no sign: Docker's own proxy holds megabytes between the service and the database. Nothing else
    // is to be seen from here.
    sleep_until(cut_off).await;
    expect_no_query(context, GONE_WITHIN, "a stalled export was to end").await?;
    expect_last_line(
        stalled,
        408,
        "Request Timeout",
        "the client did not take the export in time",
    )
    .await
}

async fn a_lost_database_is_told_in_the_last_line(context: &Context) -> TestResult {
    let export = begin(context).await?;
    context.proxy.cut().await;
    let told = expect_last_line(
        export,
        503,
        "Service Unavailable",
        "the database does not answer",
    )
    .await;
    let (page, export) = tokio::join!(context.client.get("/records"), context.client.get(EXPORT));
    context.proxy.restore().await;
    told?;
    for answer in [page, export] {
        answer?.expect_problem(503, "Service Unavailable", "the database does not answer")?;
    }
    Ok(())
}

/// Reads an export to its end, which has to be this problem.
async fn expect_last_line(export: Download, status: u16, title: &str, detail: &str) -> TestResult {
    let problem = json!({
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
    });
    let expected = format!("{problem}\n");
    let curl = export.failure("", "").request.unwrap_or_default();
    let last_line = export.rest().await?.last_line;
    if last_line == expected.as_bytes() {
        return Ok(());
    }
    Err(Failure::new(
        format!("an export that ends in the line {problem}"),
        format!("it ends in {}", beginning(&last_line)),
    )
    .of(curl)
    .into())
}

/// The beginning of a line, which may be long.
fn beginning(line: &[u8]) -> String {
    String::from_utf8_lossy(line).chars().take(120).collect()
}
