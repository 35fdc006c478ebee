// Lets a request pass that brings a valid API key.
import { createHash, timingSafeEqual } from 'node:crypto'

import { Problem } from './problems.js'

/** A hook that runs before anything else of a route, so the key is judged before the id. */
export function requireApiKey (apiKeys) {
  const accepted = apiKeys.map((key) => digest(key))
  return async function judgeKey (request) {
    const key = keyOf(request)
    if (key === undefined || !isAccepted(digest(key), accepted)) {
      throw new Problem(
        401,
        'a valid API key is required, in the header X-API-Key or the query parameter api_key',
        { 'WWW-Authenticate': 'ApiKey' }
      )
    }
  }
}

/** The query counts only where there is no header: a wrong header is not rescued by a right query. */
function keyOf (request) {
  const header = request.headers['x-api-key']
  // Node reads a header as ISO 8859-1, a character for each byte.
  return header === undefined ? request.query.get('api_key') ?? undefined : Buffer.from(header, 'latin1')
}

/** Digests are equally long, which the comparison in constant time needs. */
function digest (key) {
  return createHash('sha256').update(key).digest()
}

/** Compares with every key, whatever the result so far: the time taken says nothing about how close a guess is. */
function isAccepted (key, accepted) {
  return accepted.reduce((found, other) => timingSafeEqual(key, other) || found, false)
}
