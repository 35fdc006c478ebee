//! The library: functions with a C ABI, which C and the JVM can call.
#![expect(
    unsafe_code,
    reason = "what comes across this boundary are addresses, which no one checks"
)]

mod echo;
mod qr;

use std::{panic::catch_unwind, ptr, slice, str};

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
        let bytes = Box::into_raw(bytes.into_boxed_slice());
        Bytes {
            data: bytes.cast(),
            length: bytes.len(),
        }
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
    // SAFETY: the caller guarantees that `text` isn't null, that its `length` bytes are
    // initialized and in one allocation, and that they don't change before `qr_png` returns.
    let text = unsafe { slice::from_raw_parts(text, length) };
    match catch_unwind(|| draw(text)) {
        Ok(Ok(bytes)) => {
            // SAFETY: the caller guarantees that `image` isn't null, is aligned, and points to memory that only we use.
            unsafe { image.write(Bytes::handed_over(bytes)) };
            Outcome::Drawn
        }
        Ok(Err(outcome)) => outcome,
        Err(_) => Outcome::Panicked,
    }
}

/// Frees bytes that a function of this library has handed over.
///
/// # Safety
/// - `data` and `length` must come from the same [`Bytes`], as handed over by this library.
/// - The bytes must be freed only once, and must not be used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_free(data: *mut u8, length: usize) {
    // SAFETY: the caller guarantees that `data` and `length` describe one box that `handed_over` has leaked, so its
    // memory comes from Rust's allocator, and has had no owner since.
    drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(data, length)) });
}
// ANCHOR_END: border

/// Draws these bytes as a QR code, or returns the reason why not, such as invalid UTF-8.
fn draw(text: &[u8]) -> Result<Vec<u8>, Outcome> {
    let text = str::from_utf8(text).map_err(|_| Outcome::NotUtf8)?;
    qr::png(text).map_err(|error| match error {
        QrError::TooLong(_) => Outcome::TooLong,
        QrError::Image(_) => Outcome::NoImage,
    })
}
