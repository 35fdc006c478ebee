//! The module: what a host can call. Only numbers cross its border, so bytes go through its memory.
#![expect(
    unsafe_code,
    reason = "what comes over this border are addresses, and nobody checks them"
)]

mod qr;

use std::{ptr, slice, str};

// ANCHOR: border
/// What [`qr_png`] returns instead of an image: nothing of Rust's is ever at the address 0.
const NO_IMAGE: u64 = 0;

/// Makes room for bytes that the host will write, and gives back with [`qr_free`].
#[unsafe(no_mangle)]
pub extern "C" fn qr_alloc(length: usize) -> *mut u8 {
    handed_over(vec![0; length])
}

/// Draws the QR code of a text, and says where the image is: its address in the upper half of the number, its length in the
/// lower. The host gives the image back with [`qr_free`].
///
/// # Safety
/// There are `length` bytes at `text`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_png(text: *const u8, length: usize) -> u64 {
    // SAFETY: the caller says that they are there.
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

/// Takes bytes back that a function of this module has handed over.
///
/// # Safety
/// They are given back for the first time, and as many as there were.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_free(data: *mut u8, length: usize) {
    // SAFETY: the caller says that they are the ones that `handed_over` let go of.
    drop(unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(data, length)) });
}

/// Lets go of the bytes without freeing them.
fn handed_over(bytes: Vec<u8>) -> *mut u8 {
    Box::into_raw(bytes.into_boxed_slice()).cast()
}
// ANCHOR_END: border

/// The image of a text that may be no text, or too long for a code.
fn draw(text: &[u8]) -> Option<Vec<u8>> {
    qr::png(str::from_utf8(text).ok()?).ok()
}
