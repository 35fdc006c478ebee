//! Telemetry: where spans and metrics go, which traces are sampled, and the flush at shutdown.

use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{ExporterBuildError, MetricExporter, SpanExporter, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkError,
    metrics::SdkMeterProvider,
    trace::{Sampler, SdkTracer, SdkTracerProvider},
};
use thiserror::Error;

use crate::{exporter::OnTheRuntime, settings::TelemetrySettings};

/// The reason why telemetry can't be set up.
#[derive(Debug, Error)]
pub enum NoTelemetry {
    #[error("OTEL_EXPORTER_OTLP_ENDPOINT cannot be used: {0}")]
    Exporter(#[from] ExporterBuildError),
    #[error("there is no client for HTTP: {0}")]
    Client(#[from] reqwest::Error),
    #[error("the metrics cannot be shown: {0}")]
    Metrics(#[from] OTelSdkError),
}

// ANCHOR: exporters
/// The exporters to the collector. They read the `OTEL_EXPORTER_…` variables themselves.
#[expect(dead_code, reason = "your telemetry needs it; then delete this")]
struct Exporters {
    spans: SpanExporter,
    metrics: MetricExporter,
}

impl Exporters {
    /// Returns `None` if no collector is configured.
    fn new(settings: &TelemetrySettings) -> Result<Option<Exporters>, NoTelemetry> {
        if !settings.is_sent {
            return Ok(None);
        }
        let client = OnTheRuntime::new(settings.timeout)?;
        let metrics = MetricExporter::builder().with_http();
        let spans = SpanExporter::builder().with_http();
        Ok(Some(Exporters {
            metrics: metrics.with_http_client(client.clone()).build()?,
            spans: spans.with_http_client(client).build()?,
        }))
    }
}
// ANCHOR_END: exporters

// ANCHOR: telemetry
/// The providers of spans and metrics. They exist even without a collector: then
/// nothing is sent, but log lines still have a trace id, and `/metrics` still works.
pub struct Telemetry {
    spans: SdkTracerProvider,
    metrics: SdkMeterProvider,
}

impl Telemetry {
    /// Starts the threads that export. How often and how much they send is set in `OTEL_…`
    /// variables, which the SDK reads itself.
    pub fn start(settings: &TelemetrySettings) -> Result<Telemetry, NoTelemetry> {
        let _exporters = Exporters::new(settings)?;
        let share = Sampler::TraceIdRatioBased(settings.share);
        let service = Resource::builder()
            .with_service_name(settings.service_name.clone())
            .build();
        // Your task: send and expose metrics, send spans, and respect the caller's sampling decision.
        Ok(Telemetry {
            metrics: SdkMeterProvider::builder()
                .with_resource(service.clone())
                .build(),
            spans: SdkTracerProvider::builder()
                .with_resource(service)
                .with_sampler(share)
                .build(),
        })
    }

    /// The tracer, which starts spans.
    pub fn tracer(&self) -> SdkTracer {
        self.spans.tracer("records")
    }

    /// Your task: flush the remaining spans and metrics, but limit how long this may delay the
    /// shutdown of the service.
    pub async fn shutdown(self) {
        drop(self.metrics);
    }
}
// ANCHOR_END: telemetry
