//! The service: reads its settings, assembles its parts, and runs until it is told to stop.

mod api_key;
mod caller;
mod database;
mod error;
mod export;
mod exporter;
mod extract;
mod health_check;
mod issuer_keys;
mod logging;
mod measures;
mod migrations;
mod operation;
mod prices;
mod problem;
mod rate_limit;
mod records;
mod request_log;
mod request_span;
mod settings;
mod start;
mod tasks;
mod telemetry;
mod token;
mod visits;

use std::{env, process::ExitCode, sync::Arc};

use axum::{
    BoxError, Extension, Router,
    error_handling::HandleErrorLayer,
    extract::{DefaultBodyLimit, FromRef},
    middleware,
    routing::{get, post},
};
use tower::{ServiceBuilder, timeout::TimeoutLayer};
use tower_http::{
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer},
    trace::TraceLayer,
};

use crate::{
    api_key::ApiKeys,
    database::Database,
    error::Error,
    export::Exports,
    issuer_keys::IssuerKeys,
    measures::Measures,
    migrations::Schema,
    prices::Prices,
    settings::{MAX_BODY_BYTES, Settings},
    telemetry::Telemetry,
    token::Tokens,
};

/// The shared state. Each handler takes the part that it needs, such as `State<Database>`.
#[derive(Clone, FromRef)]
struct Service {
    keys: ApiKeys,
    /// `None` if no issuer is configured.
    tokens: Option<Tokens>,
    database: Database,
    exports: Exports,
    schema: Schema,
}

#[tokio::main]
async fn main() -> ExitCode {
    let settings = match Settings::from_environment() {
        Ok(settings) => settings,
        Err(error) => return start::refuse(&error),
    };
    if env::args().nth(1).as_deref() == Some("health") {
        return health_check::run(&settings);
    }
    let telemetry = match settings.telemetry.as_ref().map(Telemetry::start) {
        Some(Err(error)) => return start::refuse(&error),
        Some(Ok(telemetry)) => Some(telemetry),
        None => None,
    };
    let tracer = telemetry.as_ref().map(Telemetry::tracer);
    logging::start(settings.log.clone(), tracer);
    let issuer_keys = match settings
        .tokens
        .clone()
        .map(|tokens| IssuerKeys::keep(tokens.keys))
    {
        Some(Err(error)) => return start::refuse(&error),
        Some(Ok(keys)) => Some(keys),
        None => None,
    };
    let tokens = settings.tokens.clone().zip(issuer_keys.clone());
    let tokens = tokens.map(|(settings, keys)| Tokens::new(settings, keys));
    let stopping = || issuer_keys.iter().for_each(|keys| keys.close());
    let ended = start::serve(&settings, stopping, || {
        let service = Service {
            keys: ApiKeys::new(&settings.api_keys),
            tokens,
            database: Database::new(&settings),
            exports: Exports::new(&settings),
            schema: Schema::migrate_in_background(&settings),
        };
        routes(&settings).with_state(service)
    })
    .await;
    if let Some(telemetry) = telemetry {
        telemetry.shutdown().await;
    }
    ended
}

// ANCHOR: routes
fn routes(settings: &Settings) -> Router<Service> {
    // If a collector is configured, each request is measured.
    let measures = settings.telemetry.as_ref().map(|_| {
        let measures = Measures::new();
        middleware::from_fn_with_state(measures, measures::measure)
    });
    // From the outside in: the first layer sees a request first, and the response last.
    let layers = ServiceBuilder::new()
        .map_request(request_log::forget_an_unusable_id)
        .layer(SetRequestIdLayer::x_request_id(MakeRequestUuid))
        .layer(PropagateRequestIdLayer::x_request_id())
        .layer(
            TraceLayer::new_for_http()
                .make_span_with(request_span::of)
                .on_response(request_span::answered)
                // Turns off tower-http's log lines: `request_log` writes our own.
                .on_request(())
                .on_body_chunk(())
                .on_eos(())
                .on_failure(()),
        )
        .option_layer(measures)
        .layer(middleware::from_fn(request_log::log))
        .layer(middleware::from_fn(tasks::answer_in_a_task))
        .layer(HandleErrorLayer::new(async |_elapsed: BoxError| {
            Error::RequestTooSlow
        }))
        .layer(TimeoutLayer::new(settings.request_timeout()))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES));
    let mut routes = Router::new()
        .route("/health", get(operation::health))
        .route("/ready", get(operation::ready))
        .route("/read/{id}", get(records::read))
        .route("/records", get(records::page))
        .route("/records/export", get(export::export))
        .route("/records/{id}/visit", post(visits::visit))
        .route("/visits", post(visits::visit_all));
    if settings.telemetry.is_some() {
        routes = routes.route("/metrics", get(measures::page));
    }
    // If no price service is configured, the path doesn't exist.
    if let Some(settings) = &settings.prices {
        let prices = Arc::new(Prices::new(settings));
        routes = routes.route("/price/{id}", get(prices::price).layer(Extension(prices)));
    }
    routes
        .fallback(async || Error::NotFound("there is nothing at this path".into()))
        // Applies only to routes that were added before this call.
        .method_not_allowed_fallback(async || Error::MethodNotAllowed)
        .layer(layers)
}
// ANCHOR_END: routes
