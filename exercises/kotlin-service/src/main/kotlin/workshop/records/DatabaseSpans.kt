// Spans for each wait for a connection and each query, and metrics for the pool.
package workshop.records

import io.opentelemetry.api.OpenTelemetry
import io.opentelemetry.api.common.AttributeKey
import io.opentelemetry.api.common.Attributes
import io.opentelemetry.api.trace.Span
import io.opentelemetry.api.trace.SpanKind
import io.opentelemetry.api.trace.StatusCode
import io.opentelemetry.context.Context
import workshop.service.DatabaseObserver
import workshop.service.PoolFigures
import workshop.service.Step
import java.sql.SQLException

// ANCHOR: database-spans

/**
 * Written by hand: OpenTelemetry's own for JDBC records the text of each query, and the one for HikariCP sees no waiting, since here
 * requests wait for a thread of the pool.
 */
class DatabaseSpans(
    openTelemetry: OpenTelemetry,
) : DatabaseObserver {
    private val tracer = openTelemetry.getTracer("workshop.records")
    private val meter = openTelemetry.getMeter("workshop.records")

    override fun waits(): Step = SpanStep(tracer.spanBuilder("pool.acquire").startSpan())

    override fun asks(summary: String): Step =
        SpanStep(
            tracer
                .spanBuilder(summary)
                .setSpanKind(SpanKind.CLIENT)
                .setAttribute("db.system.name", "postgresql")
                .setAttribute("db.query.summary", summary)
                .startSpan(),
        )

    override fun carried(task: Runnable): Runnable = Context.current().wrap(task)

    override fun watches(pool: PoolFigures) {
        val name = Attributes.of(POOL_NAME, "records")
        val used = name.toBuilder().put(STATE, "used").build()
        val idle = name.toBuilder().put(STATE, "idle").build()
        meter.upDownCounterBuilder("db.client.connection.count").setUnit("{connection}").buildWithCallback {
            it.record(pool.used.toLong(), used)
            it.record(pool.idle.toLong(), idle)
        }
        meter.upDownCounterBuilder("db.client.connection.pending_requests").setUnit("{request}").buildWithCallback {
            it.record(pool.pending.toLong(), name)
        }
        meter.upDownCounterBuilder("db.client.connection.max").setUnit("{connection}").buildWithCallback {
            it.record(pool.max.toLong(), name)
        }
    }

    private class SpanStep(
        private val span: Span,
    ) : Step {
        override fun end(failure: Throwable?) {
            // The database's own message could quote a row, so the span doesn't contain it.
            if (failure != null) span.setStatus(StatusCode.ERROR).setAttribute("error.type", failure.kind())
            span.end()
        }
    }

    private companion object {
        val POOL_NAME: AttributeKey<String> = AttributeKey.stringKey("db.client.connection.pool.name")
        val STATE: AttributeKey<String> = AttributeKey.stringKey("db.client.connection.state")
    }
}

private fun Throwable.kind(): String =
    generateSequence(this) { it.cause }.filterIsInstance<SQLException>().firstNotNullOfOrNull { it.sqlState } ?: javaClass.name
// ANCHOR_END: database-spans
