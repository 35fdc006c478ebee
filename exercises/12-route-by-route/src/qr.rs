//! The function that moves: a text goes in, its QR code comes out as a PNG image.

use std::iter::repeat_n;

use png::{BitDepth, ColorType, DeflateCompression, Encoder, EncodingError, Filter};
use qrcodegen::{DataTooLong, QrCode, QrCodeEcc, QrSegment, QrSegmentMode, Version};

/// The number of UTF-8 among the character sets that a QR code can declare.
const UTF_8: u32 = 26;
/// The blank border that readers need, in modules (the squares of a QR code).
const QUIET_ZONE: i32 = 4;
/// No image is narrower than this, in pixels.
const SMALLEST_WIDTH: usize = 200;

/// Why a text has no image.
#[derive(Debug, thiserror::Error)]
pub enum QrError {
    #[error("the text does not fit into a QR code: {0}")]
    TooLong(#[from] DataTooLong),
    #[error("the image cannot be written: {0}")]
    Image(#[from] EncodingError),
}

// ANCHOR: png
/// The QR code of `text` as a PNG image, at error correction level L.
pub fn png(text: &str) -> Result<Vec<u8>, QrError> {
    let code = encode(text)?;
    let (width, rows) = draw(&code);

    let mut image = Vec::new();
    let mut encoder = Encoder::new(&mut image, width, width);
    encoder.set_color(ColorType::Grayscale);
    encoder.set_depth(BitDepth::One);
    // A filter helps photographs; rows of black and white bits compress better as they are.
    encoder.set_filter(Filter::NoFilter);
    encoder.set_deflate_compression(DeflateCompression::Level(6));
    encoder.write_header()?.write_image_data(&rows)?;
    Ok(image)
}

/// The smallest code that holds the text, as one segment of digits, of the QR code's 45 characters,
/// or else of bytes that are declared to be UTF-8.
fn encode(text: &str) -> Result<QrCode, DataTooLong> {
    let mut segments = QrSegment::make_segments(text);
    if segments
        .iter()
        .any(|segment| segment.mode() == QrSegmentMode::Byte)
    {
        segments.insert(0, QrSegment::make_eci(UTF_8));
    }
    let (level, raise_the_level) = (QrCodeEcc::Low, false);
    QrCode::encode_segments_advanced(
        &segments,
        level,
        Version::MIN,
        Version::MAX,
        None,
        raise_the_level,
    )
}

/// The width in pixels, and the rows from top to bottom: one bit a pixel, eight to a byte, 1 is white.
fn draw(code: &QrCode) -> (u32, Vec<u8>) {
    // Outside of the code there are no dark modules: that is the quiet zone.
    let modules = -QUIET_ZONE..code.size() + QUIET_ZONE;
    let across = modules.len();
    let scale = SMALLEST_WIDTH.div_ceil(across);
    let width = across * scale;

    let mut rows = Vec::new();
    for y in modules.clone() {
        let mut row = vec![0xff; width.div_ceil(8)];
        let dark = modules.clone().map(|x| code.get_module(x, y));
        for (pixel, dark) in dark.flat_map(|dark| repeat_n(dark, scale)).enumerate() {
            if dark {
                row[pixel / 8] &= !(0x80 >> (pixel % 8));
            }
        }
        rows.extend(row.repeat(scale));
    }
    (width as u32, rows)
}
// ANCHOR_END: png
