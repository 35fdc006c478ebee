// The settings of release 2: those of release 1, and which column says whether a record was visited.
package workshop.releases

import workshop.records.Settings
import workshop.service.DatabaseSettings
import workshop.service.EnvironmentReader
import workshop.service.InvalidSettings

/** The column that is read, and what the database calls the sessions of such an instance: `contract` asks who is there. */
enum class VisitedFrom(
    val applicationName: String,
) {
    VISITED("records 2 (visited)"),
    VISITED_AT("records 2 (visited_at)"),
}

class Release2Settings(
    val service: Settings,
    val visitedFrom: VisitedFrom,
) {
    /** As release 1 has it, under a name of its own. */
    val database: DatabaseSettings =
        with(service.database) { DatabaseSettings(visitedFrom.applicationName, url, poolSize, timeout, migrationTimeout) }

    companion object {
        /** @throws InvalidSettings naming what is wrong */
        fun from(environment: Map<String, String>): Release2Settings {
            val read = EnvironmentReader(environment)
            val visitedFrom = read.choice("VISITED_FROM", default = VisitedFrom.VISITED)
            if (read.complaints.isNotEmpty()) throw InvalidSettings(read.complaints)
            return Release2Settings(Settings.from(environment), visitedFrom)
        }
    }
}
