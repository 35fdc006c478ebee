//! The library: functions that C can call, and so can a JVM.
#![expect(
    unsafe_code,
    reason = "what comes over this border are addresses, and nobody checks them"
)]

mod echo;
mod qr;

use std::{panic::catch_unwind, ptr, slice, str};

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
        let bytes = Box::into_raw(bytes.into_boxed_slice());
        Bytes {
            data: bytes.cast(),
            length: bytes.len(),
        }
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
    // SAFETY: by the promise above, `text` isn't null, its `length` bytes are initialized and in one allocation, and they stay as
    // they are as long as this slice is used: it ends with this function.
    let text = unsafe { slice::from_raw_parts(text, length) };
    match catch_unwind(|| draw(text)) {
        Ok(Ok(bytes)) => {
            // SAFETY: by the promise above, `image` isn't null, is aligned, and has room for `Bytes` that is ours alone.
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
/// - `data` and `length` are those of one [`Bytes`] of this library: the beginning of its allocation, and all of it.
/// - They are freed once, and nobody uses the bytes afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_free(data: *mut u8, length: usize) {
    // SAFETY: by the promise above, this is the address and the length of one box that `handed_over` let go of, so Rust's
    // allocator made it, and nobody has owned it since.
    drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(data, length)) });
}
// ANCHOR_END: border

/// The image of these bytes, which may not be UTF-8.
fn draw(text: &[u8]) -> Result<Vec<u8>, Outcome> {
    let text = str::from_utf8(text).map_err(|_| Outcome::NotUtf8)?;
    qr::png(text).map_err(|error| match error {
        QrError::TooLong(_) => Outcome::TooLong,
        QrError::Image(_) => Outcome::NoImage,
    })
}
