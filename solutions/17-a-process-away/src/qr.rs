//! The function that moves from Kotlin to Rust: it draws text as a QR code in a PNG image.

use std::cell::RefCell;

use fast_qr::{ECL, QRBuilder, QRCode, qr::QRCodeError};
use flate2::{Compress, CompressError, Compression, Crc, FlushCompress};

/// The width of the blank border that scanners need, in modules (the squares of a QR code).
const QUIET_ZONE: usize = 4;
/// The minimum width of an image, in pixels.
const MIN_WIDTH: usize = 200;
/// Takes half as long as the default level, 6, and produces only a tenth more bytes.
const DEFLATE_LEVEL: u32 = 3;

/// The reason why a QR code can't be drawn.
#[derive(Debug, thiserror::Error)]
pub enum QrError {
    #[error("the text does not fit into a QR code: {0}")]
    TooLong(#[from] QRCodeError),
    #[error("the image cannot be written: {0}")]
    Image(#[from] CompressError),
}

// ANCHOR: png
/// Draws the smallest QR code for `text` at error correction level L, as a PNG image.
pub fn png(text: &str) -> Result<Vec<u8>, QrError> {
    let code = QRBuilder::new(text).ecl(ECL::L).build()?;
    let (width, rows) = draw(&code);

    let deflated = deflate(&rows)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "an image has some hundred pixels"
    )]
    let width = (width as u32).to_be_bytes();
    // Width and height; 1 bit per pixel, grayscale, deflate, the standard filters, not interlaced.
    let header = [&width[..], &width, &[1, 0, 0, 0, 0]].concat();

    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    add_chunk(&mut file, b"IHDR", &header);
    add_chunk(&mut file, b"IDAT", &deflated);
    add_chunk(&mut file, b"IEND", &[]);
    Ok(file)
}

/// The width in pixels, and the rows of pixels from top to bottom. Each row begins with
/// its filter type, 0 for none, followed by eight pixels per byte. A 1 bit is white.
fn draw(code: &QRCode) -> (usize, Vec<u8>) {
    let across = code.size + 2 * QUIET_ZONE;
    let scale = MIN_WIDTH.div_ceil(across);
    let width = across * scale;

    let mut white = vec![0xff; 1 + width.div_ceil(8)];
    white[0] = 0;
    let border = white.repeat(QUIET_ZONE * scale);
    let mut rows = border.clone();
    for y in 0..code.size {
        let mut row = white.clone();
        let modules = code[y].iter().enumerate();
        for (x, _) in modules.filter(|(_, module)| module.value()) {
            let first = (QUIET_ZONE + x) * scale;
            for pixel in first..first + scale {
                row[1 + pixel / 8] &= !(0x80 >> (pixel % 8));
            }
        }
        rows.extend(row.repeat(scale));
    }
    rows.extend(border);
    (width, rows)
}

thread_local! {
    /// One per thread, and reused: a compressor takes a hundred times as much memory as an image.
    static DEFLATER: RefCell<Compress> =
        RefCell::new(Compress::new(Compression::new(DEFLATE_LEVEL), true));
}

fn deflate(rows: &[u8]) -> Result<Vec<u8>, CompressError> {
    DEFLATER.with_borrow_mut(|deflater| {
        deflater.reset();
        let mut deflated = Vec::with_capacity(rows.len());
        deflater.compress_vec(rows, &mut deflated, FlushCompress::Finish)?;
        Ok(deflated)
    })
}

/// Appends a PNG chunk: the length, name and content, and a checksum of the name and content.
fn add_chunk(file: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    let mut checksum = Crc::new();
    checksum.update(name);
    checksum.update(content);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a chunk has some hundred bytes"
    )]
    let length = content.len() as u32;
    file.extend(length.to_be_bytes());
    file.extend(name);
    file.extend(content);
    file.extend(checksum.sum().to_be_bytes());
}
// ANCHOR_END: png
