//! The service's own tests, which check its responses without a network.

use rocket::{
    http::{ContentType, Status},
    local::asynchronous::Client,
    serde::json::Value,
};
use tracing::level_filters::LevelFilter;

use crate::{service, settings::Settings};

/// A local client for the service: Rocket dispatches requests in-process, without a port.
async fn client() -> Client {
    let settings = Settings {
        address: [127, 0, 0, 1].into(),
        port: 0,
        log_level: LevelFilter::WARN,
    };
    Client::untracked(service(&settings))
        .await
        .expect("a service that can start")
}

#[rocket::async_test]
async fn a_text_becomes_an_image() {
    let client = client().await;
    let answer = client.get("/qrcode?text=Gr%C3%BC%C3%9Fe").dispatch().await;
    assert_eq!(answer.status(), Status::Ok);
    assert_eq!(answer.content_type(), Some(ContentType::PNG));
    let image = answer.into_bytes().await.unwrap();
    assert!(image.starts_with(b"\x89PNG"));
}

#[rocket::async_test]
async fn a_text_that_cannot_be_used_is_a_bad_request() {
    let client = client().await;
    let too_long = format!("text={}", "a".repeat(513));
    for (query, detail) in [
        ("", "the query parameter text is missing or empty"),
        // `text.x` isn't `text`, although Rocket's forms would treat it as a field of `text`.
        ("text.x=a", "the query parameter text is missing or empty"),
        ("text=%ff", "the request is malformed"),
        (
            too_long.as_str(),
            "text must be at most 512 bytes of UTF-8, but has 513",
        ),
    ] {
        let answer = client.get(format!("/qrcode?{query}")).dispatch().await;
        assert_eq!(answer.status(), Status::BadRequest, "{query}");
        let problem: Value = answer.into_json().await.expect("a problem");
        assert_eq!(problem["detail"], detail);
    }
}
