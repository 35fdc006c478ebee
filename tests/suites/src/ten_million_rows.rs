//! Suite `ten-million-rows` (exercise 7): pages by key, and an export of everything that no client can block.

use std::time::Duration;

use futures_util::future::try_join_all;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};

use crate::row::{RecordRow, paths};
use workshop_base::wait;
use workshop_harness::contract::{
    Answer, Context, Failure, TestError, TestResult, contract_tests, expect, expect_each,
    expect_none, has_status, is_problem,
};
use workshop_harness::http::{Download, problem};

contract_tests! {
    steady: [
        a_page_has_the_records_after_a_key,
        the_first_page_has_100_records,
        all_pages_together_are_the_table,
        an_unusable_after_answers_400,
        an_unusable_limit_answers_400,
        the_first_of_a_repeated_parameter_counts,
        the_last_page_has_no_next,
        rows_that_go_between_two_pages_shift_nothing,
        an_export_is_the_table_line_by_line,
        an_export_goes_on_after_an_id,
        an_unusable_after_of_an_export_answers_400,
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
    hurried: [
        a_client_that_takes_a_little_all_the_time_is_cut_off_at_the_deadline,
    ],
    large: [
        a_lost_database_is_told_in_the_last_line,
    ]
}

const EXPORT: &str = "/records/export";
/// Values of a parameter that are not 32-bit integers.
const UNUSABLE_IDS: [&str; 6] = ["abc", "", "1.0", "2147483648", "-2147483649", "1%20"];
/// How soon the query of an export ends when its client has gone.
const GONE_WITHIN: Duration = Duration::from_secs(3);
/// The pause of a client that reads slowly but steadily.
const A_PAUSE: Duration = Duration::from_millis(100);
/// The time after its limit at which a stalled export is checked.
const CUT_OFF_AFTER: Duration = Duration::from_secs(1);

// Pages.

/// Reads a page of records.
#[derive(Serialize, Deserialize)]
struct RecordsPage {
    records: Vec<RecordRow>,
    /// The `after` of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<i32>,
}

impl RecordsPage {
    /// The page in an answer.
    fn of(answer: &Answer) -> Result<RecordsPage, Failure> {
        answer.expect_status(200)?;
        serde_json::from_slice(answer.body()).map_err(|error| {
            let expected = "a page: a list of records, and next if there are more";
            answer.failure(expected, error.to_string())
        })
    }

    /// The page by its ids and its `next`.
    fn in_words(&self) -> String {
        let records = match self.records.as_slice() {
            [] => "no records".to_owned(),
            [only] => format!("the record {}", only.id),
            [first, .., last] => {
                let count = self.records.len();
                format!("{count} records, from {} to {}", first.id, last.id)
            }
        };
        match self.next {
            Some(next) => format!("{records}, and next {next}"),
            None => format!("{records}, and no next"),
        }
    }
}

/// Compares an answer with the page of these rows, byte for byte.
fn expect_page(answer: &Answer, rows: &[RecordRow], next: Option<i32>) -> TestResult {
    let records = rows.to_vec();
    let expected = RecordsPage { records, next };
    // A difference is seldom at the beginning of a body, so the failure describes the page instead.
    let (in_words, got) = (expected.in_words(), RecordsPage::of(answer)?.in_words());
    answer
        .expect(got == in_words, &in_words, &got)?
        .expect_json(200, &expected)?;
    Ok(())
}

/// The rows after this id, as the database has them.
async fn rows_after(context: &Context, id: i32, limit: usize) -> sqlx::Result<Vec<RecordRow>> {
    RecordRow::load_after(&mut *context.database.lock().await, id, limit).await
}

/// Asks for a page, and compares it with these rows.
async fn expect_page_at(
    context: &Context,
    path: &str,
    rows: &[RecordRow],
    next: Option<i32>,
) -> TestResult {
    expect_page(&context.client.get(path).await?, rows, next)
}

async fn a_page_has_the_records_after_a_key(context: &Context) -> TestResult {
    let rows = rows_after(context, 7, 3).await?;
    for path in [
        "/records?after=7&limit=3",
        "/records?limit=3&after=7",
        "/records?after=%2B7&limit=003&sort=value",
    ] {
        expect_page_at(context, path, &rows, Some(10)).await?;
    }
    Ok(())
}

async fn the_first_page_has_100_records(context: &Context) -> TestResult {
    let rows = rows_after(context, 0, 100).await?;
    expect_page_at(context, "/records", &rows, Some(100)).await
}

async fn all_pages_together_are_the_table(context: &Context) -> TestResult {
    let rows = rows_after(context, 0, usize::MAX).await?;
    let mut path = "/records?limit=1000".to_owned();
    let mut records = Vec::new();
    while records.len() <= rows.len() {
        let answer = context.client.get(&path).await?;
        let page = RecordsPage::of(&answer)?;
        records.extend(page.records);
        let Some(next) = page.next else { break };
        path = format!("/records?limit=1000&after={next}");
    }
    expect(
        records == rows,
        format!("all {} records once, by id, in pages of 1000", rows.len()),
        format!("{} records, or others, or in another order", records.len()),
    )
}

async fn the_last_page_has_no_next(context: &Context) -> TestResult {
    let last = i32::try_from(context.rows).map_err(anyhow::Error::from)?;
    let rows = rows_after(context, last - 11, 11).await?;
    for (after, rows, next) in [
        (last - 10, &rows[1..], None),
        (last, &[], None),
        (last - 11, &rows[..10], Some(last - 1)),
    ] {
        let path = format!("/records?after={after}&limit=10");
        expect_page_at(context, &path, rows, next).await?;
    }
    Ok(())
}

async fn rows_that_go_between_two_pages_shift_nothing(context: &Context) -> TestResult {
    let rows = rows_after(context, 0, 24).await?;
    expect_page_at(context, "/records?limit=10", &rows[..10], Some(10)).await?;

    // Some before the second page, and some on it: its last id is more than ten ids after the first page's.
    let gone = rows[1..6].iter().chain(&rows[12..14]);
    let mut database = context.database.lock().await;
    for row in gone.clone() {
        row.delete(&mut database).await?;
    }
    let second = context.client.get("/records?limit=10&after=10").await;
    for row in gone {
        row.insert(&mut database).await?;
    }
    let left = [&rows[10..12], &rows[14..22]].concat();
    expect_page(&second?, &left, Some(22))
}

async fn an_unusable_after_answers_400(context: &Context) -> TestResult {
    // The limit is only named if `after` is valid.
    for first in ["", "limit=0&"] {
        let paths = UNUSABLE_IDS.map(|after| format!("/records?{first}after={after}"));
        let no_after = is_problem(400, "after must be a 32-bit integer");
        context.client.each(paths, no_after).await?;
    }
    Ok(())
}

async fn an_unusable_limit_answers_400(context: &Context) -> TestResult {
    let unusable = ["0", "1001", "-1", "abc", "", "10.5", "99999999999999999999"];
    let paths = unusable.map(|limit| format!("/records?limit={limit}"));
    let no_limit = is_problem(400, "limit must be a whole number from 1 to 1000");
    context.client.each(paths, no_limit).await
}

async fn the_first_of_a_repeated_parameter_counts(context: &Context) -> TestResult {
    let rows = rows_after(context, 3, 2).await?;
    let path = "/records?limit=2&limit=0&after=3&after=x";
    expect_page_at(context, path, &rows, Some(5)).await
}

// The export of the table as it is.

fn expect_an_export(answer: &Answer) -> Result<&Answer, Failure> {
    answer
        .expect_status(200)?
        .expect_header("Content-Type", "application/x-ndjson")
}

async fn an_export_is_the_table_line_by_line(context: &Context) -> TestResult {
    let rows = rows_after(context, i32::MIN, usize::MAX).await?;
    expect_export_at(context, EXPORT, &rows).await
}

/// Asks for an export, and compares it with these rows.
async fn expect_export_at(context: &Context, path: &str, rows: &[RecordRow]) -> TestResult {
    let answer = context.client.get(path).await?;
    expect_an_export(&answer)?;
    let lines = rows.iter().map(|row| format!("{}\n", json!(row)));
    let expected: String = lines.collect();
    if answer.body() == expected.as_bytes() {
        return Ok(());
    }
    Err(first_difference(&answer, &expected).into())
}

async fn an_export_goes_on_after_an_id(context: &Context) -> TestResult {
    let last = i32::try_from(context.rows).map_err(anyhow::Error::from)?;
    for (parameters, after) in [
        (format!("after={}", last - 3), last - 3),
        (format!("after=%2B{}&after=1", last - 5), last - 5),
        (format!("after={last}"), last),
        ("after=2147483647".to_owned(), i32::MAX),
    ] {
        let rows = rows_after(context, after, usize::MAX).await?;
        expect_export_at(context, &format!("{EXPORT}?{parameters}"), &rows).await?;
    }
    let rows = rows_after(context, i32::MIN, usize::MAX).await?;
    expect_export_at(context, &format!("{EXPORT}?after=-2147483648"), &rows).await
}

async fn an_unusable_after_of_an_export_answers_400(context: &Context) -> TestResult {
    let paths = UNUSABLE_IDS.map(|after| format!("{EXPORT}?after={after}"));
    let no_after = is_problem(400, "after must be a 32-bit integer");
    context.client.each(paths, no_after).await
}

/// The failure of an export that differs from the table, with the first line that differs.
fn first_difference(answer: &Answer, expected: &str) -> Failure {
    let body = answer.text();
    let (mut lines, mut got) = (expected.split_inclusive('\n'), body.split_inclusive('\n'));
    for number in 1.. {
        match (lines.next(), got.next()) {
            (None, None) => break,
            (line, came) if line == came => {}
            (line, came) => {
                return answer.failure(format!("line {number}: {}", shown(line)), shown(came));
            }
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
    expect_an_export(&context.client.head(EXPORT).await?)?;
    Ok(())
}

async fn pages_and_exports_need_a_key(context: &Context) -> TestResult {
    let keyless = context.client.without_key();
    let paths = ["/records", "/records?after=abc&limit=0", EXPORT];
    keyless.each(paths, has_status(401)).await
}

// The export of more than the buffers on the way hold.

/// The bytes of all values: less than the whole export has, on either side of the service.
async fn size_of_the_table(context: &Context) -> Result<u64, TestError> {
    let size: i64 = sqlx::query_scalar("SELECT sum(octet_length(value)) FROM records")
        .fetch_one(&mut *context.database.lock().await)
        .await?;
    Ok(u64::try_from(size).map_err(anyhow::Error::from)?)
}

/// Begins an export and reads its first line, which is the first record. Then the client reads nothing more.
async fn begin(context: &Context) -> Result<Download, Failure> {
    let mut export = context.client.download(EXPORT).await?;
    export.expect_status(200).await?;
    let line = export.line().await?;
    if line.starts_with(b"{\"id\":1,") {
        return Ok(export);
    }
    Err(export.failure("the record 1 first", String::from_utf8_lossy(&line)))
}

/// A query that the service runs, or a transaction that it has left open.
async fn running_query(context: &Context) -> sqlx::Result<Option<String>> {
    let running = sqlx::query_scalar(
        "SELECT query FROM pg_stat_activity
         WHERE datname = current_database() AND backend_type = 'client backend'
         AND pid <> pg_backend_pid() AND state <> 'idle' LIMIT 1",
    );
    let database = &mut *context.database.lock().await;
    running.fetch_optional(database).await
}

/// Waits until the service runs no query, and fails when that takes too long.
async fn expect_no_query(context: &Context, why: &str) -> TestResult {
    let look = async || running_query(context).await;
    let ended = |left: &sqlx::Result<Option<String>>| !matches!(left, Ok(Some(_)));
    let left = wait::last_within(GONE_WITHIN, look, ended).await?;
    let seconds = GONE_WITHIN.as_secs_f64();
    let expected = format!("no query in pg_stat_activity {seconds} s after {why}");
    expect_none(expected, left.map(|query| format!("this one: {query}")))
}

/// Fails when more than three quarters of the table have come from the database for an export, though its client has taken a
/// line. Batches under way and the sockets of a system with large buffers hold up to half of it; a service that reads ahead has all of it.
fn expect_a_rest_unread(read: u64, size: u64) -> TestResult {
    const MIB: u64 = 1024 * 1024;
    let rest = size / MIB;
    expect(
        read <= size / 4 * 3,
        format!("the rest of {rest} MiB left in the database until the client reads on"),
        format!("{} MiB read from the database for one line", read / MIB),
    )
}

async fn the_first_line_comes_before_the_last_row_is_read(context: &Context) -> TestResult {
    let size = size_of_the_table(context).await?;
    let before = context.proxy.received();
    let export = begin(context).await;
    let read = context.proxy.received() - before;
    drop(export?);
    expect_a_rest_unread(read, size)
}

async fn a_client_that_leaves_takes_its_query_with_it(context: &Context) -> TestResult {
    let size = size_of_the_table(context).await?;
    // More of them than there are connections: none of these is lost with its client.
    for _ in 0..=context.settings.pool_size {
        expect_no_query(context, "a client has gone").await?;
        let before = context.proxy.received();
        drop(begin(context).await?);
        expect_no_query(context, "a client has gone").await?;
        expect_a_rest_unread(context.proxy.received() - before, size)?;
    }
    Ok(())
}

async fn stalled_exports_leave_the_other_half_of_the_pool(context: &Context) -> TestResult {
    let size = size_of_the_table(context).await?;
    let before = context.proxy.received();
    let half = context.settings.pool_size / 2;
    let stalled = try_join_all((0..half).map(|_| begin(context))).await?;

    // As many as the other half has connections: on a busy machine opening them takes long enough.
    let paths = paths((1..=half).map(i32::from));
    let reads = context.client.each(paths, has_status(200));
    let (one_more, reads) = tokio::join!(context.client.get(EXPORT), reads);
    let read = context.proxy.received() - before;
    drop(stalled);

    reads?;
    one_more?.expect_problem(503, "too many exports are running")?;
    expect_a_rest_unread(read / u64::from(half), size)?;
    expect_no_query(context, "the clients have gone").await
}

async fn only_a_client_that_takes_nothing_is_cut_off(context: &Context) -> TestResult {
    let size = size_of_the_table(context).await?;
    let (stalled, slow) = tokio::join!(begin(context), begin(context));
    let (stalled, slow) = (stalled?, slow?);
    let cut_off = Instant::now() + context.settings.export_timeout + CUT_OFF_AFTER;
    // Longer than a query may take, and not as long as an export waits.
    sleep(context.settings.timeout * 5 / 4).await;
    let slow = slow.rest().await?;
    if (slow.bytes as u64) < size || !slow.last_line.ends_with(b"}\n") {
        let got = format!("an export that ends in {}", beginning(&slow.last_line));
        return Err(stalled
            .failure("the whole table for a client that pauses", got)
            .into());
    }

    // The end of its query would prove nothing: the data between the service and the database may be all that was left of
    // it. Nothing else is visible from here.
    sleep_until(cut_off).await;
    expect_no_query(context, "a stalled export was to end").await?;
    expect_last_line(stalled, 408, "the client did not take the export in time").await
}

async fn a_client_that_takes_a_little_all_the_time_is_cut_off_at_the_deadline(
    context: &Context,
) -> TestResult {
    let begin_after = i32::try_from(context.rows).map_err(anyhow::Error::from)?;
    let mut export = SlowExport::begin(context, begin_after).await?;
    let limit = context.settings.export_deadline + GONE_WITHIN;
    // Never so slow that it would be cut off for reading nothing.
    let gone_by = Instant::now() + limit;
    let mut running = running_query(context).await?;
    while running.is_some() && Instant::now() < gone_by {
        export.take_some().await?;
        sleep(A_PAUSE).await;
        running = running_query(context).await?;
    }
    let expected = format!(
        "no query in pg_stat_activity {} s after an export with EXPORT_DEADLINE_MS={} began",
        limit.as_secs_f64(),
        context.settings.export_deadline.as_millis()
    );
    expect_none(expected, running.map(|query| format!("this one: {query}")))?;

    while !export.has_ended {
        export.take_some().await?;
    }
    let mut rest = SlowExport::begin(context, export.last).await?;
    rest.take_some().await?;
    expect(
        rest.last > export.last,
        format!("the records after {}", export.last),
        "none",
    )
}

/// An export that is read little by little.
struct SlowExport {
    download: Download,
    /// The id of the last record that was taken.
    last: i32,
    /// Whether the line was taken that says that it was cut off. It may come before the database's list says that the query is gone.
    has_ended: bool,
}

impl SlowExport {
    async fn begin(context: &Context, after: i32) -> Result<SlowExport, Failure> {
        let mut download = context.client.download(&format!("{EXPORT}?after={after}")).await?;
        download.expect_status(200).await?;
        Ok(SlowExport {
            download,
            last: after,
            has_ended: false,
        })
    }

    /// Reads a little. Each record has to follow the one before without a gap; otherwise, the last line has to.
    async fn take_some(&mut self) -> Result<(), Failure> {
        const LITTLE: usize = 128 * 1024;
        let told = problem(408, "the client did not take the export in time");
        let mut taken = 0;
        while taken < LITTLE && !self.has_ended {
            let line = self.download.line().await?;
            taken += line.len();
            match id_of(&line) {
                Some(id) if id == self.last + 1 => self.last = id,
                None if line == format!("{told}\n").as_bytes() => self.has_ended = true,
                _ => {
                    let expected = format!("the record {} or the line {told}", self.last + 1);
                    return Err(self.download.failure(expected, beginning(&line)));
                }
            }
        }
        Ok(())
    }
}

/// The id of a line that is a record.
fn id_of(line: &[u8]) -> Option<i32> {
    let record: RecordRow = serde_json::from_slice(line).ok()?;
    Some(record.id)
}

async fn a_lost_database_is_told_in_the_last_line(context: &Context) -> TestResult {
    let export = begin(context).await?;
    context.proxy.cut().await;
    let told = expect_last_line(export, 503, "the database does not answer").await;
    let answers = context.client.get_all(&["/records", EXPORT]).await;
    context.proxy.restore().await;
    told?;
    expect_each(&answers, crate::expect_no_database)
}

/// Reads an export to its end, which has to be this problem.
async fn expect_last_line(export: Download, status: u16, detail: &str) -> TestResult {
    let problem = problem(status, detail);
    let expected = format!("an export that ends in the line {problem}");
    let failure = export.failure(expected, "");
    let last_line = export.rest().await?.last_line;
    if last_line == format!("{problem}\n").as_bytes() {
        return Ok(());
    }
    let actual = format!("it ends in {}", beginning(&last_line));
    Err(Failure { actual, ..failure }.into())
}

/// The beginning of a line, which may be long.
fn beginning(line: &[u8]) -> String {
    String::from_utf8_lossy(line).chars().take(120).collect()
}
