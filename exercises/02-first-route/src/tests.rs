//! The service's own tests, which need neither a network nor a database.

use std::time::Duration;

use rocket::{
    http::Status,
    local::asynchronous::{Client, LocalResponse},
    serde::json::Value,
};

use crate::{
    service,
    settings::{DatabaseSettings, Settings},
};

// ANCHOR: client
/// A local client for the service: Rocket dispatches requests in-process, without a port.
async fn client() -> Client {
    let settings = Settings {
        address: [127, 0, 0, 1].into(),
        port: 0,
        database: DatabaseSettings {
            // Nothing listens on port 1.
            url: "postgres://nobody@127.0.0.1:1/nothing".parse().unwrap(),
            timeout: Duration::from_millis(250),
        },
    };
    Client::untracked(service(settings))
        .await
        .expect("a service that can start")
}
// ANCHOR_END: client

/// Asserts that a response is a problem with this status and detail.
async fn assert_problem(answer: LocalResponse<'_>, status: Status, detail: &str) {
    assert_eq!(answer.status(), status);
    let problem: Value = answer.into_json().await.expect("a problem");
    assert_eq!(problem["status"], status.code);
    assert_eq!(problem["detail"], detail);
}

#[rocket::async_test]
async fn health_needs_no_database() {
    let client = client().await;
    let answer = client.get("/health").dispatch().await;
    assert_eq!(answer.status(), Status::Ok);
    assert_eq!(answer.into_string().await.unwrap(), r#"{"status":"ok"}"#);
}

#[rocket::async_test]
async fn an_unknown_path_is_a_problem() {
    let client = client().await;
    let answer = client.get("/nothing-here").dispatch().await;
    assert_problem(answer, Status::NotFound, "there is nothing at this path").await;
}

#[rocket::async_test]
async fn without_a_database_the_service_is_not_ready() {
    let client = client().await;
    let answer = client.get("/ready").dispatch().await;
    assert_problem(
        answer,
        Status::ServiceUnavailable,
        "the database does not answer",
    )
    .await;
}
