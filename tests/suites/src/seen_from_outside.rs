//! Suite `seen-from-outside` (exercise 15): a trace leads through the service to the supplier, metrics describe all requests, and a
//! collector that is slow, rude or away costs no client its answer.

use std::collections::BTreeSet;
use std::pin::pin;
use std::time::Duration;

use tokio::time::timeout;

use crate::row::{RecordRow, paths};
use crate::ship_it::expect_an_end;
use workshop_harness::collector::{Collector, Manners, Received};
use workshop_harness::contract::{
    Answer, Client, Context, Failure, TestError, TestResult, contract_tests, expect, expect_at_most,
    expect_each, expect_eq, expect_none, has_status,
};
use workshop_harness::http::Body;
use workshop_harness::otlp::{Kind, Series, Span, Status, Value};
use workshop_harness::seen::CALLS;
use workshop_harness::seen_last::{Last, READS};
use workshop_harness::service::TelemetrySettings;
use workshop_harness::silence::{lock_the_records, wait_for_waiting};
use workshop_harness::upstream::{self, Conduct, Upstream};

contract_tests! {
    seen: [
        a_request_leaves_a_trace,
        an_incoming_trace_goes_on,
        an_unusable_traceparent_starts_anew,
        a_trace_that_the_caller_left_out_is_left_out,
        spans_have_the_conventional_names,
        requests_at_the_same_time_keep_their_spans,
        an_export_belongs_to_its_request,
        a_log_line_has_its_trace_id,
        no_secret_leaves_the_service,
        a_thousand_ids_make_as_many_series_as_ten,
        pushed_and_pulled_metrics_agree,
        what_is_under_way_is_counted_and_returns_to_nothing,
        no_request_waits_for_the_collector,
        what_waits_for_the_collector_is_bounded,
        what_was_lost_is_counted,
        a_dead_collector_fills_no_log,
    ],
    seen_quietly: [
        a_share_of_new_traces_is_kept,
        the_callers_decision_counts_more_than_the_share,
        spans_do_not_depend_on_the_log_level,
    ],
    seen_last: [
        the_last_spans_arrive_before_the_end,
        no_span_of_a_read_is_missing,
        a_collector_that_hangs_does_not_hold_up_the_end,
    ]
}

/// The maximum time that a test waits for something to arrive.
const PATIENCE: Duration = Duration::from_secs(4);
/// The maximum time that a request may take while the collector takes nothing: an export takes half of it, and a request has several spans.
const AT_ONCE: Duration = Duration::from_secs(1);
/// Requests that make far more spans than the queue holds.
const MANY: u16 = 500;
/// The spans of one read: of the request, of the wait for a connection, of the query.
const SPANS_OF_A_READ: usize = 3;

/// The caller, with whom a trace begins.
struct Caller {
    trace: String,
    span: String,
}

impl Caller {
    fn new() -> Caller {
        Caller {
            trace: format!("{:032x}", rand::random::<u128>().max(1)),
            span: format!("{:016x}", rand::random::<u64>().max(1)),
        }
    }

    fn header(&self, flags: &str) -> String {
        format!("00-{}-{}-{flags}", self.trace, self.span)
    }

    /// Sends this request as a part of the trace.
    async fn get(&self, context: &Context, path: &str) -> Result<Answer, Failure> {
        let client = context.client.with("traceparent", Some(&self.header("01")));
        client.get(path).await
    }
}

/// Waits until the collector has received this, and fails with what it has instead.
async fn until<T>(
    collector: &Collector,
    what: &str,
    find: impl Fn(&Received) -> Option<T>,
) -> Result<T, TestError> {
    collector.until(PATIENCE, |received| find(received).is_some()).await;
    collector.seen(|received| {
        find(received).ok_or_else(|| {
            let got = received.unusable.clone().map_or_else(
                || names(received.spans.iter().rev().take(12).rev()),
                |unusable| format!("{unusable}, which is no OTLP"),
            );
            Failure::new(format!("{what}, within {PATIENCE:?}"), got).into()
        })
    })
}

fn names<'a>(spans: impl IntoIterator<Item = &'a Span>) -> String {
    let spans = spans.into_iter();
    let names: Vec<String> = spans
        .map(|span| format!("{:?} {:?}", span.kind, span.name))
        .collect();
    match names.is_empty() {
        true => "no spans".to_owned(),
        false => format!("the spans {}", names.join(", ")),
    }
}

/// The spans of one request to the service.
#[derive(Clone)]
struct Request {
    server: Span,
    below: Vec<Span>,
}

impl Request {
    fn in_these(received: &Received, trace: &str) -> Option<Request> {
        let mut below: Vec<Span> = received.of_trace(trace).into_iter().cloned().collect();
        let server = below.iter().position(|span| span.kind == Kind::Server)?;
        let server = below.remove(server);
        Some(Request { server, below })
    }

