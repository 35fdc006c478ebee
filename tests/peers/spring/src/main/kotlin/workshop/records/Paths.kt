// What a path may look like.
package workshop.records

import org.apache.catalina.Lifecycle
import org.apache.coyote.AbstractProtocol
import org.apache.coyote.Adapter
import org.apache.coyote.Request
import org.apache.coyote.Response
import org.springframework.boot.tomcat.TomcatConnectorCustomizer
import org.springframework.context.annotation.Bean
import org.springframework.context.annotation.Configuration
import java.net.URLDecoder
import java.nio.ByteBuffer
import java.nio.charset.CharacterCodingException

@Configuration
class Paths {
    /** Tomcat refuses a path that cannot be decoded before anything of this service runs, so this comes before that. */
    @Bean
    fun unusualPaths() =
        TomcatConnectorCustomizer { connector ->
            connector.addLifecycleListener { event ->
                val protocol = connector.protocolHandler as? AbstractProtocol<*>
                if (event.type == Lifecycle.AFTER_INIT_EVENT && protocol != null) {
                    protocol.adapter = UnusualPaths(protocol.adapter)
                }
            }
        }
}

private class UnusualPaths(
    private val adapter: Adapter,
) : Adapter by adapter {
    override fun service(
        request: Request,
        response: Response,
    ) {
        val path = request.requestURI().toString()
        val usual = usual(path)
        if (usual != path) usual.encodeToByteArray().let { request.requestURI().setBytes(it, 0, it.size) }
        adapter.service(request, response)
    }
}

/** Empty segments do not count. Where a path cannot be decoded, its percent signs stand for themselves: it has no id in it. */
private fun usual(path: String): String {
    val decodable = if ('%' !in path || isDecodable(path)) path else path.replace("%", "%25")
    if ("//" !in decodable && !decodable.endsWith('/')) return decodable
    return decodable.split('/').filter { it.isNotEmpty() }.joinToString("/", prefix = "/")
}

private fun isDecodable(path: String): Boolean =
    try {
        val bytes = URLDecoder.decode(path.replace("+", "%2B"), Charsets.ISO_8859_1).toByteArray(Charsets.ISO_8859_1)
        Charsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes))
        0 !in bytes
    } catch (_: IllegalArgumentException) {
        false
    } catch (_: CharacterCodingException) {
        false
    }
