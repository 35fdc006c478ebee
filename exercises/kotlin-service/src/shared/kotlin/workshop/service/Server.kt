// Runs a service on Netty: starts it, logs its address, stops it on a signal, and prints why it can't start.
package workshop.service

import io.ktor.server.application.Application
import io.ktor.server.application.ApplicationStopped
import io.ktor.server.application.ServerReady
import io.ktor.server.engine.connector
import io.ktor.server.engine.embeddedServer
import io.ktor.server.netty.Netty
import io.ktor.server.netty.NettyApplicationEngine
import kotlinx.coroutines.runBlocking
import org.slf4j.LoggerFactory
import sun.misc.Signal
import java.io.IOException
import java.nio.channels.UnresolvedAddressException
import kotlin.system.exitProcess

/**
 * Listens on [address] and [port] until it is told to stop, and calls [stopped] then. The [service] is given its connections,
 * for [drainOnStop].
 */
fun listen(
    address: String,
    port: Int,
    configure: NettyApplicationEngine.Configuration.() -> Unit = {},
    stopped: () -> Unit,
    service: Application.(Connections) -> Unit,
) {
    val connections = Connections()
    val server =
        embeddedServer(
            Netty,
            configure = {
                connector {
                    host = address
                    this.port = port
                }
                // In milliseconds. No grace period here, because `drainOnStop` waits for the requests.
                shutdownGracePeriod = 0
                shutdownTimeout = 2_000
                configure()
                track(connections)
            },
        ) {
            service(connections)
        }
    server.monitor.subscribe(ApplicationStopped) { stopped() }
    server.monitor.subscribe(ServerReady) {
        val connector = runBlocking { server.engine.resolvedConnectors().single() }
        log.info("listening on {}, port {}", connector.host, connector.port)
    }
    exitOnSignals()
    try {
        server.start(wait = true)
    } catch (cause: IOException) {
        refuse(cannotListen(address, port, cause.message))
    } catch (_: UnresolvedAddressException) {
        refuse(cannotListen(address, port, "no such address"))
    }
}

// ANCHOR: refuse

/** Reads the environment with [from]. A wrong variable ends the program. */
fun <T> readSettings(from: (Map<String, String>) -> T): T =
    try {
        from(System.getenv())
    } catch (invalid: InvalidSettings) {
        refuse(invalid.complaints)
    }

/** A wrong setting isn't a bug: the reader gets the sentences, not a stack trace. */
fun refuse(complaints: List<String>): Nothing {
    complaints.forEach(System.err::println)
    exitProcess(1)
}
// ANCHOR_END: refuse

private val log = LoggerFactory.getLogger("workshop.service.start")

/**
 * Makes SIGTERM and Ctrl-C a success: the JVM would exit with 128 and the number of the signal. Its shutdown hooks run all the
 * same, and one of them is Ktor's, which stops the server.
 */
private fun exitOnSignals() {
    listOf("TERM", "INT").forEach { name -> Signal.handle(Signal(name)) { exitProcess(0) } }
}

private fun cannotListen(
    address: String,
    port: Int,
    reason: String?,
) = listOf("Cannot listen on $address, port $port ($reason): set ADDRESS and PORT to a free one.")
