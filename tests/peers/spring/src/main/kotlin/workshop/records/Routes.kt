// The routes. A HEAD is answered wherever a GET is; any other method is refused.
package workshop.records

import org.springframework.data.repository.findByIdOrNull
import org.springframework.http.HttpStatus
import org.springframework.jdbc.core.simple.JdbcClient
import org.springframework.web.bind.annotation.GetMapping
import org.springframework.web.bind.annotation.PathVariable
import org.springframework.web.bind.annotation.RequestMapping
import org.springframework.web.bind.annotation.RequestMethod.DELETE
import org.springframework.web.bind.annotation.RequestMethod.OPTIONS
import org.springframework.web.bind.annotation.RequestMethod.PATCH
import org.springframework.web.bind.annotation.RequestMethod.POST
import org.springframework.web.bind.annotation.RequestMethod.PUT
import org.springframework.web.bind.annotation.RestController

data class Status(
    val status: String,
)

@RestController
class Routes(
    private val records: Records,
    private val jdbc: JdbcClient,
) {
    @GetMapping("/health")
    fun health() = Status("ok")

    @GetMapping("/ready")
    fun ready(): Status {
        jdbc.sql("SELECT 1").query(Int::class.java).single()
        return Status("ready")
    }

    /** The key is judged before the id is read. */
    @GetMapping("/read/{id}")
    fun read(
        @Suppress("unused") key: ApiKey,
        @PathVariable("id") text: String,
    ): Record {
        val id = parseInt32(text) ?: throw ProblemException(HttpStatus.BAD_REQUEST, "id must be a 32-bit integer")
        return records.findByIdOrNull(id) ?: throw ProblemException(HttpStatus.NOT_FOUND, "there is no record with id $id")
    }

    @RequestMapping("/health", "/ready", "/read/{id}", method = [POST, PUT, PATCH, DELETE, OPTIONS])
    fun notAllowed(): Nothing =
        throw ProblemException(HttpStatus.METHOD_NOT_ALLOWED, "this path does not support that method", "Allow" to "GET, HEAD")
}

/** `toIntOrNull` reads the digits of every script. The contract knows ASCII only. */
private fun parseInt32(text: String): Int? = text.takeIf { it.all { char -> char.code < 0x80 } }?.toIntOrNull()
