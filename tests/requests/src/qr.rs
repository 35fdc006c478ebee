//! QR codes read back from PNG images, by a decoder that none of the implementations uses.

use std::io::Cursor;

use crate::failure::Failure;
use crate::http::Answer;

/// What an image says of the code in it, and of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QrCode {
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
        .map_err(|error| format!("{} bytes that aren't a PNG image: {error}", image.len()))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use qrcodegen::{QrCode as Drawn, QrCodeEcc, QrSegment, Version};

    const SCALE: i32 = 4;

    /// An image of a code by an encoder that no implementation uses.
    fn image(text: &str, level: QrCodeEcc) -> Vec<u8> {
        let segments = QrSegment::make_segments(text);
        let raise_the_level = false;
        let code = Drawn::encode_segments_advanced(
            &segments,
            level,
            Version::MIN,
            Version::MAX,
            None,
            raise_the_level,
        )
        .unwrap();
        let modules = -4..code.size() + 4;
        let width = modules.len() as u32 * SCALE as u32;
        let pixel = |x: i32, y: i32| match code.get_module(x / SCALE - 4, y / SCALE - 4) {
            true => 0,
            false => 255,
        };
        let side = 0..width as i32;
        let pixels: Vec<u8> = side
            .clone()
            .flat_map(|y| side.clone().map(move |x| (x, y)))
            .map(|(x, y)| pixel(x, y))
            .collect();
        let mut image = Vec::new();
        let mut encoder = png::Encoder::new(&mut image, width, width);
        encoder.set_color(png::ColorType::Grayscale);
        let mut writer = encoder.write_header().unwrap();
        writer.write_image_data(&pixels).unwrap();
        writer.finish().unwrap();
        image
    }

    #[test]
    fn a_code_is_read_back_with_its_version_and_level() {
        for (text, level, expected) in [
            ("Grüße aus Köln", QrCodeEcc::High, (3, 'H')),
            ("0123456789", QrCodeEcc::Medium, (1, 'M')),
        ] {
            let code = decode(&image(text, level)).unwrap();
            assert_eq!(code.text, text);
            assert_eq!((code.version, code.level), expected);
            let width = ((17 + 4 * code.version + 8) * SCALE as usize) as u32;
            assert_eq!((code.size, code.bits), ((width, width), 8));
        }
    }

    #[test]
    fn what_is_no_code_is_told_from_what_is_no_image() {
        assert!(
            decode(b"no image")
                .unwrap_err()
                .contains("aren't a PNG image")
        );
    }
}
