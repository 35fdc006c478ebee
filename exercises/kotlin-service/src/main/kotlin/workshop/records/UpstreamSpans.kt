// A span for each call to the price service, and the propagation of the trace context to it.
package workshop.records

import io.opentelemetry.api.OpenTelemetry
import io.opentelemetry.api.trace.SpanKind
import io.opentelemetry.api.trace.StatusCode
import io.opentelemetry.context.Context
import io.opentelemetry.extension.kotlin.asContextElement
import kotlinx.coroutines.withContext
import java.net.URI

// ANCHOR: upstream-spans

/** The upstream of these [settings]. Written by hand: OpenTelemetry's own for Jetty is older than its other parts in use here. */
fun tracedUpstream(
    settings: PriceSettings,
    openTelemetry: OpenTelemetry,
): Upstream {
    val tracer = openTelemetry.getTracer("workshop.records")
    val propagator = openTelemetry.propagators.textMapPropagator
    val server = URI(settings.url)
    val upstream =
        upstream(settings) { request ->
            request.headers { headers -> propagator.inject(Context.current(), headers) { it, name, value -> it?.put(name, value) } }
        }
    return Upstream { path ->
        val span =
            tracer
                .spanBuilder("GET")
                .setSpanKind(SpanKind.CLIENT)
                .setAttribute("http.request.method", "GET")
                .setAttribute("server.address", server.host)
                .setAttribute("server.port", (if (server.port > 0) server.port else HTTP_PORT).toLong())
                .startSpan()
        try {
            val answer = withContext(Context.current().with(span).asContextElement()) { upstream.get(path) }
            span.setAttribute("http.response.status_code", answer.status.toLong())
            if (answer.status >= FIRST_ERROR) span.setStatus(StatusCode.ERROR).setAttribute("error.type", "${answer.status}")
            answer
        } catch (failure: Throwable) {
            span.setStatus(StatusCode.ERROR).setAttribute("error.type", failure.javaClass.name)
            throw failure
        } finally {
            span.end()
        }
    }
}

private const val HTTP_PORT = 80

/** To the calling side, 4xx and 5xx are both errors. */
private const val FIRST_ERROR = 400
// ANCHOR_END: upstream-spans
