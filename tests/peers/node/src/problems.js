// Turns everything that goes wrong into a problem document (RFC 9457).
import { STATUS_CODES } from 'node:http'

import { DatabaseUnavailable } from './database.js'
import { QrCodesUnavailable } from './qr-codes.js'

/** Thrown to answer a status with a sentence for the client. */
export class Problem extends Error {
  constructor (status, detail, headers = {}) {
    super(detail)
    this.status = status
    this.headers = headers
  }

  get body () {
    return JSON.stringify({
      type: 'about:blank',
      title: STATUS_CODES[this.status],
      status: this.status,
      detail: this.message
    })
  }
}

const MEDIA_TYPE = 'application/problem+json'

export function answerProblem (error, request, reply) {
  const problem = problemOf(error, request)
  return reply.code(problem.status).headers(problem.headers).type(MEDIA_TYPE).send(problem.body)
}

export function nothingHere () {
  throw new Problem(404, 'there is nothing at this path')
}

/** Answers what Node's parser could not read, a method that HTTP does not know for example. There is no request yet. */
export function answerUnreadable (error, socket) {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, body } = malformed()
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${MEDIA_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close'
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

export function malformed () {
  return new Problem(400, 'the request is malformed')
}

/** What the client is told of an error. What it cannot know is logged, and not told. */
function problemOf (error, request) {
  if (error instanceof Problem) return error
  if (error instanceof DatabaseUnavailable) {
    request.log.info(error)
    return new Problem(503, 'the database does not answer')
  }
  if (error instanceof QrCodesUnavailable) {
    request.log.info(error)
    return new Problem(503, 'QR codes cannot be made now')
  }
  if (error.statusCode >= 400 && error.statusCode < 500) return malformed() // Fastify's own refusals
  request.log.error(error)
  return new Problem(500, 'an unexpected error occurred')
}
