// JDBC in fewer lines: a statement with its parameters, and the rows that it answers.
package workshop.contacts

import java.sql.Connection
import java.sql.PreparedStatement
import java.sql.ResultSet
import java.sql.Types

/** The rows that the statement answers, each as [read] makes it. */
fun <T : Any> Connection.query(
    sql: String,
    vararg parameters: Any?,
    read: (ResultSet) -> T,
): List<T> =
    prepared(sql, parameters) { statement ->
        val rows = statement.executeQuery()
        buildList { while (rows.next()) add(read(rows)) }
    }

/** How many rows the statement has changed. */
fun Connection.update(
    sql: String,
    vararg parameters: Any?,
): Int = prepared(sql, parameters) { it.executeUpdate() }

private inline fun <T> Connection.prepared(
    sql: String,
    parameters: Array<out Any?>,
    run: (PreparedStatement) -> T,
): T =
    prepareStatement(sql).use { statement ->
        parameters.forEachIndexed { index, value ->
            when (value) {
                null -> statement.setNull(index + 1, Types.NULL)
                is List<*> -> statement.setArray(index + 1, createArrayOf("text", value.toTypedArray()))
                else -> statement.setObject(index + 1, value)
            }
        }
        run(statement)
    }
