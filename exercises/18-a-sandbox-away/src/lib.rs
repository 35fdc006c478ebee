//! The module: the functions that a host can call. Only numbers cross the boundary, so bytes go through its memory.
#![expect(
    unsafe_code,
    reason = "what comes over this border are addresses, and nobody checks them"
)]

mod qr;

use std::str;

// ANCHOR: border
/// The result of [`qr_png`] without an image: Rust never puts anything at address 0.
#[expect(dead_code, reason = "delete this line once it is returned")]
const NO_IMAGE: u64 = 0;

/// Allocates bytes that the host will write, and will free with [`qr_free`].
#[unsafe(no_mangle)]
pub extern "C" fn qr_alloc(length: usize) -> *mut u8 {
    handed_over(vec![0; length])
}

/// Draws the QR code of a text, and returns where the image is: its address in the upper half of the number, its length in the
/// lower. The host frees the image with [`qr_free`].
///
/// # Safety
/// `text` isn't null. Behind it are `length` initialized bytes of one allocation, and until this function returns, nobody changes
/// or frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_png(text: *const u8, length: usize) -> u64 {
    todo!("draw the {length} bytes at {text:?}, and say where the image is, or that there is none")
}

/// Frees bytes that a function of this module has handed over.
///
/// # Safety
/// - `data` is an address that this module has handed over, and `length` the number of bytes with it: the beginning of an
///   allocation, and all of it.
/// - They are freed once, and nobody uses the bytes afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_free(data: *mut u8, length: usize) {
    todo!("free the {length} bytes at {data:?}")
}

/// Gives up the bytes without freeing them.
fn handed_over(bytes: Vec<u8>) -> *mut u8 {
    todo!(
        "say where these {} bytes are, and free them no more",
        bytes.len()
    )
}
// ANCHOR_END: border

/// The image of these bytes, which may not be UTF-8, or too long for a code.
#[expect(dead_code, reason = "delete this line once it is called")]
fn draw(text: &[u8]) -> Option<Vec<u8>> {
    qr::png(str::from_utf8(text).ok()?).ok()
}
