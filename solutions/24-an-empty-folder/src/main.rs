//! The *Trail reports* service: reads its settings, wires its parts, and serves until stopped.

mod answering;
mod api_key;
mod body;
mod conditions;
mod database;
mod error;
mod forgetting;
mod idempotency;
mod logging;
mod object;
mod outage;
mod page;
mod pool;
mod problem;
mod report;
mod reports;
mod schema;
mod serving;
mod settings;

use std::process::ExitCode;

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, State},
    http::StatusCode,
    routing::get,
};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::{
    api_key::ApiKeys,
    database::Database,
    error::{Error, refused},
    settings::Settings,
};

// ANCHOR: main
/// The state that the handlers share.
#[derive(Clone)]
struct Service {
    keys: ApiKeys,
    database: Database,
}

fn main() -> ExitCode {
    let settings = match Settings::from_environment() {
        Ok(settings) => settings,
        Err(complaint) => return serving::refuse(&complaint),
    };
    logging::start(settings.log_level);
    let runtime = match Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return serving::refuse(&format!("there are no threads to run on: {error}")),
    };
    let ended = runtime.block_on(async {
        let service = Service {
            keys: settings.api_keys.clone(),
            database: Database::new(&settings),
        };
        tokio::spawn(forgetting::forget_old_keys(service.database.clone()));
        serving::serve(&settings, routes(service)).await
    });
    // Doesn't wait for a DNS lookup on a blocking thread, as `#[tokio::main]` would.
    runtime.shutdown_background();
    ended
}

fn routes(service: Service) -> Router {
    let routes = Router::new()
        .route("/health", get(async || Json(json!({"status": "ok"}))))
        .route("/ready", get(ready))
        .route("/reports", get(page::open_reports).post(reports::report))
        .route("/reports/{id}", get(reports::read).patch(reports::change))
        .fallback(async || refused(StatusCode::NOT_FOUND, "there is nothing at this path"))
        .method_not_allowed_fallback(async || {
            refused(
                StatusCode::METHOD_NOT_ALLOWED,
                "this path does not support that method",
            )
        })
        .layer(DefaultBodyLimit::max(body::MAX_BYTES))
        .with_state(service);
    answering::around(routes)
}
// ANCHOR_END: main

/// `GET /ready`: 200 if the schema is up to date and the database answers, else 503.
async fn ready(State(service): State<Service>) -> Result<Json<Value>, Error> {
    service.database.ping().await?;
    Ok(Json(json!({"status": "ready"})))
}

#[cfg(test)]
mod tests {
    use axum::{body::Body, http::Request};
    use tower::ServiceExt;

    use super::*;

    /// The status of the whole router's response, without a socket or a database.
    async fn status(request: axum::http::request::Builder) -> u16 {
        let environment = |name: &str| match name {
            "DATABASE_URL" => Some("postgres://nobody@127.0.0.1:1/nothing".to_owned()),
            "API_KEYS" => Some("valid_key".to_owned()),
            "DATABASE_TIMEOUT_MS" => Some("250".to_owned()),
            _ => None,
        };
        let settings =
            Settings::read(environment).unwrap_or_else(|complaint| panic!("{complaint}"));
        let service = Service {
            keys: settings.api_keys.clone(),
            database: Database::new(&settings),
        };
        let request = request.body(Body::empty()).unwrap_or_default();
        match routes(service).oneshot(request).await {
            Ok(answer) => answer.status().as_u16(),
            Err(never) => match never {},
        }
    }

    #[tokio::test]
    async fn what_needs_no_database_is_answered_without_one() {
        assert_eq!(status(Request::get("/health")).await, 200);
        assert_eq!(status(Request::get("/ready")).await, 503);
        assert_eq!(status(Request::get("/nothing")).await, 404);
        assert_eq!(status(Request::delete("/reports")).await, 405);
    }

    #[tokio::test]
    async fn the_key_comes_first() {
        assert_eq!(status(Request::get("/reports?limit=0")).await, 401);
        let with_key = Request::get("/reports?limit=0").header("X-API-Key", "valid_key");
        assert_eq!(status(with_key).await, 400);
    }
}
