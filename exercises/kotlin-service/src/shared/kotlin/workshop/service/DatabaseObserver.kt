// Who watches the way to the database, where somebody does: the pool doesn't know what is done with what it tells.
package workshop.service

/** Is told what becomes of those who ask the database. */
interface DatabaseObserver {
    /** Somebody begins to wait for a connection. */
    fun waits(): Step

    /** A query begins, or a transaction. The [summary] says what it does and to what, and holds no value: `SELECT records`. */
    fun asks(summary: String): Step

    /** The [task], to be run on a thread of the pool, with all that is known here about the request. */
    fun carried(task: Runnable): Runnable

    /** There is a pool. */
    fun watches(pool: PoolFigures)
}

/** Something that takes time. To end it again changes nothing. */
fun interface Step {
    fun end(failure: Throwable?)
}

/** How many connections there may be and are, and how many requests wait for one. Each is counted when it is asked. */
interface PoolFigures {
    val max: Int
    val used: Int
    val idle: Int
    val pending: Int
}

/** Nobody watches. */
object NoObserver : DatabaseObserver {
    private val step = Step {}

    override fun waits() = step

    override fun asks(summary: String) = step

    override fun carried(task: Runnable) = task

    override fun watches(pool: PoolFigures) = Unit
}

/** Runs the [query], and says what became of it. */
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
