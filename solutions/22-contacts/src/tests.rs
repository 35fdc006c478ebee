//! The service's own tests, which need neither a network nor a database.

use std::{num::NonZeroU16, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header},
    response::Response,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use http_body_util::BodyExt;
use tower::ServiceExt;
use tracing::level_filters::LevelFilter;

use crate::{
    routes,
    service::Service,
    settings::{DatabaseSettings, Settings},
    users::Users,
};

/// The routes, which the tests call in-process, so no port is needed.
fn service() -> Router {
    let settings = Settings {
        address: [127, 0, 0, 1].into(),
        port: 0,
        users: Users::read("ada:secret").unwrap(),
        database: DatabaseSettings {
            // Nothing listens on port 1.
            url: "postgres://nobody@127.0.0.1:1/nothing".parse().unwrap(),
            pool_size: NonZeroU16::MIN,
            timeout: Duration::from_millis(250),
            migration_timeout: Duration::from_millis(250),
        },
        log_level: LevelFilter::WARN,
    };
    routes(Arc::new(Service::new(&settings)))
}

async fn answer(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Body::from(body.to_owned())).unwrap();
    service().oneshot(request).await.unwrap()
}

/// Sends a request as Ada, with her password.
async fn for_ada(method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
    let basic = format!("Basic {}", STANDARD.encode("ada:secret"));
    let mut headers = headers.to_vec();
    headers.push(("authorization", &basic));
    answer(method, path, &headers, body).await
}

async fn text(answer: Response) -> String {
    let body = answer.into_body().collect().await.unwrap();
    String::from_utf8(body.to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn health_needs_no_database() {
    let answer = answer("GET", "/health", &[], "").await;
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(text(answer).await, r#"{"status":"ok"}"#);
}

#[tokio::test]
async fn without_a_database_the_service_is_not_ready() {
    let answer = answer("GET", "/ready", &[], "").await;
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    let detail = text(answer).await;
    assert!(
        detail.contains("the schema is not up to date yet"),
        "{detail}"
    );
}

#[tokio::test]
async fn a_request_without_a_password_is_challenged_before_its_path_is_read() {
    for path in ["/", "/nothing-here", "/addressbooks/grace/"] {
        let answer = answer("PROPFIND", path, &[], "").await;
        assert_eq!(answer.status(), StatusCode::UNAUTHORIZED, "{path}");
        let challenge = &answer.headers()[header::WWW_AUTHENTICATE];
        assert_eq!(challenge, r#"Basic realm="contacts", charset="UTF-8""#);
    }
}

#[tokio::test]
async fn a_method_that_http_itself_does_not_know_gets_to_its_handler() {
    let answer = for_ada("PROPFIND", "/", &[("depth", "0")], "").await;
    assert_eq!(answer.status(), StatusCode::MULTI_STATUS);
    let body = text(answer).await;
    assert!(body.contains("<D:href>/principals/ada/</D:href>"), "{body}");
}

#[tokio::test]
async fn a_wrong_method_is_told_the_right_ones() {
    let answer = for_ada("MKCOL", "/addressbooks/ada/", &[], "").await;
    assert_eq!(answer.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(
        answer.headers()[header::ALLOW],
        "OPTIONS, PROPFIND, PROPPATCH"
    );
}

#[tokio::test]
async fn what_asks_for_everything_or_brings_a_dtd_is_refused_before_the_database_is_asked() {
    let book = "/addressbooks/ada/contacts/";
    let infinite = for_ada("PROPFIND", book, &[("depth", "infinity")], "").await;
    assert_eq!(infinite.status(), StatusCode::FORBIDDEN);
    assert!(text(infinite).await.contains("<D:propfind-finite-depth/>"));
    let laughs = r#"<!DOCTYPE p [<!ENTITY a "a">]><propfind xmlns="DAV:"><allprop/></propfind>"#;
    let with_dtd = for_ada("PROPFIND", book, &[("depth", "0")], laughs).await;
    assert_eq!(with_dtd.status(), StatusCode::BAD_REQUEST);
}
