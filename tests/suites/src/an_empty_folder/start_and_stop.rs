//! Stage 1: settings, `/health`, and a stop that loses nothing.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use workshop_harness::contract::{Context, Failure, TestResult, contract_tests, expect, expect_eq};
use workshop_harness::reports_faults::{AskedForTls, BadDays, ReportsEnd};
use workshop_harness::sockets;

use super::asking::{id_of, json_of, post_patiently, raw, raw_post, read_to_end, report};

contract_tests! {
    reports: [
        health_is_answered,
    ],
    reports_faults: [
        a_wrong_setting_is_named_and_the_service_ends,
        a_complaint_repeats_no_secret,
        tls_is_asked_for_or_refused_at_the_start,
        a_service_that_is_told_to_stop_ends_with_0,
        idle_connections_do_not_hold_up_a_stop,
        a_request_under_way_is_answered_before_the_end,
    ],
}

async fn health_is_answered(context: &Context) -> TestResult {
    let client = context.client.without_key();
    let answer = client.get("/health").await?;
    expect_eq(
        "the body",
        json_of(answer.expect_status(200)?)?,
        json!({"status": "ok"}),
    )
}

async fn a_wrong_setting_is_named_and_the_service_ends(days: &BadDays) -> TestResult {
    let cases = [
        (
            "DATABASE_URL",
            days.refused_start(|settings| {
                settings.database_url = "mysql://root@localhost/x".to_owned()
            })
            .await?,
        ),
        (
            "API_KEYS",
            days.refused_start(|settings| settings.api_keys = vec![String::new()])
                .await?,
        ),
        (
            "API_KEYS",
            days.refused_start(|settings| {
                settings.api_keys = vec!["valid_key".to_owned(), String::new()]
            })
            .await?,
        ),
        (
            "DATABASE_POOL_SIZE",
            days.refused_start(|settings| settings.pool_size = 0)
                .await?,
        ),
        (
            "DATABASE_TIMEOUT_MS",
            days.refused_start(|settings| settings.timeout = Duration::ZERO)
                .await?,
        ),
        (
            "LOG_LEVEL",
            days.refused_start(|settings| settings.log_level = "loud".to_owned())
                .await?,
        ),
    ];
    for (name, said) in cases {
        expect(
            said.contains(name),
            format!("a sentence with the name {name}"),
            said,
        )?;
    }
    Ok(())
}

async fn a_complaint_repeats_no_secret(days: &BadDays) -> TestResult {
    let url = "mysql://root:s3cret@localhost/x".to_owned();
    let said = [
        days.refused_start(|settings| settings.database_url = url)
            .await?,
        days.refused_start(|settings| settings.log_level = "s3cret".to_owned())
            .await?,
    ];
    for said in said {
        expect(
            !said.contains("s3cret"),
            "a sentence without the variable's value",
            said,
        )?;
    }
    Ok(())
}

/// A service that continues without TLS sends its password to anyone who answers. One without TLS should fail at its start.
async fn tls_is_asked_for_or_refused_at_the_start(days: &BadDays) -> TestResult {
    let asked = days.asked_for_tls().await?;
    let is_refused =
        matches!(&asked, AskedForTls::Refused(sentence) if sentence.contains("DATABASE_URL"));
    let got = match &asked {
        AskedForTls::Refused(sentence) => sentence.clone(),
        AskedForTls::Sent(bytes) if bytes.is_empty() => "it runs, and sends nothing".to_owned(),
        AskedForTls::Sent(bytes) => format!("it runs, and sends {:?}", bytes.as_slice()),
    };
    expect(
        is_refused || asked.is_honored(),
        "with sslmode=require in DATABASE_URL, a request for TLS at the database, or an end at the start with a sentence that \
         names the variable",
        got,
    )
}

fn expect_end(end: ReportsEnd) -> TestResult {
    let Some(status) = end.status else {
        return Err(Failure::new("an end within 5 s after SIGTERM", "it still runs").into());
    };
    expect_eq("the exit code after SIGTERM", status.code(), Some(0))
}

async fn a_service_that_is_told_to_stop_ends_with_0(days: &BadDays) -> TestResult {
    days.client.get("/health").await?.expect_status(200)?;
    expect_end(days.stop().await)
}

async fn idle_connections_do_not_hold_up_a_stop(days: &BadDays) -> TestResult {
    let mut idle = Vec::new();
    for _ in 0..20 {
        let sent = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let mut connection = raw(days.address, sent).await?;
        let mut status = [0; 12];
        let answered = connection.read_exact(&mut status).await;
        answered.map_err(|error| Failure::new("an answer to GET /health", error.to_string()))?;
        idle.push(connection);
    }
    expect_end(days.stop().await)
}

async fn a_request_under_way_is_answered_before_the_end(days: &BadDays) -> TestResult {
    let body = report(1001).to_string();
    let (half, rest) = body.split_at(body.len() / 2);
    let mut connection = raw(days.address, &raw_post("under-way", half, body.len())).await?;
    // The service has begun with it: it answers a later request.
    days.client.get("/health").await?.expect_status(200)?;
    sockets::wait_until_read(days.address.port(), 1).await;
    let finish = async {
        connection.write_all(rest.as_bytes()).await?;
        let (answer, _) = read_to_end(&mut connection, Duration::from_secs(4)).await;
        std::io::Result::Ok(answer)
    };
    let (answer, end) = days.stop_while(finish).await;
    let answer = answer.unwrap_or_else(|error| error.to_string());
    expect(
        answer.starts_with("HTTP/1.1 201"),
        "201 to a report whose second half comes after SIGTERM",
        answer.lines().next().unwrap_or("a closed connection"),
    )?;
    expect_end(end)?;
    days.start_again().await?;
    days.ready().await?;
    let again = post_patiently(&days.client, "under-way", &report(1001)).await?;
    let location = format!("/reports/{}", id_of(&json_of(again.expect_status(201)?)?));
    expect(
        answer.contains(&location),
        format!("an answer with Location: {location}"),
        answer,
    )
}
