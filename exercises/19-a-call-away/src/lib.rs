//! The library: functions that C can call, and so can a JVM.
#![expect(
    unsafe_code,
    reason = "what comes over this border are addresses, and nobody checks them"
)]

mod echo;
mod qr;

use std::str;

use qr::QrError;

// ANCHOR: border
/// Bytes that Rust has handed over. Their receiver passes them to [`qr_free`], once.
#[repr(C)]
pub struct Bytes {
    data: *mut u8,
    length: usize,
}

impl Bytes {
    /// Gives up the bytes without freeing them.
    fn handed_over(bytes: Vec<u8>) -> Bytes {
        todo!(
            "say where these {} bytes are, and free them no more",
            bytes.len()
        )
    }
}

/// The outcome of a call; the numbers are part of the interface.
#[repr(i32)]
pub enum Outcome {
    Drawn = 0,
    NotUtf8 = 1,
    TooLong = 2,
    NoImage = 3,
    Panicked = 4,
}

/// Draws the QR code of a text, and writes to `image` where it is.
///
/// # Safety
/// - `text` isn't null. Behind it are `length` initialized bytes of one allocation, and until this function returns, nobody
///   changes or frees them.
/// - `image` isn't null, and is aligned for [`Bytes`]. Behind it is room for one, which nobody else uses until then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_png(text: *const u8, length: usize, image: *mut Bytes) -> Outcome {
    todo!("draw the {length} bytes at {text:?}, and write to {image:?} where the image is")
}

/// Frees bytes that a function of this library has handed over.
///
/// # Safety
/// - `data` and `length` are those of one [`Bytes`] of this library: the beginning of its allocation, and all of it.
/// - They are freed once, and nobody uses the bytes afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_free(data: *mut u8, length: usize) {
    todo!("free the {length} bytes at {data:?}")
}
// ANCHOR_END: border

/// The image of these bytes, which may not be UTF-8.
#[expect(dead_code, reason = "delete this line once it is called")]
fn draw(text: &[u8]) -> Result<Vec<u8>, Outcome> {
    let text = str::from_utf8(text).map_err(|_| Outcome::NotUtf8)?;
    qr::png(text).map_err(|error| match error {
        QrError::TooLong(_) => Outcome::TooLong,
        QrError::Image(_) => Outcome::NoImage,
    })
}
