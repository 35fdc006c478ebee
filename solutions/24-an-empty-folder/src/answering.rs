//! Layers around all routes: each request gets an id, a task of its own, and a line in the log.

use std::{any::Any, time::Duration};

use axum::{
    Router,
    extract::Request,
    http::{HeaderName, StatusCode},
    middleware::{self, Next},
    response::Response,
};
use tower::ServiceBuilder;
use tower_http::{
    catch_panic::CatchPanicLayer,
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer},
    trace::TraceLayer,
};
use tracing::{Span, error_span, info};

use crate::{error::UNEXPECTED, problem::problem};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

// ANCHOR: layers
/// Wraps all routes in these layers, of which the first is the outermost.
pub fn around(routes: Router) -> Router {
    let layers = ServiceBuilder::new()
        .layer(middleware::from_fn(in_a_task))
        .map_request(without_an_unusable_id)
        .layer(SetRequestIdLayer::new(REQUEST_ID, MakeRequestUuid))
        .layer(PropagateRequestIdLayer::new(REQUEST_ID))
        .layer(
            TraceLayer::new_for_http()
                .make_span_with(span)
                .on_request(())
                .on_response(answered)
                .on_failure(()), // `error.rs` says why
        );
    routes
        .layer(CatchPanicLayer::custom(panicked))
        .layer(layers)
}
// ANCHOR_END: layers

/// Runs the request in a task of its own. If the client hangs up, the task still ends: a transaction is either committed
/// or rolled back, and the database connection returns to the pool.
async fn in_a_task(request: Request, next: Next) -> Response {
    let answer = tokio::spawn(next.run(request)).await;
    // Panics are caught inside the task, so an error means that the runtime has canceled the task.
    answer.unwrap_or_else(|error| panicked(Box::new(error)))
}

/// Removes the client's own request id if it would be ambiguous in the log.
fn without_an_unusable_id(mut request: Request) -> Request {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let id = request.headers().get(REQUEST_ID);
    let is_usable =
        id.is_some_and(|id| (1..=64).contains(&id.len()) && id.as_bytes().iter().all(allowed));
    if !is_usable {
        request.headers_mut().remove(REQUEST_ID);
    }
    request
}

/// The span of a request. Every log line inside the span has the id, even a library's.
fn span(request: &Request) -> Span {
    let id = request.headers().get(REQUEST_ID);
    let request_id = id.and_then(|id| id.to_str().ok()).unwrap_or_default();
    // Only the path: the query isn't logged.
    error_span!("request", request_id, method = %request.method(), path = request.uri().path())
}

fn answered(response: &Response, took: Duration, _: &Span) {
    let (status, milliseconds) = (response.status().as_u16(), took.as_secs_f64() * 1000.0);
    info!(status, milliseconds, "answered");
}

/// Responds with 500 when a handler panics; the hook in `logging.rs` has logged the panic.
fn panicked(_: Box<dyn Any + Send>) -> Response {
    problem(StatusCode::INTERNAL_SERVER_ERROR, UNEXPECTED)
}

#[cfg(test)]
mod tests {
    use std::{
        io::{self, Write},
        sync::{Mutex, PoisonError},
    };

    use axum::{body::Body, routing::get};
    use tower::ServiceExt;
    use tracing::{level_filters::LevelFilter, subscriber};

    use super::*;
    use crate::logging;

    /// The captured log output.
    static LOGGED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

    struct Kept;

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut logged = LOGGED.lock().unwrap_or_else(PoisonError::into_inner);
            logged.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn a_panic_is_answered_and_logged_with_the_id_of_its_request() {
        let kept = logging::to(LevelFilter::INFO, || Kept);
        assert!(subscriber::set_global_default(kept).is_ok());
        logging::panics();
        let routes = Router::new().route("/", get(async || -> &str { panic!("a bug") }));
        let request = Request::get("/").header(REQUEST_ID, "why-500");
        let answer = around(routes)
            .oneshot(request.body(Body::empty()).unwrap_or_default())
            .await;
        drop(std::panic::take_hook());
        let status = answer.map(|answer| answer.status());
        assert_eq!(status, Ok(StatusCode::INTERNAL_SERVER_ERROR));
        let logged = LOGGED.lock().unwrap_or_else(PoisonError::into_inner);
        let logged = String::from_utf8_lossy(&logged);
        // Other tests write to the same log, so keep only the lines of this request.
        let mut lines: Vec<&str> = logged.lines().collect();
        lines.retain(|line| line.contains("why-500"));
        let [panicked, answered] = lines[..] else {
            panic!("two lines, not {logged}");
        };
        assert!(panicked.contains("a bug"), "{panicked}");
        assert!(answered.contains("\"status\":500"), "{answered}");
    }
}