    /// Waits for the request of this trace, and for as many spans below it.
    async fn of(collector: &Collector, trace: &str, below: usize) -> Result<Request, TestError> {
        let what = format!("a server's span and {below} more of trace {trace}");
        until(collector, &what, |received| {
            Request::in_these(received, trace).filter(|request| request.below.len() >= below)
        })
        .await
    }

    /// The only span below the request that meets the condition.
    fn one(&self, what: &str, is_so: impl Fn(&Span) -> bool) -> Result<&Span, Failure> {
        let mut found = self.below.iter().filter(|span| is_so(span));
        match (found.next(), found.next()) {
            (Some(span), None) => Ok(span),
            _ => Err(Failure::new(
                format!("one span of {what}"),
                names(&self.below),
            )),
        }
    }

    fn wait(&self) -> Result<&Span, Failure> {
        self.one("the wait for a connection", |span| span.name == "pool.acquire")
    }

    fn query(&self) -> Result<&Span, Failure> {
        self.one("the query", |span| span.attributes.contains_key("db.system.name"))
    }

    fn call(&self) -> Result<&Span, Failure> {
        let is_call = |span: &Span| span.kind == Kind::Client && span.name.starts_with("GET");
        self.one("the call of the supplier", is_call)
    }

    /// Expects that each span below is a child of the request's, and lies within it.
    fn expect_children(&self) -> TestResult {
        for span in &self.below {
            let what = format!("the parent of {:?}, which is the request's span", span.name);
            expect_eq(&what, &span.parent, &self.server.id)?;
            let within = self.server.start <= span.start && span.end <= self.server.end;
            let what = format!("{:?} begins and ends within its request", span.name);
            expect(within, what, "it begins before it, or ends after it")?;
        }
        Ok(())
    }
}

/// The value of an attribute.
fn expect_attribute(span: &Span, name: &str, expected: impl Into<Value>) -> TestResult {
    let expected = expected.into();
    let got = span.attributes.get(name);
    let shown = got.map_or("no such attribute".to_owned(), Value::to_string);
    let what = format!("{name} = {expected} in the span {:?}", span.name);
    expect(got == Some(&expected), what, shown)
}

fn expect_no_attribute(span: &Span, name: &str) -> TestResult {
    let got = span.attributes.get(name).map(Value::to_string);
    expect_none(format!("no {name} in the span {:?}", span.name), got)
}

/// A header of the last call that the supplier has got.
fn of_the_last_call(upstream: &Upstream, header: &str) -> String {
    let heads = upstream.heads();
    header_of(heads.last().map_or("", String::as_str), header)
}

fn header_of(head: &str, header: &str) -> String {
    let value = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case(header).then(|| value.trim())
    });
    value.unwrap_or("none").to_owned()
}

async fn a_request_leaves_a_trace(
    context: &Context,
    _upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    let path = "/price/21";
    context.client.get(path).await?.expect_status(200)?;
    let what = format!("a span of a server, with url.path {path}");
    let trace = until(collector, &what, |received| {
        let path = Value::from(path);
        let is_it = |span: &&Span| {
            span.kind == Kind::Server && span.attributes.get("url.path") == Some(&path)
        };
        received.spans.iter().find(is_it).map(|span| span.trace.clone())
    });
    let request = Request::of(collector, &trace.await?, 3).await?;
    expect_eq("the parent of a trace's first span", &request.server.parent, "")?;
    expect_eq("spans below it", request.below.len(), 3)?;
    expect_eq("the kind of the wait", request.wait()?.kind, Kind::Internal)?;
    expect_eq("the kind of the query", request.query()?.kind, Kind::Client)?;
    request.call()?;
    request.expect_children()
}

async fn an_incoming_trace_goes_on(
    context: &Context,
    upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    let caller = Caller::new();
    let client = context.client.with("tracestate", Some("vendor=from-the-caller"));
    let client = client.with("traceparent", Some(&caller.header("01")));
    client.get("/price/2").await?.expect_status(200)?;
    let request = Request::of(collector, &caller.trace, 3).await?;
    expect_eq("the parent of the request's span", &request.server.parent, &caller.span)?;
    let call = &request.call()?.id;
    let expected = format!("00-{}-{call}-01", caller.trace);
    let got = of_the_last_call(upstream, "traceparent");
    expect_eq("the supplier's traceparent, which names the span of the call", got, expected)?;
    let got = of_the_last_call(upstream, "tracestate");
    expect_eq("the supplier's tracestate", got, "vendor=from-the-caller")
}

