//! The module: what a host can call. Only numbers cross its border, so bytes go through its memory.
#![expect(
    unsafe_code,
    reason = "what comes over this border are addresses, and nobody checks them"
)]

mod qr;

use std::str;

// ANCHOR: border
/// What [`qr_png`] returns instead of an image: nothing of Rust's is ever at the address 0.
#[expect(dead_code, reason = "delete this line once it is returned")]
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
/// `text` isn't null. Behind it are `length` initialized bytes of one allocation, and until this function returns, nobody changes
/// or frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_png(text: *const u8, length: usize) -> u64 {
    todo!("draw the {length} bytes at {text:?}, and say where the image is, or that there is none")
}

/// Takes bytes back that a function of this module has handed over.
///
/// # Safety
/// - `data` is an address that this module has handed over, and `length` the number of bytes with it: the beginning of an
///   allocation, and all of it.
/// - They come back once, and nobody uses the bytes any more.
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

/// The image of a text that may be no text, or too long for a code.
#[expect(dead_code, reason = "delete this line once it is called")]
fn draw(text: &[u8]) -> Option<Vec<u8>> {
    qr::png(str::from_utf8(text).ok()?).ok()
}
