// The settings of the service, from environment variables.
package workshop.contacts

import org.slf4j.event.Level
import workshop.service.DatabaseSettings
import workshop.service.EnvironmentReader
import workshop.service.InvalidSettings

/** The settings of the service. Plain classes, not data classes: a `toString` would print the secrets. */
class Settings(
    val address: String,
    val port: Int,
    val users: List<User>,
    val database: DatabaseSettings,
    val logLevel: Level,
) {
    companion object {
        /** @throws InvalidSettings naming every wrong variable at once */
        fun from(environment: Map<String, String>): Settings {
            val read = EnvironmentReader(environment)
            val address = read.text("ADDRESS", default = "127.0.0.1")
            val port = read.number("PORT", default = 8080, range = 0..65_535)
            val users = read.users("CONTACTS_USERS")
            val database = read.database(applicationName = "contacts-kotlin", migrationTimeoutMs = 60_000)
            val logLevel = read.choice("LOG_LEVEL", default = Level.WARN)
            if (database == null || read.complaints.isNotEmpty()) throw InvalidSettings(read.complaints)
            return Settings(address, port, users, database, logLevel)
        }
    }
}

/** Someone who has an address book here. */
class User(
    val name: String,
    val password: String,
)

private val USER_NAME = Regex("[a-z0-9-]{1,32}")

/** No default: everyone who knows this program would know it, too. No message repeats the value. */
private fun EnvironmentReader.users(name: String): List<User> {
    val text = this[name]
    if (text == null) {
        complaints += "$name is not set: it must be the users, such as ada:secret,grace:secret2."
        return emptyList()
    }
    val users = text.split(',').mapNotNull { userIn(it) }
    if (users.size <= text.count { it == ',' }) {
        complaints += "$name has an entry that is no name:password: a name is 1 to 32 of a-z, 0-9 and hyphens."
    }
    if (users.distinctBy { it.name }.size < users.size) complaints += "$name has a name twice."
    return users
}

/** A password may have colons in it. */
private fun userIn(entry: String): User? {
    val (name, password) = entry.split(':', limit = 2).takeIf { it.size == 2 } ?: return null
    return User(name, password).takeIf { USER_NAME.matches(name) && password.isNotEmpty() }
}
