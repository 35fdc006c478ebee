//! QR codes read back from PNG images, by a decoder that none of the implementations uses.

use std::io::Cursor;

use crate::request::failure::Failure;
use crate::request::http::Answer;

/// What an image says of the code in it, and of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QrCode {
    /// The text.
    pub text: String,
    /// The version, which is the size: 1 has 21 modules on a side, every further one 4 more.
    pub version: usize,
    /// The error correction level.
    pub level: char,
    /// The image's width and height, in pixels.
    pub size: (u32, u32),
    /// Bits of a pixel, all channels.
    pub bits: usize,
}

/// The code in the body of an answer.
pub fn code_of(answer: &Answer) -> Result<QrCode, Failure> {
    answer.expect_status(200)?;
    decode(answer.body()).map_err(|fault| answer.failure("a PNG image of a QR code", fault))
}

/// Reads the code in a PNG image.
pub fn decode(image: &[u8]) -> Result<QrCode, String> {
    let mut decoder = png::Decoder::new(Cursor::new(image));
    let (color, depth) = decoder
        .read_header_info()
        .map(|header| (header.color_type, header.bit_depth))
        .map_err(|error| format!("{} bytes that are no PNG image: {error}", image.len()))?;
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let (pixels, frame) = pixels(decoder).map_err(|error| format!("a broken PNG: {error}"))?;
    let (width, channels) = (frame.width as usize, frame.color_type.samples());
    let mut prepared =
        rqrr::PreparedImage::prepare_from_greyscale(width, frame.height as usize, |x, y| {
            pixels[(y * width + x) * channels]
        });
    let grids = prepared.detect_grids();
    let [grid] = grids.as_slice() else {
        return Err(format!("an image with {} QR codes", grids.len()));
    };
    let (meta, text) = grid
        .decode()
        .map_err(|error| format!("a QR code that cannot be read: {error}"))?;
    Ok(QrCode {
        text,
        version: meta.version.0,
        level: level(meta.ecc_level),
        size: (frame.width, frame.height),
        bits: color.samples() * depth as usize,
    })
}

fn pixels(
    decoder: png::Decoder<Cursor<&[u8]>>,
) -> Result<(Vec<u8>, png::OutputInfo), png::DecodingError> {
    let mut reader = decoder.read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().unwrap_or_default()];
    let frame = reader.next_frame(&mut pixels)?;
    Ok((pixels, frame))
}

/// The two bits in the code stand for the levels in this order.
fn level(bits: u16) -> char {
    ['M', 'L', 'H', 'Q']
        .get(usize::from(bits))
        .copied()
        .unwrap_or('?')
}
