//! The exported functions. Only numbers cross the boundary, so bytes are passed in memory.
#![expect(
    unsafe_code,
    reason = "what comes across this boundary are addresses, which no one checks"
)]

mod qr;

use std::str;

// ANCHOR: border
/// Returned by [`qr_png`] if it draws no image: an allocation never has the address 0.
#[expect(dead_code, reason = "delete this line once it is returned")]
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
    todo!("draw the {length} bytes at {text:?}, and say where the image is, or that there is none")
}

/// Frees bytes that a function of this module has handed over.
///
/// # Safety
/// - `data` must be an address that this module has handed over, and `length`
///   the number of bytes handed over with it: exactly one whole allocation.
/// - The bytes must be freed only once, and must not be used afterwards.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_free(data: *mut u8, length: usize) {
    todo!("free the {length} bytes at {data:?}")
}

/// Gives up ownership of the bytes without freeing them.
fn handed_over(bytes: Vec<u8>) -> *mut u8 {
    todo!(
        "say where these {} bytes are, and free them no more",
        bytes.len()
    )
}
// ANCHOR_END: border

/// Draws these bytes as a QR code; `None` if they aren't UTF-8 or don't fit into a QR code.
#[expect(dead_code, reason = "delete this line once it is called")]
fn draw(text: &[u8]) -> Option<Vec<u8>> {
    qr::png(str::from_utf8(text).ok()?).ok()
}