async fn an_unusable_traceparent_starts_anew(
    context: &Context,
    _upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    let Caller { trace, span } = Caller::new();
    let upper = format!("ABCDEF{}", &trace[6..]);
    let headers = [
        format!("00-{}-{span}-01", "0".repeat(32)),
        format!("00-{trace}-{}-01", "0".repeat(16)),
        format!("00-{upper}-{span}-01"),
        format!("ff-{trace}-{span}-01"),
        format!("00-{trace}-{span}"),
        format!("00-{}x-{span}-01", &trace[1..]),
        "a_trace".to_owned(),
        String::new(),
    ];
    for (header, id) in headers.iter().zip(101..) {
        let client = context.client.with("traceparent", Some(header));
        let client = client.with("tracestate", Some("vendor=unusable"));
        let path = format!("/read/{id}");
        client.get(&path).await?.expect_status(200)?;
        let what = format!("a span of GET {path}");
        let server = until(collector, &what, |received| {
            let path = Value::Text(path.clone());
            let is_it = |span: &&Span| span.attributes.get("url.path") == Some(&path);
            received.spans.iter().find(is_it).cloned()
        });
        let server = server.await?;
        let begins = server.parent.is_empty() && ![&trace, &upper].contains(&&server.trace);
        let what = format!("a new trace after the traceparent {header:?}");
        let got = format!("trace {}, parent {:?}", server.trace, server.parent);
        expect(begins, what, got)?;
        expect_eq("the tracestate of a new trace", &server.trace_state, "")?;
    }
    Ok(())
}

async fn a_trace_that_the_caller_left_out_is_left_out(
    context: &Context,
    upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    let left_out = Caller::new();
    let client = context.client.with("traceparent", Some(&left_out.header("00")));
    client.get("/price/3").await?.expect_status(200)?;
    let passed_on = of_the_last_call(upstream, "traceparent");
    let goes_on = passed_on.starts_with(&format!("00-{}-", left_out.trace)) && passed_on.ends_with("-00");
    let what = format!("the supplier gets trace {} with flags 00, so it isn't kept", left_out.trace);
    expect(goes_on, what, passed_on)?;
    // Spans arrive in order.
    let later = Caller::new();
    later.get(context, "/read/1").await?.expect_status(200)?;
    Request::of(collector, &later.trace, 2).await?;
    let arrived = collector.seen(|received| names(received.of_trace(&left_out.trace)));
    expect_eq("spans of a trace with flags 00", arrived, "no spans")
}

async fn spans_have_the_conventional_names(
    context: &Context,
    upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    upstream.conduct(Conduct::HangsUp);
    let asked = [
        ("/read/7?note=1", "GET /read/{id}", Some("/read/{id}"), 200),
        ("/read/abc", "GET /read/{id}", Some("/read/{id}"), 400),
        ("/read/-7", "GET /read/{id}", Some("/read/{id}"), 404),
        ("/records?after=7&limit=2", "GET /records", Some("/records"), 200),
        ("/nothing/here", "GET", None, 404),
        ("/price/7", "GET /price/{id}", Some("/price/{id}"), 502),
    ];
    for (path, name, route, status) in asked {
        let caller = Caller::new();
        caller.get(context, path).await?.expect_status(status)?;
        let server = &Request::of(collector, &caller.trace, 0).await?.server;
        expect_eq(&format!("the name of the span of GET {path}"), &server.name, name)?;
        expect_attribute(server, "http.request.method", "GET")?;
        expect_attribute(server, "http.response.status_code", i64::from(status))?;
        expect_attribute(server, "url.scheme", "http")?;
        let path = path.split('?').next().unwrap_or_default();
        expect_attribute(server, "url.path", path)?;
        match route {
            Some(route) => expect_attribute(server, "http.route", route)?,
            None => expect_no_attribute(server, "http.route")?,
        }
        let what = format!("the status of the span of {path}, which answered {status}");
        if status < 500 {
            expect_eq(&what, server.status, Status::Unset)?;
            expect_no_attribute(server, "error.type")?;
        } else {
            expect_eq(&what, server.status, Status::Error)?;
            expect_attribute(server, "error.type", status.to_string().as_str())?;
        }
    }
    upstream.conduct(Conduct::WELL);
    let caller = Caller::new();
    caller.get(context, "/price/7").await?.expect_status(200)?;
    let request = Request::of(collector, &caller.trace, 3).await?;
    let (query, call) = (request.query()?, request.call()?);
    expect_eq("the name of the query's span", &query.name, "SELECT records")?;
    expect_attribute(query, "db.system.name", "postgresql")?;
    expect_attribute(query, "db.query.summary", "SELECT records")?;
    expect_no_attribute(query, "db.query.text")?;
    expect_attribute(call, "http.request.method", "GET")?;
    expect_attribute(call, "http.response.status_code", 200)?;
    expect_attribute(call, "server.address", "127.0.0.1")?;
    let port = call.attributes.get("server.port");
    let got = port.map_or("none".to_owned(), Value::to_string);
    expect(matches!(port, Some(Value::Int(_))), "a server.port that is a number", got)
}

