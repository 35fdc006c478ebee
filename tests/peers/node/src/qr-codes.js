// Draws QR codes: in JavaScript, or by one of the ways to call Rust. Each way is a function from a text to its image.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'

import pLimit from 'p-limit'
import QRCode from 'qrcode'

import { png } from './png.js'

/** No code can be drawn now. */
export class QrCodesUnavailable extends Error {}

/** The ways, by the names that the setting QR_CODES knows. All but the first call the same function of Rust's, at the path. */
const WAYS = { javascript, program, module, bindgen, addon }

export const NAMES = Object.keys(WAYS)

export function qrCodes ({ way, path }) {
  return WAYS[way](path)
}

/** As few modules as level L allows: the library writes digits and capitals in the shorter ways. */
async function javascript () {
  return (text) => png(QRCode.create(text, { errorCorrectionLevel: 'L' }).modules)
}

const TIMEOUT_MS = 1_000

/** A process for each code, which reads the text and writes the image: as many at once as there are cores, and as many again. */
async function program (path) {
  const limit = pLimit(2 * availableParallelism())
  return async (text) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS)
    try {
      return await limit(() => outputOf(path, text, signal))
    } catch (error) {
      throw new QrCodesUnavailable(`${path} has drawn no image`, { cause: error })
    }
  }
}

/** Whatever happens, the program ends at the latest when the signal says so. */
function outputOf (path, text, signal) {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const child = spawn(path, [], { stdio: ['pipe', 'pipe', 'inherit'], signal })
    const chunks = []
    child.stdout.on('data', (chunk) => chunks.push(chunk))
    child.on('error', reject)
    child.on('close', (code) => code === 0 ? resolve(Buffer.concat(chunks)) : reject(new Error(`exit code ${code}`)))
    child.stdin.on('error', reject)
    child.stdin.end(text)
  })
}

/** The module's functions take numbers, so the text and the image go through its memory, which Rust frees. */
async function module (path) {
  const { instance } = await WebAssembly.instantiate(await readFile(path))
  const { memory, qr_alloc: allocate, qr_free: free, qr_png: draw } = instance.exports
  return (text) => {
    const bytes = Buffer.from(text)
    const address = allocate(bytes.length) >>> 0
    // A new view for each access: memory that grows is another buffer.
    bytes.copy(Buffer.from(memory.buffer, address, bytes.length))
    // The address of the image in the upper half, its length in the lower.
    const image = BigInt.asUintN(64, draw(address, bytes.length))
    free(address, bytes.length)
    if (image === 0n) throw new QrCodesUnavailable('the module has drawn no image')
    const [start, length] = [Number(image >> 32n), Number(image & 0xffff_ffffn)]
    const copy = Buffer.from(Buffer.from(memory.buffer, start, length))
    free(start, length)
    return copy
  }
}

/** The same by JavaScript that wasm-bindgen has written. */
async function bindgen (path) {
  const { png: draw } = createRequire(import.meta.url)(path)
  return (text) => Buffer.from(draw(text).buffer)
}

/** A native function in the process. */
async function addon (path) {
  const module = { exports: {} }
  // `require` asks for a file that ends with .node.
  process.dlopen(module, path)
  return module.exports.png
}
