// Puts the service together: its routes, and what is answered where there is none.
import Fastify, { LogController } from 'fastify'

import { requireApiKey } from './api-key.js'
import { Database } from './database.js'
import { Problem, answerProblem, answerUnreadable, nothingHere } from './problems.js'

const RECORD = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    value: { type: 'string' },
    odd: { type: 'boolean' },
    divisible_by_3: { type: 'boolean' },
    visited: { type: 'boolean' }
  }
}

export function service (settings) {
  const app = Fastify({
    logger: { level: settings.logLevel },
    // They would hold whole URLs, and the query of a URL may hold a key.
    logController: new LogController({ disableRequestLogging: true }),
    clientErrorHandler: answerUnreadable,
    rewriteUrl: (request) => withDecodablePath(request.url),
    routerOptions: {
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      querystringParser: (query) => new URLSearchParams(query)
    }
  })
  const database = new Database(settings, app.log)
  app.addHook('onClose', () => database.close())
  app.setErrorHandler(answerProblem)
  app.setNotFoundHandler(nothingHere)

  readOnly(app, '/health', {}, () => ({ status: 'ok' }))

  readOnly(app, '/ready', {}, async () => {
    await database.ping()
    return { status: 'ready' }
  })

  const guarded = { onRequest: requireApiKey(settings.apiKeys), schema: { response: { 200: RECORD } } }
  readOnly(app, '/read/:id', guarded, async (request) => {
    const id = integer(request.params.id)
    const record = await database.find(id)
    if (!record) throw new Problem(404, `there is no record with id ${id}`)
    return record
  })

  return app
}

/** A route for GET and HEAD; any other method is answered 405. */
export function readOnly (app, url, options, handler) {
  const refuse = async () => {
    throw new Problem(405, 'this path does not support that method', { Allow: 'GET, HEAD' })
  }
  const others = app.supportedMethods.filter((method) => !['GET', 'HEAD'].includes(method))
  app.get(url, options, handler)
  // A hook, since Fastify reads the body before it calls a handler.
  app.route({ method: others, url, onRequest: refuse, handler: refuse })
}

/** A signed 32-bit integer in ASCII digits. */
function integer (text) {
  const value = /^[+-]?[0-9]+$/.test(text) ? Number(text) : NaN
  if (value !== (value | 0)) throw new Problem(400, 'id must be a 32-bit integer')
  return value | 0 // there is no -0
}

/** Fastify refuses a path that cannot be decoded. Here its percent signs stand for themselves, and it has no id in it. */
function withDecodablePath (url) {
  const end = url.indexOf('?') === -1 ? url.length : url.indexOf('?')
  try {
    decodeURIComponent(url.slice(0, end))
    return url
  } catch {
    return url.slice(0, end).replaceAll('%', '%25') + url.slice(end)
  }
}
