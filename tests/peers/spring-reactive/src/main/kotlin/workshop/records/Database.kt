// The way to PostgreSQL: a pool of connections, and a time limit for each step.
package workshop.records

import io.r2dbc.postgresql.PostgresqlConnectionConfiguration
import io.r2dbc.postgresql.PostgresqlConnectionFactory
import io.r2dbc.postgresql.api.PostgresqlConnection
import io.r2dbc.spi.ValidationDepth
import kotlinx.coroutines.reactor.awaitSingle
import kotlinx.coroutines.reactor.awaitSingleOrNull
import org.springframework.beans.factory.DisposableBean
import org.springframework.stereotype.Component
import reactor.core.publisher.Mono
import reactor.pool.PoolBuilder
import java.net.URLDecoder

@Component
class Database(
    settings: Settings,
) : DisposableBean {
    private val limit = settings.databaseTimeout
    private val factory = PostgresqlConnectionFactory(configuration(settings))

    /** Opens nothing yet: each connection is opened when a request first needs it. */
    private val pool =
        PoolBuilder
            .from(factory.create().timeout(limit))
            .sizeBetween(0, settings.poolSize)
            .evictionPredicate { connection, _ -> !connection.isConnected() }
            .destroyHandler { connection -> connection.close().onErrorComplete() }
            .buildPool()

    /**
     * The one answer to a query, or nothing. A connection whose query did not end is given up, since its answer may still come.
     * R2DBC's own pool has no way to say so.
     */
    suspend fun <T : Any> query(run: (PostgresqlConnection) -> Mono<T>): T? {
        val lent = pool.acquire(limit).awaitSingle()
        var ended = false
        try {
            return run(lent.poolable()).timeout(limit).awaitSingleOrNull().also { ended = true }
        } finally {
            (if (ended) lent.release() else lent.invalidate()).subscribe()
        }
    }

    override fun destroy() {
        pool.disposeLater().block(limit)
    }
}

private fun PostgresqlConnection.isConnected() = validate(ValidationDepth.LOCAL).toFuture().getNow(false) == true

private fun configuration(settings: Settings): PostgresqlConnectionConfiguration {
    val url = settings.databaseUrl
    val (user, password) = (url.rawUserInfo ?: "").split(':', limit = 2).map { it.decoded() } + listOf("", "")
    return PostgresqlConnectionConfiguration
        .builder()
        .host(url.host)
        .port(if (url.port > 0) url.port else 5432)
        .database(url.rawPath.removePrefix("/").decoded())
        .username(user)
        .password(password)
        .connectTimeout(settings.databaseTimeout)
        // The database gives up when we do. Otherwise it would go on with queries whose client has gone.
        .statementTimeout(settings.databaseTimeout)
        .build()
}

private fun String.decoded(): String = URLDecoder.decode(replace("+", "%2B"), Charsets.UTF_8)
