// Puts the service together: its routes, and what is answered where there is none.
import Fastify, { LogController } from 'fastify'

import { requireApiKey } from './api-key.js'
import { Database } from './database.js'
import { Problem, answerProblem, answerUnreadable, malformed, nothingHere } from './problems.js'
import { qrCodes } from './qr-codes.js'

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

export async function service (settings) {
  const app = Fastify({
    // By default, lines wait in a buffer: some would come after the answer that they are about, and the last ones never.
    logger: { level: settings.logLevel, stream: process.stdout },
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

  const png = await qrCodes(settings.qrCodes)
  readOnly(app, '/qrcode', {}, async (request, reply) => {
    const image = await png(textOf(request))
    return reply.type('image/png').send(image)
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

/** Bytes of UTF-8, not characters: the same number of characters takes one to four times as many bytes. */
const MAX_TEXT_BYTES = 512

function textOf (request) {
  const parameters = (request.raw.url.split('?', 2)[1] ?? '').split('&')
  const encoded = parameters.find((parameter) => parameter === 'text' || parameter.startsWith('text='))?.slice('text='.length)
  if (!encoded) throw new Problem(400, 'the query parameter text is missing or empty')
  const text = decodeStrictly(encoded)
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_TEXT_BYTES) {
    throw new Problem(400, `text must be at most ${MAX_TEXT_BYTES} bytes of UTF-8, but has ${bytes}`)
  }
  return text
}

/** `URLSearchParams` would put `�` where the bytes are no UTF-8. */
function decodeStrictly (encoded) {
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '))
  } catch {
    throw malformed()
  }
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
