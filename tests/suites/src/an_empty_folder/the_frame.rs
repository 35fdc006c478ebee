//! Stage 2: migrations, `/ready`, problems, request ids, keys, the log.

use serde_json::json;
use workshop_harness::contract::{Context, TestResult, contract_tests, expect, expect_eq};
use workshop_harness::http::{Body, Method};
use workshop_harness::reports_faults::BadDays;

use super::asking::{
    IDEMPOTENCY_KEY, expect_problem, ids_in_pages, json_of, made_patiently, post, report,
};

contract_tests! {
    reports: [
        a_service_with_its_tables_is_ready,
        an_unknown_path_answers_404,
        a_wrong_method_is_refused,
        every_answer_has_a_request_id,
        a_request_id_of_the_client_is_kept,
        an_unusable_request_id_is_replaced,
        a_request_without_a_key_answers_401,
        a_wrong_key_answers_401,
        every_key_of_the_list_counts,
        the_key_is_judged_before_the_request,
        a_head_is_a_get_without_its_body,
    ],
    reports_faults: [
        a_database_at_an_ipv6_address_is_ready,
        a_service_without_a_database_is_alive_and_not_ready,
        a_service_starts_without_a_database_and_gets_ready,
        the_log_says_why_an_answer_was_503,
        an_outage_is_no_error_of_the_service,
        a_mistake_of_a_client_is_no_line_of_the_log,
        the_log_holds_no_key_and_no_text,
    ],
}

async fn a_service_with_its_tables_is_ready(context: &Context) -> TestResult {
    let answer = context.client.without_key().get("/ready").await?;
    expect_eq(
        "the body",
        json_of(answer.expect_status(200)?)?,
        json!({"status": "ready"}),
    )
}

async fn an_unknown_path_answers_404(context: &Context) -> TestResult {
    for path in ["/", "/report", "/reports/1/text", "/healthy"] {
        expect_problem(&context.client.get(path).await?, 404)?;
    }
    Ok(())
}

async fn a_wrong_method_is_refused(context: &Context) -> TestResult {
    for (method, path) in [
        (Method::DELETE, "/reports/1"),
        (Method::PUT, "/reports"),
        (Method::POST, "/health"),
    ] {
        let answer = context.client.send(method, path).await?;
        let status = match answer.status() {
            404 => 404,
            _ => 405,
        };
        expect_problem(&answer, status)?;
    }
    Ok(())
}

async fn every_answer_has_a_request_id(context: &Context) -> TestResult {
    let client = &context.client;
    let mut ids = Vec::new();
    for answer in [
        client.get("/health").await?,
        client.get("/nothing").await?,
        client.without_key().get("/reports").await?,
        client.get("/reports?limit=0").await?,
        client.get("/reports").await?,
    ] {
        let id = answer
            .header("X-Request-Id")
            .unwrap_or_default()
            .into_owned();
        let is_new = !id.is_empty() && !ids.contains(&id);
        answer.expect(is_new, "an X-Request-Id of its own", format!("{id:?}"))?;
        ids.push(id);
    }
    Ok(())
}

async fn a_request_id_of_the_client_is_kept(context: &Context) -> TestResult {
    let longest = "i".repeat(64);
    for id in ["trail-4711_b.2", "7", &longest] {
        let client = context.client.with_request_id(id);
        client
            .get("/reports")
            .await?
            .expect_header("X-Request-Id", id)?;
        client
            .get("/reports/0")
            .await?
            .expect_header("X-Request-Id", id)?;
    }
    Ok(())
}

async fn an_unusable_request_id_is_replaced(context: &Context) -> TestResult {
    let too_long = "i".repeat(65);
    for id in ["", "two words", "a;b", "{\"level\":\"ERROR\"}", &too_long] {
        let answer = context.client.with_request_id(id).get("/health").await?;
        let given = answer
            .header("X-Request-Id")
            .unwrap_or_default()
            .into_owned();
        answer.expect(
            !given.is_empty() && given != id,
            "a new X-Request-Id",
            format!("{given:?}"),
        )?;
    }
    Ok(())
}

async fn a_request_without_a_key_answers_401(context: &Context) -> TestResult {
    let client = context.client.without_key();
    for (method, path) in [
        (Method::GET, "/reports"),
        (Method::POST, "/reports"),
        (Method::GET, "/reports/1"),
        (Method::PATCH, "/reports/1"),
    ] {
        let answer = client.send(method, path).await?;
        expect_problem(&answer, 401)?;
        answer.expect_header("WWW-Authenticate", "ApiKey")?;
    }
    Ok(())
}

async fn a_wrong_key_answers_401(context: &Context) -> TestResult {
    for key in [
        "",
        "valid",
        "valid_key_",
        "VALID_KEY",
        "valid_key,another_valid_key",
        "*",
    ] {
        expect_problem(&context.client.with_key(key).get("/reports").await?, 401)?;
    }
    Ok(())
}

async fn every_key_of_the_list_counts(context: &Context) -> TestResult {
    for key in ["valid_key", "another_valid_key"] {
        context
            .client
            .with_key(key)
            .get("/reports/0")
            .await?
            .expect_status(404)?;
    }
    Ok(())
}

