// Lets a request pass that brings a valid API key.
package workshop.records

import org.springframework.core.MethodParameter
import org.springframework.stereotype.Component
import org.springframework.web.bind.support.WebDataBinderFactory
import org.springframework.web.context.request.NativeWebRequest
import org.springframework.web.method.support.HandlerMethodArgumentResolver
import org.springframework.web.method.support.ModelAndViewContainer
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer

@Component
class ApiKeys(
    private val keys: Keys,
) : HandlerMethodArgumentResolver,
    WebMvcConfigurer {
    override fun addArgumentResolvers(resolvers: MutableList<HandlerMethodArgumentResolver>) {
        resolvers += this
    }

    override fun supportsParameter(parameter: MethodParameter) = parameter.parameterType == ApiKey::class.java

    override fun resolveArgument(
        parameter: MethodParameter,
        container: ModelAndViewContainer?,
        request: NativeWebRequest,
        binders: WebDataBinderFactory?,
    ) = keys.judge(request.getHeader("X-API-Key"), request.getParameter("api_key"))
}
