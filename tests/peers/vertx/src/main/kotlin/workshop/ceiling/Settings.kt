// The settings, from the same environment variables as in the other measured services.
package workshop.ceiling

import io.vertx.core.Vertx
import io.vertx.pgclient.PgBuilder
import io.vertx.pgclient.PgConnectOptions
import io.vertx.sqlclient.Pool
import io.vertx.sqlclient.PoolOptions
import java.util.concurrent.TimeUnit

/** The message doesn't repeat the value: the URL of the database contains a password. */
class InvalidSettings(
    message: String,
) : Exception(message)

/** A plain class, not a data class: its `toString` would print the secrets. */
class Settings(
    val address: String,
    val port: Int,
    val apiKeys: List<String>,
    private val database: PgConnectOptions,
    private val poolSize: Int,
    private val timeoutMs: Int,
) {
    /**
     * The pool. It lends connections without testing them with a query first, and each read has one to itself, as in Rust: with several
     * reads on a connection (`PgBuilder.client()`) this would no longer be the same work.
     */
    fun pool(vertx: Vertx): Pool {
        val options = PoolOptions().setMaxSize(poolSize).setConnectionTimeout(timeoutMs).setConnectionTimeoutUnit(TimeUnit.MILLISECONDS)
        return PgBuilder.pool().with(options).connectingTo(database.setCachePreparedStatements(true)).using(vertx).build()
    }

    companion object {
        /** @throws InvalidSettings if the database's URL is missing or a variable has an invalid value */
        fun from(environment: Map<String, String>): Settings {
            fun number(
                name: String,
                default: Int,
            ): Int {
                val text = environment[name] ?: return default
                return text.toIntOrNull() ?: throw InvalidSettings("$name must be a whole number")
            }
            val url = environment["DATABASE_URL"] ?: throw InvalidSettings("DATABASE_URL is not set")
            val database =
                try {
                    PgConnectOptions.fromUri(url)
                } catch (_: IllegalArgumentException) {
                    throw InvalidSettings("DATABASE_URL cannot be used")
                }
            return Settings(
                address = environment["ADDRESS"] ?: "127.0.0.1",
                port = number("PORT", default = 8080),
                apiKeys = (environment["API_KEYS"] ?: "valid_key").split(',').map { it.trim() },
                database = database,
                poolSize = number("DATABASE_POOL_SIZE", default = 10),
                timeoutMs = number("DATABASE_TIMEOUT_MS", default = 1_000),
            )
        }
    }
}