async fn the_key_is_judged_before_the_request(context: &Context) -> TestResult {
    let client = context.client.without_key();
    expect_problem(&client.get("/reports?limit=0").await?, 401)?;
    expect_problem(&client.get("/reports/abc").await?, 401)?;
    expect_problem(
        &client
            .post_body("/reports", Body::new("text/plain", "x"))
            .await?,
        401,
    )?;
    let with_key = client.with(IDEMPOTENCY_KEY, Some("k"));
    expect_problem(&with_key.post_body("/reports", Body::json("{")).await?, 401)?;
    Ok(())
}

async fn a_head_is_a_get_without_its_body(context: &Context) -> TestResult {
    for path in ["/health", "/ready"] {
        let answer = context.client.head(path).await?;
        answer.expect_status(200)?;
        answer.expect(answer.body().is_empty(), "no body", answer.text())?;
    }
    Ok(())
}

async fn a_database_at_an_ipv6_address_is_ready(days: &BadDays) -> TestResult {
    // A machine without IPv6 has no such database.
    if let Some(answer) = days.ready_by_ipv6().await? {
        answer.expect_status(200)?;
    }
    Ok(())
}

async fn a_service_without_a_database_is_alive_and_not_ready(days: &BadDays) -> TestResult {
    days.cut().await;
    days.client.get("/health").await?.expect_status(200)?;
    expect_problem(&days.client.get("/ready").await?, 503)?;
    days.restore().await;
    Ok(days.ready().await?)
}

async fn a_service_starts_without_a_database_and_gets_ready(days: &BadDays) -> TestResult {
    made_patiently(&days.client, "before-it-starts", 1002).await?;
    days.cut().await;
    days.kill_and_start().await?;
    days.client.get("/health").await?.expect_status(200)?;
    for path in ["/ready", "/reports", "/reports/1"] {
        expect_problem(&days.client.get(path).await?, 503)?;
    }
    expect_problem(&post(&days.client, "too-early", &report(1002)).await?, 503)?;
    days.restore().await;
    days.ready().await?;
    // The earlier report is still there, and its key is still taken.
    made_patiently(&days.client, "before-it-starts", 1002).await?;
    let open = ids_in_pages(&days.client, 1002, 100).await?;
    expect_eq("the reports that were made before", open.len(), 1)
}

async fn the_log_says_why_an_answer_was_503(days: &BadDays) -> TestResult {
    days.cut().await;
    let client = days.client.with_request_id("why-was-it-503");
    expect_problem(&client.get("/reports").await?, 503)?;
    let line = days.line_of_log("why-was-it-503").await;
    days.restore().await;
    let line = line?.unwrap_or_else(|| "no such line".to_owned());
    expect(
        line.contains("why-was-it-503"),
        "a line with the request's id and the reason",
        &line,
    )?;
    expect(line.len() > 60, "a line with a reason in it", line)
}

async fn an_outage_is_no_error_of_the_service(days: &BadDays) -> TestResult {
    days.restart_with_log_level("error").await?;
    days.ready().await?;
    days.cut().await;
    let client = days.client.with_request_id("nothing-to-fix-here");
    let answers = client.get_all(&["/reports", "/ready"]).await;
    days.restore().await;
    let logged = days.logged().await;
    days.restart_with_log_level("warn").await?;
    for answer in answers {
        expect_problem(&answer?, 503)?;
    }
    let logged = logged?;
    expect(
        !logged.contains("nothing-to-fix-here"),
        "no line at LOG_LEVEL=error about a 503: the night shift is called by errors",
        logged,
    )
}

async fn a_mistake_of_a_client_is_no_line_of_the_log(days: &BadDays) -> TestResult {
    let client = days.client.with_request_id("my-own-mistake");
    client.get("/nothing").await?.expect_status(404)?;
    client
        .without_key()
        .get("/reports")
        .await?
        .expect_status(401)?;
    client.get("/reports?limit=0").await?.expect_status(400)?;
    post(&client, "mistaken", &json!({}))
        .await?
        .expect_status(422)?;
    let logged = days.logged().await?;
    expect(
        !logged.contains("my-own-mistake"),
        "no line at LOG_LEVEL=warn",
        logged,
    )
}

async fn the_log_holds_no_key_and_no_text(days: &BadDays) -> TestResult {
    let secret = json!({"tag": 1003, "kind": "other", "text": "t3xt-of-a-hiker"});
    post(&days.client, "k3y-of-a-hiker", &secret)
        .await?
        .expect_status(201)?;
    days.client
        .with_key("wr0ng-key")
        .get("/reports")
        .await?
        .expect_status(401)?;
    days.cut().await;
    post(&days.client, "k3y-of-a-hiker-2", &secret)
        .await?
        .expect_status(503)?;
    let logged = days.logged().await;
    days.restore().await;
    let logged = logged?;
    for word in [
        "valid_key",
        "wr0ng-key",
        "t3xt-of-a-hiker",
        "k3y-of-a-hiker",
    ] {
        expect(
            !logged.contains(word),
            format!("a log without {word}"),
            &logged,
        )?;
    }
    Ok(())
}
