// Writes a QR code as a PNG file: one bit a pixel, no filters, one block of deflated rows.
import { crc32, deflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
const QUIET_ZONE = 4 // The blank border that readers need, in modules (the squares of a QR code).
const MIN_WIDTH = 200 // No image is narrower than this, in pixels.
const DEFLATE_LEVEL = 3 // As in Kotlin and in Rust.

/** The image of these modules: `size` rows of as many values, and what is true is dark. */
export function png ({ size, data }) {
  const across = size + 2 * QUIET_ZONE
  const scale = Math.ceil(MIN_WIDTH / across)
  const width = across * scale
  const bytes = 1 + Math.ceil(width / 8)

  // A row begins with the number of its filter, 0 for none. Then there are eight pixels to a byte, and 1 is white.
  const rows = Buffer.alloc(width * bytes, 0xff)
  for (let y = 0; y < width; y++) rows[y * bytes] = 0
  for (let y = 0; y < size; y++) {
    const first = (QUIET_ZONE + y) * scale * bytes
    for (let x = 0; x < size; x++) {
      if (data[y * size + x]) darken(rows, first + 1, (QUIET_ZONE + x) * scale, scale)
    }
    for (let copy = 1; copy < scale; copy++) rows.copy(rows, first + copy * bytes, first, first + bytes)
  }
  return Buffer.concat([SIGNATURE, chunk('IHDR', header(width)), chunk('IDAT', deflated(rows)), chunk('IEND', '')])
}

function darken (rows, start, from, pixels) {
  for (let pixel = from; pixel < from + pixels; pixel++) rows[start + (pixel >> 3)] &= ~(0x80 >> (pixel & 7))
}

function deflated (rows) {
  return deflateSync(rows, { level: DEFLATE_LEVEL })
}

/** Width and height; 1 bit a pixel, grayscale, deflate, the standard filters, not interlaced. */
function header (width) {
  const bytes = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0])
  bytes.writeUInt32BE(width, 0)
  bytes.writeUInt32BE(width, 4)
  return bytes
}

/** A chunk of the file: its length, its name, its content, and a checksum of the last two. */
function chunk (name, content) {
  const checked = Buffer.concat([Buffer.from(name), Buffer.from(content)])
  const bytes = Buffer.alloc(8 + checked.length)
  bytes.writeUInt32BE(content.length, 0)
  checked.copy(bytes, 4)
  bytes.writeUInt32BE(crc32(checked), 4 + checked.length)
  return bytes
}
