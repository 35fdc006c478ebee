// The routes. A HEAD is answered wherever a GET is; any other method is refused.
package workshop.records

import org.springframework.web.bind.annotation.GetMapping
import org.springframework.web.bind.annotation.PathVariable
import org.springframework.web.bind.annotation.RequestMapping
import org.springframework.web.bind.annotation.RequestMethod.DELETE
import org.springframework.web.bind.annotation.RequestMethod.OPTIONS
import org.springframework.web.bind.annotation.RequestMethod.PATCH
import org.springframework.web.bind.annotation.RequestMethod.POST
import org.springframework.web.bind.annotation.RequestMethod.PUT
import org.springframework.web.bind.annotation.RestController
import reactor.core.publisher.Mono

@RestController
class Routes(
    private val records: Records,
    private val database: Database,
) {
    @GetMapping("/health")
    fun health() = Status("ok")

    @GetMapping("/ready")
    suspend fun ready(): Status {
        database.query { connection -> connection.createStatement("SELECT 1").execute().flatMap { it.rowsUpdated }.then(Mono.just(true)) }
        return Status("ready")
    }

    /** The key is judged before the id is read. */
    @GetMapping("/read/{id}")
    suspend fun read(
        @Suppress("unused") key: ApiKey,
        @PathVariable("id") text: String,
    ): Record {
        val id = idOf(text)
        return records.find(id) ?: throw unknown(id)
    }

    @RequestMapping("/health", "/ready", "/read/{id}", method = [POST, PUT, PATCH, DELETE, OPTIONS])
    fun otherMethods(): Nothing = throw notAllowed()
}
