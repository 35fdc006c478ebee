// What both stacks read from a path, and answer.
package workshop.records

import org.springframework.http.HttpStatus

data class Status(
    val status: String,
)

/** `toIntOrNull` reads the digits of every script. The contract knows ASCII only. */
private fun parseInt32(text: String): Int? = text.takeIf { it.all { char -> char.code < 0x80 } }?.toIntOrNull()

fun idOf(text: String): Int = parseInt32(text) ?: throw ProblemException(HttpStatus.BAD_REQUEST, "id must be a 32-bit integer")

fun unknown(id: Int) = ProblemException(HttpStatus.NOT_FOUND, "there is no record with id $id")

fun notAllowed() = ProblemException(HttpStatus.METHOD_NOT_ALLOWED, "this path does not support that method", "Allow" to "GET, HEAD")