async fn requests_at_the_same_time_keep_their_spans(
    context: &Context,
    upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    upstream.conduct(Conduct::Hangs);
    let callers: Vec<Caller> = (0..CALLS).map(|_| Caller::new()).collect();
    let paths: Vec<String> = (1..=CALLS).map(|id| format!("/price/{id}")).collect();
    let asking = callers.iter().zip(&paths);
    let asking = asking.map(|(caller, path)| caller.get(context, path));
    let (answers, ()) = tokio::join!(futures_util::future::join_all(asking), async {
        let all = usize::from(CALLS);
        let gathered = upstream.until(|counts| counts.under_way == all);
        let _ = timeout(PATIENCE, gathered).await;
        upstream.conduct(Conduct::WELL);
    });
    expect_each(&answers, has_status(200))?;
    let heads = upstream.heads();
    for (caller, path) in callers.iter().zip(&paths) {
        let request = Request::of(collector, &caller.trace, 3).await?;
        expect_attribute(&request.server, "url.path", path.as_str())?;
        let (call, ..) = (request.call()?, request.wait()?, request.query()?);
        request.expect_children()?;
        let price = path.replace("/price/", "/prices/");
        let head = heads.iter().rev().find(|head| head.starts_with(&format!("GET {price} ")));
        let got = header_of(head.map_or("", String::as_str), "traceparent");
        let expected = format!("00-{}-{}-01", caller.trace, call.id);
        expect_eq(&format!("the traceparent of the call for {price}"), got, expected)?;
    }
    Ok(())
}

async fn an_export_belongs_to_its_request(
    context: &Context,
    _upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    let caller = Caller::new();
    let client = context.client.with("traceparent", Some(&caller.header("01")));
    client.get("/records/export?after=5000").await?.expect_status(200)?;
    let request = Request::of(collector, &caller.trace, 2).await?;
    expect_eq("the name of the span", &request.server.name, "GET /records/export")?;
    let query = request.query()?;
    expect_eq("the parent of the export's query", &query.parent, &request.server.id)
}

/// Asks for a record while the database rejects the query: the log says which column is missing.
async fn ask_for_a_missing_column(context: &Context, client: &Client) -> Result<Answer, TestError> {
    let database = &mut *context.database.lock().await;
    let rename = "ALTER TABLE records RENAME COLUMN value TO hidden";
    sqlx::query(rename).execute(&mut *database).await?;
    let answer = client.get("/read/7").await;
    let rename = "ALTER TABLE records RENAME COLUMN hidden TO value";
    sqlx::query(rename).execute(database).await?;
    Ok(answer?)
}

async fn a_log_line_has_its_trace_id(
    context: &Context,
    _upstream: &Upstream,
    _collector: &Collector,
) -> TestResult {
    let caller = Caller::new();
    let client = context.client.with_request_id("seen-7");
    let client = client.with("traceparent", Some(&caller.header("01")));
    let broken = ask_for_a_missing_column(context, &client).await?;
    broken.expect_status(500)?;
    let id = format!("\"trace_id\":\"{}\"", caller.trace);
    // One line is about the request, the other one says what is wrong with the query.
    let lines = async || {
        let logged = context.logged().unwrap_or_default();
        let lines = logged.lines().filter(|line| line.contains("seen-7"));
        let lines: Vec<String> = lines.map(str::to_owned).collect();
        (lines.len() >= 2).then_some(lines)
    };
    let lines = workshop_base::wait::within(PATIENCE, lines).await.unwrap_or_default();
    expect(lines.len() >= 2, "two log lines with the request's id", format!("{lines:?}"))?;
    let without = lines.iter().find(|line| !line.contains(&id));
    expect_none(format!("{id} in each line of the request"), without)
}

/// Asks for a record while the database refuses all connections, and waits until it is back.
async fn ask_without_a_database(context: &Context) -> TestResult {
    const A_MOMENT: Duration = Duration::from_millis(300);
    context.proxy.cut().await;
    // The log says at once why there is no connection; the answer takes longer than the test waits.
    let _ = context.client.within(A_MOMENT).get("/read/7").await;
    context.proxy.restore().await;
    let is_back = async || {
        let answer = context.client.within(AT_ONCE).get("/read/7").await.ok();
        answer.filter(|answer| answer.status() == 200)
    };
    let is_back = workshop_base::wait::within(PATIENCE, is_back).await.is_some();
    expect(is_back, "answers when the database is back", "none")
}

