// The log: one JSON object per line, on standard output.
package workshop.service

import ch.qos.logback.classic.LoggerContext
import ch.qos.logback.classic.spi.ILoggingEvent
import ch.qos.logback.classic.spi.ThrowableProxyUtil
import ch.qos.logback.core.encoder.EncoderBase
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.buildJsonObject
import kotlinx.serialization.json.put
import org.slf4j.LoggerFactory
import org.slf4j.event.Level

// ANCHOR: logging

/** Sets the level of this service's own lines. Its libraries are logged from warnings up: see `logback.xml`. */
fun logFrom(level: Level) {
    val loggers = LoggerFactory.getILoggerFactory() as LoggerContext
    loggers.getLogger("workshop").level = ch.qos.logback.classic.Level.convertAnSLF4JLevel(level)
}

/** Writes an event as a line of JSON. Logback's own encoder for JSON uses other names, and numbers for times. */
class JsonLineEncoder : EncoderBase<ILoggingEvent>() {
    override fun encode(event: ILoggingEvent): ByteArray {
        val line =
            buildJsonObject {
                put("timestamp", event.instant.toString())
                put("level", event.level.toString())
                put("logger", event.loggerName)
                put("message", event.formattedMessage)
                event.keyValuePairs?.forEach { put(it.key, jsonOf(it.value)) }
                event.throwableProxy?.let { put("exception", ThrowableProxyUtil.asString(it)) }
            }
        return "$line\n".encodeToByteArray()
    }

    private fun jsonOf(value: Any?) = if (value is Number) JsonPrimitive(value) else JsonPrimitive(value.toString())

    override fun headerBytes() = byteArrayOf()

    override fun footerBytes() = byteArrayOf()
}
// ANCHOR_END: logging
