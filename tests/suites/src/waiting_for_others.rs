//! Suite `waiting-for-others` (exercise 12): a record comes with a price from another service, and whatever happens to that
//! service, this one answers in time, and everything else still works.

use std::pin::{Pin, pin};
use std::time::Duration;

use serde::Serialize;
use tokio::time::timeout;

use crate::row::{RecordRow, paths};
use workshop_harness::contract::{
    Answer, Context, Failure, TestError, TestResult, contract_tests, expect, expect_at_most,
    expect_each, expect_eq, has_status, is_problem,
};
use workshop_harness::silence::{lock_the_records, wait_for_waiting};
use workshop_harness::supplied::{LIMIT, TIMEOUT};
use workshop_harness::upstream::{self, Conduct, Counts, FLOOD, Upstream};

contract_tests! {
    supplied: [
        a_record_comes_with_its_price,
        the_key_and_the_id_are_judged_before_anybody_is_asked,
        an_unknown_id_does_not_wait_for_a_price,
        record_and_price_are_asked_for_at_the_same_time,
        connections_to_the_upstream_are_used_again,
        connections_that_the_upstream_closed_while_idle_cost_no_request,
        no_more_calls_are_under_way_than_allowed,
        a_waiting_call_holds_no_connection_of_the_database,
        a_late_price_answers_504_and_the_call_is_ended,
        the_deadline_covers_the_database_as_well,
        an_upstream_that_is_gone_answers_502_until_it_is_back,
        a_call_is_made_once,
        an_answer_without_a_price_answers_502,
        a_large_answer_is_not_read_to_its_end,
    ],
    steady: [
        without_an_upstream_there_are_no_prices,
    ]
}

/// The maximum time that a test waits for what a service does to its upstream.
const PATIENCE: Duration = Duration::from_secs(5);
/// Requests in a row, and how many connections they may need: one may be closed by either side between two of them.
const IN_A_ROW: usize = 40;
const FEW: usize = 4;

/// The contract's answers if there is no price.
fn is_late(answer: &Answer) -> Result<&Answer, Failure> {
    answer.expect_problem(504, "the price did not come in time")
}

fn is_unusable(answer: &Answer) -> Result<&Answer, Failure> {
    answer.expect_problem(502, "the price service gave no usable answer")
}

#[derive(Serialize)]
struct PricedRecord {
    record: RecordRow,
    cents: i64,
}

/// Expects the record with this id, with the upstream's price.
async fn expect_price(context: &Context, id: i32, answer: &Answer) -> TestResult {
    let record = RecordRow::load(&mut *context.database.lock().await, id).await?;
    let cents = upstream::cents(id);
    answer.expect_json(200, &PricedRecord { record, cents })?;
    Ok(())
}

/// Expects a price.
async fn expect_a_price(context: &Context) -> TestResult {
    expect_price(context, 1, &context.client.get("/price/1").await?).await
}

/// Requests the prices of as many records as there may be calls, from this id on.
async fn ask_for_prices(context: &Context, first: i32) -> Vec<Result<Answer, Failure>> {
    let ids = (first..).take(LIMIT.into());
    let paths: Vec<String> = ids.map(|id| format!("/price/{id}")).collect();
    context.client.get_all(&paths).await
}

/// Waits until the upstream sees this, and fails when it does not.
async fn until(upstream: &Upstream, what: &str, is_so: impl Fn(&Counts) -> bool) -> TestResult {
    let seen = timeout(PATIENCE, upstream.until(is_so)).await;
    let got = || format!("the upstream has counted: {:?}", upstream.counts());
    expect(seen.is_ok(), what, got())
}

/// The same while a client waits for an answer, which it must not get before: then there is nothing more to wait for.
async fn until_while<A>(
    asked: Pin<&mut impl Future<Output = A>>,
    upstream: &Upstream,
    what: &str,
    is_so: impl Fn(&Counts) -> bool,
) -> TestResult {
    tokio::select! {
        biased;
        seen = until(upstream, what, is_so) => seen,
        _answered = asked => {
            let got = format!("an answer before; the upstream has counted: {:?}", upstream.counts());
            expect(false, what, got)
        }
    }
}

/// Waits until the maximum number of calls is under way, for these requests.
async fn until_gathered<A>(
    asked: Pin<&mut impl Future<Output = A>>,
    upstream: &Upstream,
    why: &str,
) -> TestResult {
    let what = format!("{LIMIT} calls under way at the same time, {why}");
    let is_so = |counts: &Counts| counts.under_way == usize::from(LIMIT);
    until_while(asked, upstream, &what, is_so).await
}

async fn a_record_comes_with_its_price(context: &Context, upstream: &Upstream) -> TestResult {
    let before = upstream.counts().calls;
    let asked = [("1", 1), ("+7", 7), ("007", 7), ("9999", 9999)];
    for (text, id) in asked {
        let answer = context.client.get(&format!("/price/{text}")).await?;
        expect_price(context, id, &answer).await?;
    }
    context.client.head("/price/1").await?.expect_status(200)?;
    let calls = upstream.counts().calls - before;
    expect_eq("calls to the upstream, one per request", calls, asked.len() + 1)
}

