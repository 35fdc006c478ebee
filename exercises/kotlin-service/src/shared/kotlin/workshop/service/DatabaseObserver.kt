// An optional observer of database events: the pool doesn't depend on how they are used.
package workshop.service

/** Is notified of what happens to requests for the database. */
interface DatabaseObserver {
    /** A request begins to wait for a connection. */
    fun waits(): Step

    /** A query begins, or a transaction. The [summary] names what it does and to what, without values: `SELECT records`. */
    fun asks(summary: String): Step

    /** The [task], to be run on a thread of the pool, with the context of the request. */
    fun carried(task: Runnable): Runnable

    /** A pool was created. */
    fun watches(pool: PoolFigures)
}

/** Something that takes time. Ending it twice changes nothing. */
fun interface Step {
    fun end(failure: Throwable?)
}

/** How many connections there may be and are, and how many requests wait for one. Each is counted on demand. */
interface PoolFigures {
    val max: Int
    val used: Int
    val idle: Int
    val pending: Int
}

/** Observes nothing. */
object NoObserver : DatabaseObserver {
    private val step = Step {}

    override fun waits() = step

    override fun asks(summary: String) = step

    override fun carried(task: Runnable) = task

    override fun watches(pool: PoolFigures) = Unit
}

/** Runs the [query], and reports its outcome. */
inline fun <T> DatabaseObserver.asking(
    summary: String,
    query: () -> T,
): T = asks(summary).around(query)

/** The step takes as long as the [work]. */
inline fun <T> Step.around(work: () -> T): T {
    val result =
        try {
            work()
        } catch (failure: Throwable) {
            end(failure)
            throw failure
        }
    end(null)
    return result
}
