// Lets a request pass that brings a valid API key.
package workshop.records

import org.springframework.core.MethodParameter
import org.springframework.stereotype.Component
import org.springframework.web.reactive.BindingContext
import org.springframework.web.reactive.config.WebFluxConfigurer
import org.springframework.web.reactive.result.method.HandlerMethodArgumentResolver
import org.springframework.web.reactive.result.method.annotation.ArgumentResolverConfigurer
import org.springframework.web.server.ServerWebExchange
import reactor.core.publisher.Mono

@Component
class ApiKeys(
    private val keys: Keys,
) : HandlerMethodArgumentResolver,
    WebFluxConfigurer {
    override fun configureArgumentResolvers(configurer: ArgumentResolverConfigurer) = configurer.addCustomResolver(this)

    override fun supportsParameter(parameter: MethodParameter) = parameter.parameterType == ApiKey::class.java

    override fun resolveArgument(
        parameter: MethodParameter,
        context: BindingContext,
        exchange: ServerWebExchange,
    ): Mono<Any> =
        Mono.fromCallable {
            keys.judge(exchange.request.headers.getFirst("X-API-Key"), exchange.request.queryParams.getFirst("api_key"))
        }
}
