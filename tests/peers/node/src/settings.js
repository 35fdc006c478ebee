// The settings of the service, read from environment variables once, at the start.
import { availableParallelism } from 'node:os'

import { NAMES } from './qr-codes.js'

export class InvalidSettings extends Error {}

export function settingsFrom (environment) {
  const poolSize = number(environment, 'DATABASE_POOL_SIZE', { fallback: 10, least: 1, most: 1_000 })
  return {
    address: environment.ADDRESS ?? '127.0.0.1',
    port: number(environment, 'PORT', { fallback: 8080, least: 0, most: 65_535 }),
    apiKeys: apiKeys(environment),
    databaseUrl: databaseUrl(environment),
    poolSize,
    processes: processes(environment, poolSize),
    databaseTimeout: number(environment, 'DATABASE_TIMEOUT_MS', { fallback: 1_000, least: 250, most: 60_000 }),
    qrCodes: qrCodes(environment),
    logLevel: (environment.LOG_LEVEL ?? 'warn').toLowerCase()
  }
}

function number (environment, name, { fallback, least, most }) {
  const text = environment[name]
  if (text === undefined) return fallback
  const value = Number(text)
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new InvalidSettings(`${name} must be a whole number from ${least} to ${most}, but is "${text}".`)
  }
  return value
}

/** How many processes share the port: `cores` is one for each core. Each needs a connection. */
function processes (environment, poolSize) {
  if (environment.PROCESSES === 'cores') return Math.min(availableParallelism(), poolSize)
  return number(environment, 'PROCESSES', { fallback: 1, least: 1, most: 1_000 })
}

/** Who draws QR codes, and where that is; in JavaScript where nothing is said. */
function qrCodes ({ QR_CODES: way = 'javascript', QR_CODES_PATH: path }) {
  if (!NAMES.includes(way) || (way !== 'javascript' && !path)) {
    throw new InvalidSettings(`QR_CODES must be one of ${NAMES.join(', ')}; all but the first also need QR_CODES_PATH.`)
  }
  return { way, path }
}

function apiKeys ({ API_KEYS }) {
  const keys = API_KEYS?.split(',').map((key) => key.trim())
  // No sentence repeats what is read here: it is secret.
  if (!keys || keys.includes('')) {
    throw new InvalidSettings('API_KEYS must be the keys to accept, separated by single commas.')
  }
  return keys
}

function databaseUrl ({ DATABASE_URL }) {
  if (!/^postgres(ql)?:\/\/./.test(DATABASE_URL ?? '')) {
    throw new InvalidSettings('DATABASE_URL must be of the shape postgres://user:password@host:port/database.')
  }
  return DATABASE_URL
}
