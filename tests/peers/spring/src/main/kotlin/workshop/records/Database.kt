// The way to PostgreSQL: a pool of connections, and a time limit for each step.
package workshop.records

import com.zaxxer.hikari.HikariDataSource
import org.postgresql.ds.PGSimpleDataSource
import org.springframework.context.annotation.Bean
import org.springframework.context.annotation.Configuration
import org.springframework.jdbc.datasource.DelegatingDataSource
import java.net.URLDecoder
import java.sql.Connection
import java.sql.SQLException
import java.time.Duration
import javax.sql.DataSource
import kotlin.math.max

@Configuration
class Database {
    /** Opens nothing: the service starts, and tells that it lives, whether the database is there or not. */
    @Bean
    fun dataSource(settings: Settings): HikariDataSource {
        val limit = settings.databaseTimeout
        return HikariDataSource().apply {
            dataSource = RetryingDataSource(postgres(settings), limit)
            maximumPoolSize = settings.poolSize
            minimumIdle = settings.poolSize
            connectionTimeout = limit.toMillis()
            validationTimeout = limit.toMillis()
            initializationFailTimeout = -1
        }
    }

    private fun postgres(settings: Settings): DataSource {
        val url = settings.databaseUrl
        val (user, password) = (url.rawUserInfo ?: "").split(':', limit = 2).map { it.decoded() } + listOf("", "")
        val query = url.rawQuery?.let { "?$it" }.orEmpty()
        val seconds = max(1, settings.databaseTimeout.toSeconds().toInt())
        return PGSimpleDataSource().apply {
            setURL("jdbc:postgresql://${url.host}:${if (url.port > 0) url.port else 5432}${url.rawPath}$query")
            if (user.isNotEmpty()) this.user = user
            if (password.isNotEmpty()) this.password = password
            // While a connection is being opened, limits are in seconds.
            connectTimeout = seconds
            socketTimeout = seconds
            // The database gives up when we do. Otherwise it would go on with queries whose client has gone.
            options = "-c statement_timeout=${settings.databaseTimeout.toMillis()}"
        }
    }

    private fun String.decoded(): String = URLDecoder.decode(replace("+", "%2B"), Charsets.UTF_8)
}

/**
 * Tries again until there is a connection: the pool by itself would wait longer after each failure, and an outage would last
 * longer for us than for the database. A connection that does not answer within [limit] is given up.
 */
private class RetryingDataSource(
    target: DataSource,
    private val limit: Duration,
) : DelegatingDataSource(target) {
    override fun getConnection(): Connection {
        while (true) {
            try {
                return super.getConnection().also { it.setNetworkTimeout(Runnable::run, limit.toMillis().toInt()) }
            } catch (_: SQLException) {
                // The pool interrupts this when it is closed.
                Thread.sleep(RETRY_INTERVAL_MS)
            }
        }
    }

    private companion object {
        const val RETRY_INTERVAL_MS = 100L
    }
}