async fn no_secret_leaves_the_service(
    context: &Context,
    upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    let key = &context.settings.api_keys[0];
    let record = RecordRow::load(&mut *context.database.lock().await, 7).await?;
    let without = context.client.without_key();
    let path = format!("/read/7?api_key={key}&note=in-the-query");
    without.get(&path).await?.expect_status(200)?;
    without.get("/read/7?api_key=a-wrong-key").await?.expect_status(401)?;
    without.get(&format!("/nothing?api_key={key}")).await?.expect_status(404)?;
    context.client.with_key("a-wrong-key").get("/read/7").await?.expect_status(401)?;
    let body = r#"{"ids":[1],"note":"in-the-body"}"#;
    context.client.post_body("/visits", Body::json(body)).await?;
    // The log says why there is no price, and quotes the answer.
    let odd = r#"{"id":7,"cents":"in-the-answer"}"#;
    upstream.conduct(Conduct::Says(upstream::answer("200 OK", odd)));
    context.client.get("/price/7").await?.expect_status(502)?;
    ask_for_a_missing_column(context, &context.client).await?;
    ask_without_a_database(context).await?;
    let later = Caller::new();
    later.get(context, "/read/7").await?;
    Request::of(collector, &later.trace, 0).await?;

    let url = context.settings.database_url.as_str();
    let login = url.split_once("://").and_then(|(_, rest)| rest.split_once('@'));
    let password = login.and_then(|(login, _)| login.split_once(':'));
    // A server without a password has none to leak.
    let password = password.map_or(url, |(_, password)| password);
    let secrets = [
        (key.as_str(), "a key"),
        (password, "the password of the database"),
        ("refused", "why there is no database"),
        ("a-wrong-key", "an invalid key"),
        ("in-the-query", "a part of a URL's query"),
        ("in-the-body", "a part of a body"),
        ("in-the-answer", "a part of the supplier's answer"),
        (record.value.as_str(), "the text of a record"),
        ("divisible_by_3", "the text of a query"),
        ("does not exist", "what the database says of a query"),
    ];
    for (secret, what) in secrets {
        let found = collector.seen(|received| {
            let at = received.bytes.windows(secret.len()).position(|bytes| bytes == secret.as_bytes())?;
            let around = &received.bytes[at.saturating_sub(40)..(at + secret.len()).min(received.bytes.len())];
            Some(String::from_utf8_lossy(around).into_owned())
        });
        expect_none(format!("{what} ({secret:?}) in nothing that is exported"), found)?;
    }
    Ok(())
}

/// The names of all series of requests, as the collector has them, and as Prometheus reads them.
async fn series_of_requests(
    context: &Context,
    collector: &Collector,
) -> Result<(BTreeSet<String>, BTreeSet<String>), TestError> {
    next_push(collector).await?;
    let pushed = collector.seen(|received| {
        let series = received.series.iter();
        let series = series.filter(|series| series.metric.starts_with("http.server."));
        // The test itself asks there.
        let others = |series: &&Series| {
            series.attributes.get("http.route") != Some(&Value::from("/metrics"))
        };
        let series = series.filter(others);
        series.map(|series| format!("{} {:?}", series.metric, series.attributes)).collect()
    });
    let text = pulled(context).await?;
    let pulled = text.lines().filter(|line| line.starts_with("http_server_"));
    let pulled = pulled.filter(|line| !line.contains("\"/metrics\""));
    let pulled = pulled.filter_map(|line| line.rsplit_once(' '));
    let pulled = pulled.map(|(name, _value)| name.to_owned()).collect();
    Ok((pushed, pulled))
}

/// The metrics as Prometheus scrapes them.
async fn pulled(context: &Context) -> Result<String, TestError> {
    let answer = context.client.without_key().get("/metrics").await?;
    answer.expect_status(200)?;
    Ok(answer.text().into_owned())
}

/// Waits for an export of metrics that begins from now on.
async fn next_push(collector: &Collector) -> Result<(), TestError> {
    // The first one to arrive may have been under way already.
    let later = collector.seen(|received| received.pushes) + 2;
    until(collector, "metrics", |received| (received.pushes >= later).then_some(())).await
}

