// How the service ends when it is asked to.
package workshop.records

import sun.misc.Signal
import kotlin.system.exitProcess

/**
 * Makes SIGTERM and Ctrl-C a success: the JVM would exit with 128 and the number of the signal. Its shutdown hooks run all the
 * same, and Spring's is one of them.
 */
fun exitOnSignals() {
    listOf("TERM", "INT").forEach { name -> Signal.handle(Signal(name)) { exitProcess(0) } }
}
