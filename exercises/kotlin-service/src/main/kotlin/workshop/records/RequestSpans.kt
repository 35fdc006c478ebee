// A span and the standard metrics for each request, named after the pattern of its route.
package workshop.records

import io.ktor.server.application.Application
import io.ktor.server.application.createApplicationPlugin
import io.ktor.server.application.hooks.CallSetup
import io.ktor.server.application.install
import io.ktor.server.routing.RoutingNode
import io.ktor.server.routing.RoutingRoot
import io.ktor.util.pipeline.PipelinePhase
import io.opentelemetry.api.OpenTelemetry
import io.opentelemetry.api.trace.Span
import io.opentelemetry.api.trace.StatusCode
import io.opentelemetry.context.Context
import io.opentelemetry.instrumentation.api.semconv.http.HttpServerRoute
import io.opentelemetry.instrumentation.api.semconv.http.HttpServerRouteSource
import io.opentelemetry.instrumentation.ktor.common.v2_0.internal.Experimental
import io.opentelemetry.instrumentation.ktor.v3_0.KtorServerTelemetry
import workshop.service.TRACE_ID
import java.util.concurrent.ConcurrentHashMap

// ANCHOR: request-spans

/** To be called first: plugins that are installed before have no span around them. */
fun Application.traceRequests(openTelemetry: OpenTelemetry) {
    install(KtorServerTelemetry) {
        setOpenTelemetry(openTelemetry)
        // Enables the metric of active requests.
        Experimental.emitExperimentalTelemetry(this)
        // Only a 5xx counts as an error: routes also throw for a 404, which is the client's mistake.
        spanStatusExtractor {
            if ((response?.status()?.value ?: 0) >= FIRST_OF_OURS) spanStatusBuilder.setStatus(StatusCode.ERROR)
        }
    }
    beginAtTheRoot()
    install(createApplicationPlugin("TraceIds") { on(CallSetup) { it.attributes.put(TRACE_ID, Span.current().spanContext.traceId) } })

    // Without this, the route in spans and metrics would be `/(authenticate …)/read/{id}`.
    val patterns = ConcurrentHashMap<RoutingNode, String>()
    monitor.subscribe(RoutingRoot.RoutingCallStarted) { call ->
        val pattern = patterns.computeIfAbsent(call.route) { it.pattern() }
        HttpServerRoute.update(Context.current(), HttpServerRouteSource.CONTROLLER, pattern)
    }
}
// ANCHOR_END: request-spans

/**
 * A coroutine that ends leaves its context behind on the thread now and then, and the next request there would go on with that trace
 * (opentelemetry-java-instrumentation #16430).
 */
private fun Application.beginAtTheRoot() {
    val begin = PipelinePhase("Begin")
    insertPhaseBefore(items.first { it.name == "OpenTelemetry" }, begin)
    intercept(begin) { Context.root().makeCurrent() }
}

private const val FIRST_OF_OURS = 500

/** The path as it is written in the source. All other conditions of a route are in parentheses. */
private fun RoutingNode.pattern(): String = toString().split('/').filterNot { it.startsWith('(') }.joinToString("/")
