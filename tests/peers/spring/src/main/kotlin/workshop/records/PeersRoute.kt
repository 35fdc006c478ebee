// Lets a peer into the room, over a WebSocket.
package workshop.records

import jakarta.servlet.http.HttpServletRequest
import jakarta.servlet.http.HttpServletResponse
import org.springframework.http.server.ServletServerHttpRequest
import org.springframework.http.server.ServletServerHttpResponse
import org.springframework.web.bind.annotation.GetMapping
import org.springframework.web.bind.annotation.PathVariable
import org.springframework.web.bind.annotation.RequestMapping
import org.springframework.web.bind.annotation.RequestMethod.DELETE
import org.springframework.web.bind.annotation.RequestMethod.OPTIONS
import org.springframework.web.bind.annotation.RequestMethod.PATCH
import org.springframework.web.bind.annotation.RequestMethod.POST
import org.springframework.web.bind.annotation.RequestMethod.PUT
import org.springframework.web.bind.annotation.RestController
import org.springframework.web.socket.server.support.DefaultHandshakeHandler

@RestController
class PeersRoute(
    private val room: Room,
    private val settings: PeerSettings,
) {
    private val handshake = DefaultHandshakeHandler()

    /** A route like all others: until the upgrade, what is wrong is answered with a problem. */
    @GetMapping("/peers/{name}")
    fun enter(
        @Suppress("unused") key: ApiKey,
        @PathVariable("name") text: String,
        request: HttpServletRequest,
        response: HttpServletResponse,
    ) {
        val name = peerNameOf(text)
        val upgrade = ServletServerHttpRequest(LimitedUpgrade(request))
        requireUpgrade(upgrade)
        val peer = SessionPeer(name, settings.queue)
        room.enter(peer)
        var isUpgraded = false
        try {
            isUpgraded = handshake.doHandshake(upgrade, ServletServerHttpResponse(response), Conversation(peer, room), mutableMapOf())
        } finally {
            if (!isUpgraded) room.leave(peer)
        }
    }

    @RequestMapping("/peers/{name}", method = [POST, PUT, PATCH, DELETE, OPTIONS])
    fun otherMethods(): Nothing = throw notAllowed()
}
