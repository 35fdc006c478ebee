// What a path may look like.
package workshop.records

import org.apache.catalina.Lifecycle
import org.apache.coyote.AbstractProtocol
import org.apache.coyote.Adapter
import org.apache.coyote.Request
import org.apache.coyote.Response
import org.apache.tomcat.util.buf.EncodedSolidusHandling
import org.springframework.boot.tomcat.TomcatConnectorCustomizer
import org.springframework.context.annotation.Bean
import org.springframework.context.annotation.Configuration

@Configuration
class Paths {
    /** Tomcat refuses a path that cannot be decoded before anything of this service runs, so this comes before that. */
    @Bean
    fun unusualPaths() =
        TomcatConnectorCustomizer { connector ->
            // Otherwise it refuses an escaped slash, with a page of its own.
            connector.encodedSolidusHandling = EncodedSolidusHandling.PASS_THROUGH.value
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
