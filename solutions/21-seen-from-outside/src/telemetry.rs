//! The telemetry: where spans and metrics go, which traces are kept, and that the last spans are sent before the service ends.

use std::{thread, time::Duration};

use opentelemetry::{global, trace::TracerProvider};
use opentelemetry_otlp::{ExporterBuildError, MetricExporter, SpanExporter, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    metrics::{PeriodicReader, SdkMeterProvider},
    trace::{Sampler, SdkTracer, SdkTracerProvider},
};
use rocket::tokio::{sync::oneshot, time::timeout};
use thiserror::Error;

use crate::{
    exporter::{Counted, OnTheRuntime},
    settings::TelemetrySettings,
};

/// How long the last exports may hold up the end of the service.
const LAST_EXPORTS: Duration = Duration::from_secs(2);

// ANCHOR: telemetry
/// What sends spans and metrics. Without an address there are spans and metrics as well, but nobody
/// gets them: lines of the log still have a trace id, and `/metrics` still answers.
pub struct Telemetry {
    spans: SdkTracerProvider,
    metrics: SdkMeterProvider,
}

/// Why there is no telemetry.
#[derive(Debug, Error)]
pub enum NoTelemetry {
    #[error("OTEL_EXPORTER_OTLP_ENDPOINT cannot be used: {0}")]
    Exporter(#[from] ExporterBuildError),
    #[error("there is no client for HTTP: {0}")]
    Client(#[from] reqwest::Error),
    #[error("the metrics cannot be shown: {0}")]
    Metrics(#[from] opentelemetry_sdk::error::OTelSdkError),
}

impl Telemetry {
    /// Starts the threads that send. Address, intervals and sizes are the variables `OTEL_…`, which the
    /// SDK reads itself.
    pub fn start(settings: &TelemetrySettings) -> Result<Telemetry, NoTelemetry> {
        let resource = Resource::builder()
            .with_service_name(settings.service_name.clone())
            .build();
        let pulled = opentelemetry_prometheus::exporter().build()?;
        let mut metrics = SdkMeterProvider::builder()
            .with_resource(resource.clone())
            .with_reader(pulled);
        if settings.is_sent {
            let exporter = MetricExporter::builder()
                .with_http()
                .with_http_client(OnTheRuntime::new(settings.timeout)?)
                .build()?;
            metrics = metrics.with_reader(PeriodicReader::builder(exporter).build());
        }
        let metrics = metrics.build();
        // First the metrics: what processes spans counts those that it drops, by the meter of that moment.
        global::set_meter_provider(metrics.clone());

        let share = Sampler::TraceIdRatioBased(settings.share);
        let mut spans = SdkTracerProvider::builder()
            .with_resource(resource)
            .with_sampler(Sampler::ParentBased(Box::new(share)));
        if settings.is_sent {
            let exporter = SpanExporter::builder()
                .with_http()
                .with_http_client(OnTheRuntime::new(settings.timeout)?)
                .build()?;
            spans = spans.with_batch_exporter(Counted::new(exporter));
        }
        let spans = spans.build();
        Ok(Telemetry { spans, metrics })
    }

    /// What begins spans.
    pub fn tracer(&self) -> SdkTracer {
        self.spans.tracer("records")
    }

    /// Sends what has not been sent yet, and waits for it as long as the end of a service may be held up.
    pub async fn shutdown(self) {
        let (done, sent) = oneshot::channel();
        // A thread of its own: the runtime would wait for one of its threads, however long it takes.
        thread::spawn(move || {
            let _ = self.spans.shutdown_with_timeout(LAST_EXPORTS);
            let _ = self.metrics.shutdown_with_timeout(LAST_EXPORTS);
            let _ = done.send(());
        });
        let _ = timeout(LAST_EXPORTS, sent).await;
    }
}
// ANCHOR_END: telemetry
