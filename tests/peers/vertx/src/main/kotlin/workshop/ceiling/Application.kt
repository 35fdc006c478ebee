// The upper bound for the measurements on the JVM: as little between HTTP and PostgreSQL as Kotlin allows.
package workshop.ceiling

import io.vertx.core.DeploymentOptions
import io.vertx.core.Vertx
import io.vertx.core.VertxOptions
import java.util.function.Supplier
import kotlin.system.exitProcess

/**
 * Starts a server on each core; they share the pool. They answer `/health`, `/ready` and `/read/<id>` byte for byte as in the contract,
 * but lack the log, query timeouts and graceful shutdown of a production service. `tests/ceiling` is the same in Rust.
 */
fun main() {
    val settings =
        try {
            Settings.from(System.getenv())
        } catch (wrong: InvalidSettings) {
            System.err.println(wrong.message)
            exitProcess(2)
        }
    val vertx = Vertx.vertx(VertxOptions().setPreferNativeTransport(true))
    val records = Records(settings.pool(vertx))
    val keys = ApiKeys(settings.apiKeys)
    val onEachCore = DeploymentOptions().setInstances(Runtime.getRuntime().availableProcessors())
    val server = Supplier { Server(settings.address, settings.port, keys, records) }
    vertx.deployVerticle(server, onEachCore).onFailure { failure ->
        System.err.println("cannot listen on ${settings.address}:${settings.port}: ${failure.message}")
        exitProcess(1)
    }
}
