// The last step before spans leave the process: removes possible secrets from them, and logs failed exports.
package workshop.records

import io.opentelemetry.api.common.AttributeKey
import io.opentelemetry.api.common.Attributes
import io.opentelemetry.sdk.common.CompletableResultCode
import io.opentelemetry.sdk.trace.data.DelegatingSpanData
import io.opentelemetry.sdk.trace.data.EventData
import io.opentelemetry.sdk.trace.data.SpanData
import io.opentelemetry.sdk.trace.export.SpanExporter
import org.slf4j.LoggerFactory
import workshop.service.RateLimit
import kotlin.time.Duration.Companion.minutes

// ANCHOR: guarded-exporter

/** Ktor's plugin records the query of each request, which may hold a key, and the text of each exception, which may quote a row. */
class GuardedExporter(
    private val exporter: SpanExporter,
) : SpanExporter by exporter {
    private val outages = RateLimit(1.minutes)

    override fun export(spans: Collection<SpanData>): CompletableResultCode {
        val result = exporter.export(spans.map(::Guarded))
        return result.whenComplete { if (!result.isSuccess) logLoss(spans.size) }
    }

    private fun logLoss(spans: Int) {
        val suppressed = outages.admit(cause = "") ?: return
        log
            .atWarn()
            .addKeyValue("spans", spans)
            .addKeyValue("suppressed", suppressed)
            .log("the collector did not take the spans")
    }

    private class Guarded(
        span: SpanData,
    ) : DelegatingSpanData(span) {
        private val attributes: Attributes =
            if (span.attributes[URL_QUERY] == null) {
                span.attributes
            } else {
                span.attributes
                    .toBuilder()
                    .removeIf { it == URL_QUERY }
                    .build()
            }

        override fun getAttributes() = attributes

        override fun getTotalAttributeCount() = attributes.size()

        override fun getEvents() = emptyList<EventData>()

        override fun getTotalRecordedEvents() = 0
    }

    private companion object {
        val URL_QUERY: AttributeKey<String> = AttributeKey.stringKey("url.query")
        val log = LoggerFactory.getLogger(GuardedExporter::class.java)!!
    }
}
// ANCHOR_END: guarded-exporter