async fn the_key_and_the_id_are_judged_before_anybody_is_asked(
    context: &Context,
    upstream: &Upstream,
) -> TestResult {
    let before = upstream.counts().calls;
    let client = &context.client;
    let paths = ["/price/1", "/price/abc", "/price/1?api_key=wrong_key"];
    client.without_key().each(paths, has_status(401)).await?;
    let wrong = client.with_key("wrong_key");
    wrong.each(["/price/1"], has_status(401)).await?;
    let no_id = is_problem(400, "id must be a 32-bit integer");
    let texts = ["abc", "2147483648", "1.0", "%2B", "%201", "-"];
    let paths = texts.map(|text| format!("/price/{text}"));
    client.each(paths, no_id).await?;
    crate::expect_no_such_method(&client.post("/price/1").await?)?;
    let calls = upstream.counts().calls - before;
    expect_eq("calls to the upstream without a key and an id", calls, 0)
}

async fn an_unknown_id_does_not_wait_for_a_price(
    context: &Context,
    upstream: &Upstream,
) -> TestResult {
    upstream.conduct(Conduct::Hangs);
    // A service that waits for the call needs all of the time that the call may take.
    let answer = context.client.within(TIMEOUT / 2).get("/price/-5").await?;
    answer.expect_problem(404, "there is no record with id -5")?;
    let given_up = "no call for the price of a record that is not there: it is given up";
    until(upstream, given_up, |counts| counts.under_way == 0).await
}

async fn record_and_price_are_asked_for_at_the_same_time(
    context: &Context,
    upstream: &Upstream,
) -> TestResult {
    let before = upstream.counts().calls;
    let meanwhile = async {
        let database = &mut *context.database.lock().await;
        let lock = lock_the_records(database).await?;
        let mut answer = pin!(context.client.get("/price/1"));
        let called = "a call to the upstream while the database has not answered yet";
        let is_so = |counts: &Counts| counts.calls > before;
        let asked = until_while(answer.as_mut(), upstream, called, is_so).await;
        lock.rollback().await?;
        asked?;
        answer.await.map_err(TestError::from)
    };
    expect_price(context, 1, &meanwhile.await?).await
}

async fn connections_to_the_upstream_are_used_again(
    context: &Context,
    upstream: &Upstream,
) -> TestResult {
    let before = upstream.counts().opened;
    let paths = (1..=IN_A_ROW).map(|id| format!("/price/{id}"));
    context.client.each(paths, has_status(200)).await?;
    let opened = upstream.counts().opened - before;
    let what = format!("new connections to the upstream for {IN_A_ROW} requests in a row");
    expect_at_most(FEW, &what, opened)
}

async fn connections_that_the_upstream_closed_while_idle_cost_no_request(
    context: &Context,
    upstream: &Upstream,
) -> TestResult {
    expect_each(&ask_for_prices(context, 1).await, has_status(200))?;
    upstream.close_idle();
    // A pool may notice it only when it lends them again.
    let all_closed = upstream.until(|counts| counts.open == 0);
    let _ = timeout(Duration::from_secs(1), all_closed).await;
    expect_each(&ask_for_prices(context, 1).await, has_status(200))
}

async fn no_more_calls_are_under_way_than_allowed(
    context: &Context,
    upstream: &Upstream,
) -> TestResult {
    upstream.conduct(Conduct::Hangs);
    upstream.count_anew();
    let mut first = pin!(ask_for_prices(context, 1));
    until_gathered(first.as_mut(), upstream, "as UPSTREAM_LIMIT allows").await?;
    let meanwhile = async {
        let answers = ask_for_prices(context, 101).await;
        upstream.conduct(Conduct::WELL);
        let too_many = is_problem(503, "too many requests wait for prices");
        expect_each(&answers, too_many)
    };
    let (first, too_many) = tokio::join!(first, meanwhile);
    too_many?;
    expect_each(&first, has_status(200))?;
    let most = upstream.counts().most_under_way;
    let what = "calls at a time, as UPSTREAM_LIMIT says";
    expect_at_most(LIMIT.into(), what, most)?;
    // Every permit has come back.
    expect_each(&ask_for_prices(context, 1).await, has_status(200))
}

async fn a_waiting_call_holds_no_connection_of_the_database(
    context: &Context,
    upstream: &Upstream,
) -> TestResult {
    upstream.conduct(Conduct::Hangs);
    let connections = context.settings.pool_size;
    let why = format!(
        "though the database has only {connections} connections: a request that waits for its price holds none"
    );
    let mut prices = pin!(ask_for_prices(context, 1));
    until_gathered(prices.as_mut(), upstream, &why).await?;
    let meanwhile = async {
        let paths = paths((1..=connections).map(i32::from));
        let reads = context.client.within(TIMEOUT).get_all(&paths).await;
        upstream.conduct(Conduct::WELL);
        expect_each(&reads, has_status(200))
    };
    let (prices, reads) = tokio::join!(prices, meanwhile);
    reads?;
    expect_each(&prices, has_status(200))
}

