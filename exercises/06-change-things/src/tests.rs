//! The service's own tests, which need neither a network nor a database.

use std::{num::NonZeroU16, time::Duration};

use rocket::{
    http::{Header, Status},
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
        api_keys: vec!["a_key".into()],
        database: DatabaseSettings {
            // Nothing listens on port 1.
            url: "postgres://nobody@127.0.0.1:1/nothing".parse().unwrap(),
            pool_size: NonZeroU16::MIN,
            timeout: Duration::from_millis(250),
            migration_timeout: Duration::from_millis(250),
        },
    };
    Client::untracked(service(&settings))
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

fn key() -> Header<'static> {
    Header::new("X-API-Key", "a_key")
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
        "the schema is not up to date yet",
    )
    .await;
}

#[rocket::async_test]
async fn an_id_that_is_no_integer_is_a_bad_request() {
    let client = client().await;
    let answer = client.get("/read/abc").header(key()).dispatch().await;
    assert_problem(answer, Status::BadRequest, "id must be a 32-bit integer").await;
}

#[rocket::async_test]
async fn a_request_without_a_key_is_challenged_before_its_id_is_read() {
    let client = client().await;
    let answer = client.get("/read/abc").dispatch().await;
    assert_eq!(answer.status(), Status::Unauthorized);
    assert_eq!(answer.headers().get_one("WWW-Authenticate"), Some("ApiKey"));
}

#[rocket::async_test]
async fn a_key_in_the_query_counts_by_its_whole_name() {
    let client = client().await;
    let with_key = client.get("/read/abc?api_key=a_key").dispatch().await;
    assert_eq!(with_key.status(), Status::BadRequest);
    let with_part = client.get("/read/abc?api_key[0]=a_key").dispatch().await;
    assert_eq!(with_part.status(), Status::Unauthorized);
}

#[rocket::async_test]
async fn a_read_without_a_database_is_told_so() {
    let client = client().await;
    let answer = client.get("/read/1").header(key()).dispatch().await;
    let detail = "the database does not answer";
    assert_problem(answer, Status::ServiceUnavailable, detail).await;
}

#[rocket::async_test]
async fn visits_of_another_shape_are_refused_before_the_database_is_asked() {
    let client = client().await;
    let visits = client.post("/visits").header(key()).json(&["1"]);
    let answer = visits.dispatch().await;
    assert_eq!(answer.status(), Status::UnprocessableEntity);
}
