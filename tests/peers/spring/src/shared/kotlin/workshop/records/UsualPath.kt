// What a path looks like to the routes.
package workshop.records

import java.net.URLDecoder
import java.nio.ByteBuffer
import java.nio.charset.CharacterCodingException

/** Empty segments do not count. Where a path cannot be decoded, its percent signs stand for themselves: it has no id in it. */
fun usual(path: String): String {
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
