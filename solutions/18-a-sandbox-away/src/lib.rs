//! The exported functions. Only numbers cross the boundary, so bytes are passed in memory.
#![expect(
    unsafe_code,
    reason = "what comes across this boundary are addresses, which no one checks"
)]

mod qr;

use std::{ptr, slice, str};

// ANCHOR: border
/// Returned by [`qr_png`] if it draws no image: an allocation never has the address 0.
const NO_IMAGE: u64 = 0;

/// Allocates a buffer for the host to write to. The host must free it with [`qr_free`].
#[unsafe(no_mangle)]
pub extern "C" fn qr_alloc(length: usize) -> *mut u8 {
    handed_over(vec![0; length])
}

/// Draws the text as a QR code. Returns the address of the image in the upper 32 bits, and
/// its length in the lower 32 bits. The host must free the image with [`qr_free`].
///
/// # Safety
/// `text` must not be null, and must point to `length` initialized bytes of one allocation.
/// The bytes must be neither changed nor freed before this function returns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_png(text: *const u8, length: usize) -> u64 {
    // SAFETY: the caller guarantees that `text` isn't null, that its `length` bytes are
    // initialized and in one allocation, and that they don't change before `qr_png` returns.
    let text = unsafe { slice::from_raw_parts(text, length) };
    match draw(text) {
        Some(image) => {
            let length = image.len() as u64;
            let address = handed_over(image) as u64;
            address << 32 | length
        }
        None => NO_IMAGE,
    }
}

/// Frees bytes that a function of this module has handed over.
///
/// # Safety
/// - `data` must be an address that this module has handed over, and `length`
///   the number of bytes handed over with it: exactly one whole allocation.
/// - The bytes must be freed only once, and must not be used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_free(data: *mut u8, length: usize) {
    // SAFETY: the caller guarantees that `data` and `length` describe one box that `handed_over` has leaked, so its
    // memory comes from Rust's allocator, and has had no owner since.
    drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(data, length)) });
}

/// Gives up ownership of the bytes without freeing them.
fn handed_over(bytes: Vec<u8>) -> *mut u8 {
    Box::into_raw(bytes.into_boxed_slice()).cast()
}
// ANCHOR_END: border

/// Draws these bytes as a QR code; `None` if they aren't UTF-8 or don't fit into a QR code.
fn draw(text: &[u8]) -> Option<Vec<u8>> {
    qr::png(str::from_utf8(text).ok()?).ok()
}
