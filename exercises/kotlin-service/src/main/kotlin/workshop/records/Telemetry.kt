// Sets up traces and metrics: the sampling, the exporters, and the limits on exported data.
package workshop.records

import io.opentelemetry.api.OpenTelemetry
import io.opentelemetry.exporter.prometheus.PrometheusMetricReader
import io.opentelemetry.sdk.autoconfigure.AutoConfiguredOpenTelemetrySdk
import io.opentelemetry.sdk.autoconfigure.spi.ConfigurationException
import workshop.service.DatabaseObserver
import workshop.service.refuse
import java.util.concurrent.TimeUnit
import java.util.logging.Level
import java.util.logging.Logger
import kotlin.concurrent.thread

// ANCHOR: telemetry

/**
 * OpenTelemetry's SDK, configured by its own variables (`OTEL_…`). Nothing in this file is loaded unless the service knows a
 * collector.
 */
class Telemetry : AutoCloseable {
    /** Prometheus scrapes the same metrics that are pushed: two readers. */
    private val forPrometheus = PrometheusMetricReader.create()

    private val sdk =
        try {
            AutoConfiguredOpenTelemetrySdk
                .builder()
                .addPropertiesSupplier { DEFAULTS }
                .addSpanExporterCustomizer { exporter, _ -> GuardedExporter(exporter) }
                .addMeterProviderCustomizer { meters, _ -> meters.registerMetricReader(forPrometheus) }
                // The service shuts the SDK down itself, after the last request.
                .disableShutdownHook()
                .build()
                .openTelemetrySdk
        } catch (invalid: ConfigurationException) {
            refuse(listOf(invalid.message.orEmpty()))
        }

    val openTelemetry: OpenTelemetry get() = sdk

    val databaseSpans: DatabaseObserver get() = DatabaseSpans(sdk)

    fun upstream(settings: PriceSettings): Upstream = tracedUpstream(settings, sdk)

    val metrics = PrometheusPage(forPrometheus)

    /** Sends what is left. A collector that hangs doesn't delay the shutdown: the exporter of metrics would wait for it here. */
    override fun close() {
        thread(isDaemon = true, name = "last exports") { sdk.shutdown().join(LONGEST_GOODBYE_MS, TimeUnit.MILLISECONDS) }
            .join(LONGEST_GOODBYE_MS)
    }

    private companion object {
        const val LONGEST_GOODBYE_MS = 2_000L

        val DEFAULTS =
            mapOf(
                "otel.service.name" to "records",
                "otel.exporter.otlp.protocol" to "http/protobuf",
                "otel.logs.exporter" to "none",
                "otel.propagators" to "tracecontext",
                // The caller decides whether a trace is sampled; we decide only for traces that begin here.
                "otel.traces.sampler" to "parentbased_traceidratio",
                "otel.traces.sampler.arg" to "1.0",
                // Off, because an exemplar has all attributes of its request, including the URL's query.
                "otel.metrics.exemplar.filter" to "always_off",
                // Otherwise the SDK's metrics about itself have names that predate the semantic conventions.
                "otel.experimental.sdk.telemetry.version" to "latest",
            )

        /**
         * [GuardedExporter] logs an unreachable collector in one line, and what is lost is counted. Referenced here: the JDK forgets
         * loggers without a reference.
         */
        val silent =
            listOf("io.opentelemetry.exporter", "io.opentelemetry.sdk.trace.export", "io.opentelemetry.sdk.metrics.export")
                .map(Logger::getLogger)
    }

    init {
        silent.forEach { it.level = Level.OFF }
    }
}
// ANCHOR_END: telemetry
