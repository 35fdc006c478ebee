// What takes longer than a moment runs on threads of its own, as many as there are cores.
package workshop.contacts

import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext

/** Has this work done where it keeps no other request from its answer, `/health` least of all. */
suspend fun <T> computing(work: () -> T): T = withContext(Dispatchers.Default) { work() }