async fn a_thousand_ids_make_as_many_series_as_ten(
    context: &Context,
    _upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    let ask = async |ids: std::ops::Range<u16>| {
        let ids: Vec<u16> = ids.collect();
        for ids in ids.chunks(20) {
            let client = context.client.with("User-Agent", Some(&format!("browser/{}", ids[0])));
            let client = client.with("Host", Some(&format!("hikers-{}.example", ids[0])));
            let reads = ids.iter().map(|id| format!("/read/{id}"));
            let nothing = ids.iter().map(|id| format!("/nothing/{id}?page={id}"));
            let paths: Vec<String> = reads.chain(nothing).collect();
            for answer in client.get_all(&paths).await {
                answer?;
            }
        }
        series_of_requests(context, collector).await
    };
    let (ten, ten_pulled) = ask(1..11).await?;
    let (thousand, thousand_pulled) = ask(11..1011).await?;
    let what = "series of requests that are pushed";
    expect(!ten.is_empty(), what, "none")?;
    expect(!ten_pulled.is_empty(), "series of requests at /metrics", "none")?;
    let new = thousand.difference(&ten).next();
    expect_none(format!("no new {what} after a thousand other ids and paths, and other hosts"), new)?;
    let new = thousand_pulled.difference(&ten_pulled).next();
    expect_none("no new series at /metrics after a thousand other ids and paths, and other hosts", new)
}

/// The bounds of the buckets that the semantic conventions advise, in seconds.
const SECONDS: [f64; 14] = [
    0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0,
];

/// The durations of requests to this route that were answered by this status.
fn durations<'a>(received: &'a Received, route: &str, status: i64) -> Option<&'a Series> {
    received.series.iter().find(|series| {
        let attributes = &series.attributes;
        series.metric == "http.server.request.duration"
            && attributes.get("http.route") == Some(&Value::from(route))
            && attributes.get("http.response.status_code") == Some(&Value::Int(status))
    })
}

/// The metrics that Prometheus must find, without suffixes for units and types.
const AT_METRICS: [&str; 7] = [
    "http_server_request_duration_seconds",
    "http_server_active_requests",
    "db_client_connection_count",
    "db_client_connection_pending_requests",
    "db_client_connection_max",
    "otel_sdk_exporter_span_exported",
    "otel_sdk_processor_span_processed",
];

async fn pushed_and_pulled_metrics_agree(
    context: &Context,
    _upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    const VISITS: u64 = 7;
    for id in 1..=VISITS {
        let path = format!("/records/{id}/visit");
        context.client.post(&path).await?.expect_status(200)?;
    }
    let route = "/records/{id}/visit";
    let what = format!("http.server.request.duration of {route} with status 200, {VISITS} times");
    let series = until(collector, &what, |received| {
        durations(received, route, 200).filter(|series| series.count == VISITS).cloned()
    });
    let series = series.await?;
    expect_eq("the unit of the duration", &series.unit, "s")?;
    let what = "the bounds of its buckets, which the semantic conventions advise";
    expect(series.bounds == SECONDS, format!("{SECONDS:?}, {what}"), format!("{:?}", series.bounds))?;
    let method = series.attributes.get("http.request.method");
    expect(method == Some(&Value::from("POST")), "http.request.method = \"POST\"", format!("{method:?}"))?;
    let text = pulled(context).await?;
    for name in AT_METRICS {
        let is_there = text.lines().any(|line| line.starts_with(name));
        expect(is_there, format!("{name} at /metrics"), "no line that begins with it")?;
    }
    let mut lines = text.lines();
    let line = lines.find(|line| {
        line.starts_with("http_server_request_duration_seconds_count{")
            && line.contains(&format!("http_route=\"{route}\""))
            && line.contains("http_response_status_code=\"200\"")
    });
    let what = format!("http_server_request_duration_seconds_count of {route} at /metrics: {VISITS}");
    let counts = line.and_then(|line| line.rsplit_once(' '));
    let counts = counts.and_then(|(_, count)| count.parse().ok());
    expect(counts == Some(VISITS as f64), what, line.unwrap_or("no such line"))
}

/// The sum of the series of this metric whose attribute has this value.
fn gauge(received: &Received, metric: &str, attribute: &str, value: &str) -> Option<f64> {
    let series = received.series.iter().filter(|series| {
        series.metric == metric
            && (attribute.is_empty()
                || series.attributes.get(attribute) == Some(&Value::from(value)))
    });
    series.map(|series| series.value).reduce(|sum, value| sum + value)
}

