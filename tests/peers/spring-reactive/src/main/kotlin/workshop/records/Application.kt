// Starts the service.
package workshop.records

import org.springframework.boot.autoconfigure.SpringBootApplication
import org.springframework.boot.context.properties.ConfigurationPropertiesScan
import org.springframework.boot.runApplication

@SpringBootApplication
@ConfigurationPropertiesScan
class Application

fun main(arguments: Array<String>) {
    exitOnSignals()
    runApplication<Application>(*arguments)
}
