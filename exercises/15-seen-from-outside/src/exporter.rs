//! Export to the collector: an HTTP client for the SDK's threads, and a counter of spans.
#![expect(dead_code, reason = "your telemetry needs it; then delete this line")]

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use opentelemetry::{KeyValue, global, metrics::Counter};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    trace::{SpanData, SpanExporter},
};
use reqwest::{Client, redirect::Policy};
use rocket::{async_trait, tokio::runtime::Handle};
use tracing::warn;

use crate::rate_limit::RateLimit;

// ANCHOR: on-the-runtime
/// An HTTP client that sends on the Tokio runtime of the service. The SDK exports
/// on threads of its own, which have no runtime, but `reqwest` needs one.
#[derive(Clone, Debug)]
pub struct OnTheRuntime {
    client: Client,
    runtime: Handle,
}

impl OnTheRuntime {
    /// Creates a client for the current runtime. A request times out after `limit`.
    pub fn new(limit: Duration) -> reqwest::Result<OnTheRuntime> {
        let client = Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .timeout(limit)
            .build()?;
        let runtime = Handle::current();
        Ok(OnTheRuntime { client, runtime })
    }
}

#[async_trait]
impl HttpClient for OnTheRuntime {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let sending = async move { client.send_bytes(request).await };
        self.runtime.spawn(sending).await?
    }
}
// ANCHOR_END: on-the-runtime

// ANCHOR: counted
/// Wraps an exporter, and counts the spans that the collector accepted and those it didn't.
#[derive(Debug)]
pub struct Counted<E> {
    exporter: E,
    exported: Counter<u64>,
}

/// While the collector is down, every batch fails, so one log line per half minute is enough.
static FAILURES: LazyLock<RateLimit<()>> =
    LazyLock::new(|| RateLimit::new(Duration::from_secs(30)));

impl<E: SpanExporter> Counted<E> {
    /// Wraps this exporter. The counter comes from the global meter provider.
    pub fn new(exporter: E) -> Counted<E> {
        let exported = global::meter("records")
            .u64_counter("otel.sdk.exporter.span.exported")
            .with_unit("{span}")
            .with_description("Spans whose export has ended, well or not.")
            .build();
        Counted { exporter, exported }
    }
}

impl<E: SpanExporter> SpanExporter for Counted<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.len() as u64;
        let result = self.exporter.export(batch).await;
        match &result {
            Ok(()) => self.exported.add(spans, &[]),
            Err(error) => {
                let failed = KeyValue::new("error.type", "export_failed");
                self.exported.add(spans, &[failed]);
                if let Some(suppressed) = FAILURES.admit((), Instant::now()) {
                    warn!(suppressed, "the collector takes no spans: {error}");
                }
            }
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
// ANCHOR_END: counted
