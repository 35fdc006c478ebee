// Access tokens: reads them from requests, refuses invalid ones, and checks the scope that each route requires.
package workshop.records

import io.ktor.http.HttpHeaders
import io.ktor.http.HttpStatusCode
import io.ktor.server.application.createRouteScopedPlugin
import io.ktor.server.application.install
import io.ktor.server.auth.AuthenticationChecked
import io.ktor.server.auth.AuthenticationConfig
import io.ktor.server.auth.principal
import io.ktor.server.request.ApplicationRequest
import io.ktor.server.routing.Route
import io.ktor.server.routing.RouteSelector
import io.ktor.server.routing.RouteSelectorEvaluation
import io.ktor.server.routing.RoutingResolveContext
import org.slf4j.LoggerFactory
import workshop.service.ProblemException
import workshop.service.SUBJECT
import workshop.service.about
import workshop.service.isKnown

// ANCHOR: bearer

/** The provider of tokens, as Ktor's routes name it. */
const val TOKEN_IN_HEADER = "token in the header"

/** The scopes that the routes require. Neither includes the other. */
const val READ = "records:read"
const val WRITE = "records:write"

/** The credentials of a caller: a key, or a token if an issuer is configured. */
fun AuthenticationConfig.credentials(
    apiKeys: List<String>,
    tokens: Tokens?,
) {
    apiKeys(apiKeys, ifMissing = if (tokens == null) ::noKey else ::neitherTokenNorKey)
    tokens?.let { tokens(it) }
}

/** The names of the providers, in order. The first one that finds a credential decides. */
fun placesFor(tokens: Tokens?): Array<String> =
    listOfNotNull(TOKEN_IN_HEADER.takeIf { tokens != null }, KEY_IN_HEADER, KEY_IN_QUERY).toTypedArray()

/** If there is a token, it alone decides: a key doesn't make up for a wrong one. */
fun AuthenticationConfig.tokens(tokens: Tokens) {
    provider(TOKEN_IN_HEADER) {
        authenticate { context ->
            val call = context.call
            val token = call.request.bearerToken() ?: return@authenticate
            val holder =
                try {
                    tokens.holderOf(token)
                } catch (refused: TokenRefused) {
                    // Log the reason, but no part of the token.
                    log.atInfo().about(call).log("token refused: {}", refused.reason.name.lowercase())
                    throw unauthorized()
                }
            call.isKnown()
            call.attributes.put(SUBJECT, holder.subject)
            context.principal(holder)
        }
    }
}

private fun ApplicationRequest.bearerToken(): String? {
    val given = headers.getAll(HttpHeaders.Authorization).orEmpty()
    if (given.size > 1) throw notOneToken()
    val credentials = given.firstOrNull() ?: return null
    if (!credentials.substringBefore(' ').equals("Bearer", ignoreCase = true)) return null
    return credentials.substringAfter(' ', "").trim().ifEmpty { throw notOneToken() }
}
// ANCHOR_END: bearer

// ANCHOR: scope

/** The routes in [build] are for clients whose token has this [scope], and for those with a key. */
fun Route.allowed(
    scope: String,
    tokens: Tokens?,
    build: Route.() -> Unit,
) {
    if (tokens == null) return build()
    val route = createChild(ScopeSelector(scope))
    route.install(
        createRouteScopedPlugin("Scope") {
            on(AuthenticationChecked) { call ->
                val holder = call.principal<TokenHolder>()
                if (holder != null && scope !in holder.scopes) throw lacking(scope)
            }
        },
    )
    route.build()
}
// ANCHOR_END: scope

/** Takes nothing of the path, like Ktor's own selector for `authenticate`. */
private data class ScopeSelector(
    val scope: String,
) : RouteSelector() {
    override suspend fun evaluate(
        context: RoutingResolveContext,
        segmentIndex: Int,
    ) = RouteSelectorEvaluation.Transparent

    override fun toString() = "(scope $scope)"
}

/** For a request that brings neither a token nor a key, or a wrong key. */
fun neitherTokenNorKey() =
    ProblemException(
        HttpStatusCode.Unauthorized,
        "an access token is required, in the header Authorization, or a valid API key, in the header X-API-Key or the query " +
            "parameter api_key",
        HttpHeaders.WWWAuthenticate to "Bearer realm=\"records\"",
        HttpHeaders.WWWAuthenticate to "ApiKey",
    )

/** The same for every wrong token: differences would only help forgers. */
private fun unauthorized() =
    ProblemException(HttpStatusCode.Unauthorized, "the access token is not valid", challenge("invalid_token"))

private fun lacking(scope: String) =
    ProblemException(
        HttpStatusCode.Forbidden,
        "the access token lacks the scope $scope",
        challenge("insufficient_scope", ", scope=\"$scope\""),
    )

private fun notOneToken() =
    ProblemException(
        HttpStatusCode.BadRequest,
        "the header Authorization must be there once, with one token",
        challenge("invalid_request"),
    )

/** The header `WWW-Authenticate`, by RFC 6750, section 3. */
private fun challenge(
    error: String,
    more: String = "",
) = HttpHeaders.WWWAuthenticate to "Bearer realm=\"records\", error=\"$error\"$more"

private val log = LoggerFactory.getLogger("workshop.records.tokens")