async fn a_late_price_answers_504_and_the_call_is_ended(
    context: &Context,
    upstream: &Upstream,
) -> TestResult {
    for conduct in [Conduct::Hangs, Conduct::Drips] {
        let before = upstream.counts().given_up;
        upstream.conduct(conduct.clone());
        is_late(&context.client.get("/price/1").await?)?;
        let ended = |counts: &Counts| counts.given_up > before && counts.under_way == 0;
        let what = "a call that ends when its time is up: the connection is closed";
        until(upstream, what, ended).await?;
    }
    upstream.conduct(Conduct::WELL);
    expect_a_price(context).await
}

async fn the_deadline_covers_the_database_as_well(
    context: &Context,
    _upstream: &Upstream,
) -> TestResult {
    let database = &mut *context.database.lock().await;
    // The database would end the query at its own limit, which is later.
    let lock = lock_the_records(database).await?;
    let answer = context.client.get("/price/1").await;
    lock.rollback().await?;
    is_late(&answer?)?;
    Ok(())
}

/// Sends a request while every query waits, and lets the database continue once this query waits.
async fn ask_while_the_database_is_slower(
    context: &Context,
    path: &str,
) -> Result<Result<Answer, Failure>, TestError> {
    let database = &mut *context.database.lock().await;
    let mut lock = lock_the_records(database).await?;
    let mut asked = pin!(context.client.get(path));
    let early = tokio::select! {
        biased;
        waiting = wait_for_waiting(&mut lock, 1..) => { waiting?; None }
        answer = asked.as_mut() => Some(answer),
    };
    lock.rollback().await?;
    match early {
        Some(answer) => Ok(answer),
        None => Ok(asked.await),
    }
}

async fn an_upstream_that_is_gone_answers_502_until_it_is_back(
    context: &Context,
    upstream: &Upstream,
) -> TestResult {
    upstream.leave().await;
    let gone = context.client.get("/price/1").await;
    let unknown = ask_while_the_database_is_slower(context, "/price/-5").await?;
    let read = context.client.get("/read/1").await;
    upstream.come_back().await;
    is_unusable(&gone?)?;
    unknown?.expect_problem(404, "there is no record with id -5")?;
    read?.expect_status(200)?;
    expect_a_price(context).await
}

async fn a_call_is_made_once(context: &Context, upstream: &Upstream) -> TestResult {
    let unavailable = Conduct::Says(upstream::answer("503 Service Unavailable", ""));
    for (what, conduct) in [
        ("a connection that ends without an answer", Conduct::HangsUp),
        ("a 503", unavailable),
    ] {
        let before = upstream.counts().calls;
        upstream.conduct(conduct);
        context.client.each(["/price/1"], is_unusable).await?;
        let calls = upstream.counts().calls - before;
        expect_eq(&format!("calls for one request, also after {what}"), calls, 1)?;
    }
    Ok(())
}

async fn an_answer_without_a_price_answers_502(
    context: &Context,
    upstream: &Upstream,
) -> TestResult {
    let ok = |body: &str| upstream::answer("200 OK", body);
    let answers = [
        b"I speak no HTTP\r\n\r\n".to_vec(),
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":1,".to_vec(),
        upstream::answer("500 Internal Server Error", r#"{"id":1,"cents":101}"#),
        upstream::answer("404 Not Found", r#"{"id":1,"cents":101}"#),
        b"HTTP/1.1 302 Found\r\nLocation: /prices/1\r\nContent-Length: 0\r\n\r\n".to_vec(),
        ok(""),
        ok("<html>"),
        ok("[1, 101]"),
        ok(r#"{"id":1}"#),
        ok(r#"{"id":2,"cents":102}"#),
        ok(r#"{"id":1,"cents":"101"}"#),
        ok(r#"{"id":1,"cents":1.01}"#),
        ok(r#"{"id":1,"cents":null}"#),
        ok(r#"{"id":1,"cents":9223372036854775808}"#),
    ];
    for answer in answers {
        let said = String::from_utf8_lossy(&answer).replace("\r\n", " ");
        upstream.conduct(Conduct::Says(answer));
        is_unusable(&context.client.get("/price/1").await?).map_err(|failure| Failure {
            expected: format!("{}, when the upstream says {said:?}", failure.expected),
            ..failure
        })?;
    }
    upstream.conduct(Conduct::WELL);
    expect_a_price(context).await
}

async fn a_large_answer_is_not_read_to_its_end(
    context: &Context,
    upstream: &Upstream,
) -> TestResult {
    let before = upstream.counts().given_up;
    upstream.conduct(Conduct::Floods);
    context.client.each(["/price/1"], is_unusable).await?;
    let given_up =
        format!("an answer of {FLOOD} bytes is not read to its end: the call is given up");
    until(upstream, &given_up, |counts| counts.given_up > before).await
}

async fn without_an_upstream_there_are_no_prices(context: &Context) -> TestResult {
    let answer = context.client.get("/price/1").await?;
    answer.expect_problem(404, "there is nothing at this path")?;
    Ok(())
}