async fn what_is_under_way_is_counted_and_returns_to_nothing(
    context: &Context,
    _upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    let connections = context.settings.pool_size;
    let waiting = 3;
    let under_way = |received: &Received| {
        let used = gauge(received, "db.client.connection.count", "db.client.connection.state", "used");
        let pending = gauge(received, "db.client.connection.pending_requests", "", "");
        let active = gauge(received, "http.server.active_requests", "http.request.method", "GET");
        Some([used?, pending?, active?])
    };
    let expect_under_way = async |counts: [u16; 3]| -> TestResult {
        let counts = counts.map(f64::from);
        let what = format!("used connections, pending requests, active requests: {counts:?}");
        let seen = until(collector, &what, |received| {
            under_way(received).filter(|seen: &[f64; 3]| *seen == counts)
        });
        if let Err(TestError::Failed(failure)) = seen.await {
            let got = collector.seen(|received| format!("{:?}", under_way(received)));
            return Err(Failure { actual: got, ..failure }.into());
        }
        Ok(())
    };
    expect_under_way([0, 0, 0]).await?;
    let database = &mut *context.database.lock().await;
    let mut lock = lock_the_records(database).await?;
    let paths = paths((1..=connections + waiting).map(i32::from));
    let mut reads = pin!(context.client.get_all(&paths));
    let seen = tokio::select! {
        biased;
        seen = async {
            wait_for_waiting(&mut lock, i64::from(connections)..).await?;
            expect_under_way([connections, waiting, connections + waiting]).await
        } => seen,
        _answered = reads.as_mut() => Err(Failure::new("reads that wait for the table", "answers").into()),
    };
    lock.rollback().await?;
    seen?;
    expect_each(&reads.await, has_status(200))?;
    expect_under_way([0, 0, 0]).await
}

async fn no_request_waits_for_the_collector(
    context: &Context,
    _upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    let rude = [
        Manners::Hangs,
        Manners::Refuses(503),
        Manners::Refuses(429),
        Manners::Refuses(400),
        Manners::AnswersHalf,
        Manners::HangsUp,
    ];
    let client = context.client.within(AT_ONCE);
    let paths = paths(1..=20);
    for manners in rude {
        collector.behave(manners);
        for answer in client.get_all(&paths).await {
            let answer = answer.map_err(|failure| Failure {
                expected: format!("{}, while the collector is so: {manners:?}", failure.expected),
                ..failure
            })?;
            answer.expect_status(200)?;
        }
    }
    collector.leave().await;
    expect_each(&client.get_all(&paths).await, has_status(200))?;
    // It sees later spans when it is back.
    collector.behave(Manners::Takes);
    collector.come_back().await;
    expect_spans_again(context, collector).await
}

/// Sends requests until a trace arrives: the first ones may find the queue full.
async fn expect_spans_again(context: &Context, collector: &Collector) -> TestResult {
    const ATTEMPTS: usize = 10;
    for _ in 0..ATTEMPTS {
        let caller = Caller::new();
        caller.get(context, "/read/1").await?.expect_status(200)?;
        let arrived = |received: &Received| !received.of_trace(&caller.trace).is_empty();
        if collector.until(Duration::from_millis(700), arrived).await {
            return Ok(());
        }
    }
    let what = "spans arrive when the collector takes them";
    expect(false, what, format!("none of {ATTEMPTS} traces"))
}

/// The numbers of spans that were exported, have failed, and were dropped by a full queue.
fn fates(received: &Received) -> [f64; 3] {
    let mut fates = [0.0; 3];
    for series in &received.series {
        let error = series.attributes.get("error.type").and_then(Value::text);
        match (series.metric.as_str(), error) {
            ("otel.sdk.exporter.span.exported", None) => fates[0] += series.value,
            ("otel.sdk.exporter.span.exported", Some(_)) => fates[1] += series.value,
            ("otel.sdk.processor.span.processed", Some("queue_full")) => fates[2] += series.value,
            _ => {}
        }
    }
    fates
}

/// Sends far more requests than the queue holds.
async fn ask_for_many(context: &Context) -> TestResult {
    for ids in (1..=i32::from(MANY)).collect::<Vec<_>>().chunks(50) {
        let answers = context.client.get_all(&paths(ids.iter().copied())).await;
        expect_each(&answers, has_status(200))?;
    }
    Ok(())
}

/// The same, while the collector takes nothing.
async fn ask_unheard(context: &Context, collector: &Collector) -> TestResult {
    collector.behave(Manners::Hangs);
    ask_for_many(context).await
}

async fn what_waits_for_the_collector_is_bounded(
    context: &Context,
    _upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    ask_unheard(context, collector).await?;
    let exports = collector.seen(|received| received.exports);
    collector.behave(Manners::Takes);
    expect_spans_again(context, collector).await?;
    // The spans in the queue, and those of each export under way when it was released.
    let most = TelemetrySettings::QUEUE + (exports + 1) * TelemetrySettings::BATCH;
    let arrived = collector.seen(|received| received.spans.len());
    let what = format!(
        "spans of {MANY} reads that have waited for a collector, after {exports} exports in vain: \
         OTEL_BSP_MAX_QUEUE_SIZE and a batch for each export"
    );
    expect_at_most(most, &what, arrived)
}

