// The metrics endpoint that Prometheus scrapes.
package workshop.records

import io.ktor.http.ContentType
import io.ktor.server.response.respondBytes
import io.ktor.server.routing.Route
import io.ktor.server.routing.get
import io.opentelemetry.exporter.prometheus.PrometheusMetricReader
import io.prometheus.metrics.config.EscapingScheme
import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter
import java.io.ByteArrayOutputStream

// ANCHOR: metrics

/** All metrics in Prometheus's text format. */
class PrometheusPage(
    private val reader: PrometheusMetricReader,
) {
    private val writer = PrometheusTextFormatWriter.create()

    val contentType = ContentType.parse(PrometheusTextFormatWriter.CONTENT_TYPE)

    fun bytes(): ByteArray =
        ByteArrayOutputStream()
            .also { writer.write(it, reader.collect(), EscapingScheme.UNDERSCORE_ESCAPING) }
            .toByteArray()
}

/** Without a key, like `/health`: the proxy in front of the service doesn't expose it. */
fun Route.metrics(page: PrometheusPage) {
    get("/metrics") { call.respondBytes(page.bytes(), page.contentType) }
}
// ANCHOR_END: metrics
