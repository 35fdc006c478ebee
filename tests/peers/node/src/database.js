// The way to PostgreSQL: a pool of connections, a time limit for each step, and an outage told from a query that is wrong.
import pg from 'pg'

/** The database is away, had no connection free in time, or took too long. */
export class DatabaseUnavailable extends Error {
  constructor (cause) {
    super(`the database does not answer: ${cause.message}`, { cause })
  }
}

export class Database {
  #pool

  /** Opens nothing yet: each connection is opened when a request first needs it. */
  constructor ({ databaseUrl, databaseTimeout, poolSize }, log) {
    this.#pool = new pg.Pool({
      connectionString: databaseUrl,
      max: poolSize,
      idleTimeoutMillis: 0, // never: a connection that is needed again costs more than one that waits
      connectionTimeoutMillis: databaseTimeout,
      query_timeout: databaseTimeout,
      // The database gives up when we do. Otherwise it would go on with queries whose client has gone.
      statement_timeout: databaseTimeout,
      keepAlive: true
    })
    // A connection that breaks while nobody uses it. The pool has already let go of it.
    this.#pool.on('error', (error) => log.info(error))
  }

  async ping () {
    await this.#query({ text: 'SELECT 1' })
  }

  /** The record with this id, or undefined. The statement has a name, so each connection prepares it once. */
  async find (id) {
    const { rows } = await this.#query({
      name: 'find',
      text: 'SELECT id, value, odd, divisible_by_3, visited FROM records WHERE id = $1',
      values: [id]
    })
    return rows[0]
  }

  async close () {
    await this.#pool.end()
  }

  /** One query is one round trip. A connection whose query has failed does not return to the pool. */
  async #query (query) {
    try {
      return await this.#pool.query(query)
    } catch (error) {
      throw isOutage(error) ? new DatabaseUnavailable(error) : error
    }
  }
}

// From "Appendix A. PostgreSQL Error Codes": only for reading, out of memory, too many connections, closed to connections,
// query took too long; connection lost, rolled back, login refused, no such database, stopping.
const OUTAGE = /^(25006|53200|53300|55000|57014|08|28|3D|40|57P)/

/** Whether the database cannot be reached or refuses the login, rather than rejects the query. */
function isOutage (error) {
  return !(error instanceof pg.DatabaseError) || OUTAGE.test(error.code)
}
