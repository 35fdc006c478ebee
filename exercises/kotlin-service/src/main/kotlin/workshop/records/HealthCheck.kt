// The `health` argument: checks whether the service on this machine is alive, since the image has no curl to do that.
package workshop.records

import java.io.IOException
import java.net.HttpURLConnection
import java.net.InetAddress
import java.net.URI

// ANCHOR: health-check

/** Null when `GET /health` answers 200, else what is wrong. */
fun healthComplaint(settings: Settings): String? =
    try {
        val url = URI("http", null, settings.reachableAddress, settings.port, "/health", null, null).toURL()
        val connection = url.openConnection() as HttpURLConnection
        connection.connectTimeout = TIMEOUT_MS
        connection.readTimeout = TIMEOUT_MS
        if (connection.responseCode == 200) null else "/health answers ${connection.responseCode}."
    } catch (cause: IOException) {
        "/health does not answer: ${cause.message}."
    }
// ANCHOR_END: health-check

private const val TIMEOUT_MS = 2_000

/** A service that listens on all addresses is asked at the loopback address. */
private val Settings.reachableAddress: String
    get() = if (InetAddress.getByName(address).isAnyLocalAddress) InetAddress.getLoopbackAddress().hostAddress else address
