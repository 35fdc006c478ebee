//! A function that does nothing but cross the border in both directions: what it takes is what a call costs.

use std::slice;

use crate::Bytes;

/// Hands over a copy of these bytes.
///
/// # Safety
/// There are `length` bytes at `bytes`, and room for [`Bytes`] at `copy`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_echo(bytes: *const u8, length: usize, copy: *mut Bytes) {
    // SAFETY: the caller says that they are there.
    let bytes = unsafe { slice::from_raw_parts(bytes, length) };
    // SAFETY: the caller says that there is room.
    unsafe { copy.write(Bytes::handed_over(bytes.to_vec())) };
}
