//! The library: functions with a C ABI, which C and the JVM can call.
#![expect(
    unsafe_code,
    reason = "what comes across this boundary are addresses, which no one checks"
)]

mod echo;
mod qr;

use std::str;

use qr::QrError;

// ANCHOR: border
/// Bytes that Rust has handed over. The receiver must pass them to [`qr_free`] exactly once.
#[repr(C)]
pub struct Bytes {
    data: *mut u8,
    length: usize,
}

impl Bytes {
    /// Gives up ownership of the bytes without freeing them.
    fn handed_over(bytes: Vec<u8>) -> Bytes {
        todo!(
            "say where these {} bytes are, and free them no more",
            bytes.len()
        )
    }
}

/// The outcome of a call. The numbers are part of the ABI.
#[repr(i32)]
pub enum Outcome {
    Drawn = 0,
    NotUtf8 = 1,
    TooLong = 2,
    NoImage = 3,
    Panicked = 4,
}

/// Draws the text as a QR code, and writes the address and length of the image to `image`.
///
/// # Safety
/// - `text` must not be null, and must point to `length` initialized bytes of one
///   allocation. The bytes must be neither changed nor freed before this function returns.
/// - `image` must be non-null, aligned and otherwise unused, with room for one [`Bytes`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_png(text: *const u8, length: usize, image: *mut Bytes) -> Outcome {
    todo!("draw the {length} bytes at {text:?}, and write to {image:?} where the image is")
}

/// Frees bytes that a function of this library has handed over.
///
/// # Safety
/// - `data` and `length` must come from the same [`Bytes`], as handed over by this library.
/// - The bytes must be freed only once, and must not be used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_free(data: *mut u8, length: usize) {
    todo!("free the {length} bytes at {data:?}")
}
// ANCHOR_END: border

/// Draws these bytes as a QR code, or returns the reason why not, such as invalid UTF-8.
#[expect(dead_code, reason = "delete this line once it is called")]
fn draw(text: &[u8]) -> Result<Vec<u8>, Outcome> {
    let text = str::from_utf8(text).map_err(|_| Outcome::NotUtf8)?;
    qr::png(text).map_err(|error| match error {
        QrError::TooLong(_) => Outcome::TooLong,
        QrError::Image(_) => Outcome::NoImage,
    })
}
