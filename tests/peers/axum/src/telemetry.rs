//! Telemetry: where spans and metrics go, which traces are sampled, and the flush at shutdown.

use std::{thread, time::Duration};

use opentelemetry::{global, trace::TracerProvider};
use opentelemetry_otlp::{ExporterBuildError, MetricExporter, SpanExporter, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkError,
    metrics::SdkMeterProvider,
    trace::{Sampler, SdkTracer, SdkTracerProvider},
};
use thiserror::Error;
use tokio::{sync::oneshot, time::timeout};

use crate::{
    exporter::{Counted, OnTheRuntime},
    settings::TelemetrySettings,
};

/// How long the last exports may delay the shutdown.
const LAST_EXPORTS: Duration = Duration::from_secs(2);

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

// ANCHOR: telemetry
/// Creates spans and metrics, and exports them.
pub struct Telemetry {
    spans: SdkTracerProvider,
    metrics: SdkMeterProvider,
}

impl Telemetry {
    /// Starts the exporter threads. The SDK itself reads the `OTEL_…` variables that configure
    /// where to export, how often, and how much.
    pub fn start(settings: &TelemetrySettings) -> Result<Telemetry, NoTelemetry> {
        let client = OnTheRuntime::new(settings.timeout)?;
        let service = Resource::builder()
            .with_service_name(settings.service_name.clone())
            .build();

        let shown = opentelemetry_prometheus::exporter()
            .with_registry(prometheus::default_registry().clone())
            .build()?;
        let sent = MetricExporter::builder().with_http();
        let metrics = SdkMeterProvider::builder()
            .with_resource(service.clone())
            .with_reader(shown)
            .with_periodic_exporter(sent.with_http_client(client.clone()).build()?)
            .build();
        // Set before the tracer provider is built: its queue counts dropped spans with this meter.
        global::set_meter_provider(metrics.clone());

        // The caller's sampling decision is kept. The ratio applies only to traces that start here.
        let share = Sampler::TraceIdRatioBased(settings.share);
        let sent = SpanExporter::builder().with_http();
        let spans = SdkTracerProvider::builder()
            .with_resource(service)
            .with_sampler(Sampler::ParentBased(Box::new(share)))
            .with_batch_exporter(Counted::new(sent.with_http_client(client).build()?))
            .build();
        Ok(Telemetry { spans, metrics })
    }

    /// The tracer, which starts spans.
    pub fn tracer(&self) -> SdkTracer {
        self.spans.tracer("records")
    }

    /// Exports the remaining data, but doesn't delay the shutdown by more than `LAST_EXPORTS`.
    pub async fn shutdown(self) {
        let (done, sent) = oneshot::channel();
        // A plain thread: the runtime's shutdown would wait for a thread of its own blocking pool.
        thread::spawn(move || {
            let _ = self.spans.shutdown_with_timeout(LAST_EXPORTS);
            let _ = self.metrics.shutdown_with_timeout(LAST_EXPORTS);
            let _ = done.send(());
        });
        let _ = timeout(LAST_EXPORTS, sent).await;
    }
}
// ANCHOR_END: telemetry
