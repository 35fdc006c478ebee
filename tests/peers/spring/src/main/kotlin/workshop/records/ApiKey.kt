// Lets a request pass that brings a valid API key.
package workshop.records

import org.springframework.core.MethodParameter
import org.springframework.http.HttpStatus
import org.springframework.stereotype.Component
import org.springframework.web.bind.support.WebDataBinderFactory
import org.springframework.web.context.request.NativeWebRequest
import org.springframework.web.method.support.HandlerMethodArgumentResolver
import org.springframework.web.method.support.ModelAndViewContainer
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer
import java.security.MessageDigest

/** The proof that a request has brought a key that counts: a route that asks for one runs only then. */
object ApiKey

@Component
class ApiKeys(
    settings: Settings,
) : HandlerMethodArgumentResolver,
    WebMvcConfigurer {
    private val accepted = settings.apiKeys.map { it.encodeToByteArray() }

    override fun addArgumentResolvers(resolvers: MutableList<HandlerMethodArgumentResolver>) {
        resolvers += this
    }

    override fun supportsParameter(parameter: MethodParameter) = parameter.parameterType == ApiKey::class.java

    override fun resolveArgument(
        parameter: MethodParameter,
        container: ModelAndViewContainer?,
        request: NativeWebRequest,
        binders: WebDataBinderFactory?,
    ): ApiKey {
        // The query counts only where there is no header: a wrong header is not rescued by a right query.
        val header = request.getHeader("X-API-Key")?.toByteArray(Charsets.ISO_8859_1)
        val key = header ?: request.getParameter("api_key")?.encodeToByteArray()
        if (key == null || !accept(key)) {
            throw ProblemException(
                HttpStatus.UNAUTHORIZED,
                "a valid API key is required, in the header X-API-Key or the query parameter api_key",
                "WWW-Authenticate" to "ApiKey",
            )
        }
        return ApiKey
    }

    /** Compares with every key, whatever the result so far: the time taken says nothing about how close a guess is. */
    private fun accept(key: ByteArray) = accepted.fold(false) { found, accepted -> found or MessageDigest.isEqual(accepted, key) }
}
