//! The telemetry: where spans and metrics go, which traces are kept, and that the last spans are sent before the service ends.

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

/// Why there is no telemetry.
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
/// What sends to the collector, by the variables `OTEL_EXPORTER_…`, which the exporters read themselves.
#[expect(dead_code, reason = "your telemetry needs it; then delete this")]
struct Exporters {
    spans: SpanExporter,
    metrics: MetricExporter,
}

impl Exporters {
    /// None without a collector.
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
/// What makes spans and metrics, and sends them. Without a collector there are both as well, and nobody
/// gets them: lines of the log still have a trace id, and `/metrics` still answers.
pub struct Telemetry {
    spans: SdkTracerProvider,
    metrics: SdkMeterProvider,
}

impl Telemetry {
    /// Starts the threads that send. How often and how much is said by the variables `OTEL_…`, which
    /// the SDK reads itself.
    pub fn start(settings: &TelemetrySettings) -> Result<Telemetry, NoTelemetry> {
        let _exporters = Exporters::new(settings)?;
        let share = Sampler::TraceIdRatioBased(settings.share);
        let service = Resource::builder()
            .with_service_name(settings.service_name.clone())
            .build();
        // Your task: metrics are sent and shown, spans are sent, and a caller who has decided is obeyed.
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

    /// What begins spans.
    pub fn tracer(&self) -> SdkTracer {
        self.spans.tracer("records")
    }

    /// Your task: sends what has not been sent yet, and waits for it as long as the end of a service may be
    /// held up.
    pub async fn shutdown(self) {
        drop(self.metrics);
    }
}
// ANCHOR_END: telemetry