async fn what_was_lost_is_counted(
    context: &Context,
    _upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    expect_spans_again(context, collector).await?;
    next_push(collector).await?;
    let before = collector.seen(fates);
    ask_unheard(context, collector).await?;
    collector.behave(Manners::Refuses(400));
    let refused = Caller::new();
    refused.get(context, "/read/1").await?;
    collector.behave(Manners::Takes);
    let made = (usize::from(MANY) + 1) * SPANS_OF_A_READ;
    let what = format!("{made} spans counted as exported, failed or dropped: three per read");
    let counted = |received: &Received| {
        let now = fates(received);
        [now[0] - before[0], now[1] - before[1], now[2] - before[2]]
    };
    let all = until(collector, &what, |received| {
        let counted = counted(received);
        (counted.iter().sum::<f64>() == made as f64).then_some(counted)
    });
    let counted = match all.await {
        Ok(counted) => counted,
        Err(TestError::Failed(failure)) => {
            let [exported, failed, dropped] = collector.seen(counted);
            let actual = format!("{exported} exported, {failed} failed, {dropped} dropped");
            return Err(Failure { actual, ..failure }.into());
        }
        Err(error) => return Err(error),
    };
    expect(counted[2] > 0.0, "spans without room in the queue are counted as dropped", format!("{counted:?}"))
}

async fn a_dead_collector_fills_no_log(
    context: &Context,
    _upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    let lines = || -> anyhow::Result<usize> {
        let logged = context.logged()?;
        let lines = logged.lines();
        let is_of_a_request = |line: &str| line.contains("trace_id") || line.contains("/read/");
        Ok(lines.filter(|line| !is_of_a_request(line)).count())
    };
    let before = lines()?;
    // A batch that is refused for good is not sent again: each batch fails at once.
    collector.behave(Manners::Refuses(400));
    ask_for_many(context).await?;
    collector.leave().await;
    ask_for_many(context).await?;
    collector.come_back().await;
    let what = format!("lines about a collector that refuses, or is away, after {MANY} requests each");
    expect_at_most(5, &what, lines()? - before)
}

async fn a_share_of_new_traces_is_kept(
    context: &Context,
    _upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    const NEW: i32 = 400;
    for ids in (1..=NEW).collect::<Vec<_>>().chunks(10) {
        let answers = context.client.get_all(&paths(ids.iter().copied())).await;
        expect_each(&answers, has_status(200))?;
        // No more at once than the queue holds.
        tokio::task::yield_now().await;
    }
    let later = Caller::new();
    later.get(context, "/read/1").await?.expect_status(200)?;
    Request::of(collector, &later.trace, 0).await?;
    let kept = collector.seen(|received| {
        let spans = received.spans.iter();
        spans.filter(|span| span.name == "GET /read/{id}" && span.trace != later.trace).count()
    });
    // A quarter is 100; five standard deviations to either side miss it once in a million runs.
    let what = format!("57 to 143 of {NEW} traces, with OTEL_TRACES_SAMPLER_ARG=0.25");
    expect((57..=143).contains(&kept), what, format!("{kept}"))
}

async fn the_callers_decision_counts_more_than_the_share(
    context: &Context,
    _upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    for id in 1..=20 {
        let caller = Caller::new();
        caller.get(context, &format!("/read/{id}")).await?.expect_status(200)?;
        Request::of(collector, &caller.trace, 2).await?;
    }
    Ok(())
}

async fn spans_do_not_depend_on_the_log_level(
    context: &Context,
    _upstream: &Upstream,
    collector: &Collector,
) -> TestResult {
    let caller = Caller::new();
    caller.get(context, "/price/1").await?.expect_status(200)?;
    let request = Request::of(collector, &caller.trace, 3).await?;
    let _all = (request.wait()?, request.query()?, request.call()?);
    request.expect_children()
}

fn the_last_spans_arrive_before_the_end(seen: &Last) -> TestResult {
    expect_each(&seen.held, has_status(200))?;
    expect_an_end(&seen.end)?;
    let requests = seen.spans.iter().filter(|span| span.name == "GET /read/{id}");
    let expected = usize::from(READS) + seen.held.len();
    expect_eq("reads whose spans have arrived when the service has ended", requests.count(), expected)
}

fn no_span_of_a_read_is_missing(seen: &Last) -> TestResult {
    let requests = seen.spans.iter().filter(|span| span.name == "GET /read/{id}");
    let traces: BTreeSet<&str> = requests.map(|span| span.trace.as_str()).collect();
    expect(!traces.is_empty(), "spans of reads", "none")?;
    let of_reads = seen.spans.iter().filter(|span| traces.contains(span.trace.as_str()));
    let expected = traces.len() * SPANS_OF_A_READ;
    let what = format!("spans of {} reads, with RUST_LOG=warn,sqlx=debug", traces.len());
    expect_eq(&what, of_reads.count(), expected)
}

fn a_collector_that_hangs_does_not_hold_up_the_end(seen: &Last) -> TestResult {
    expect_an_end(&seen.unheard)
}
