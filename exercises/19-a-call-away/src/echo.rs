//! A function that only copies bytes across the boundary and back, to measure the cost of calls.

use std::slice;

use crate::Bytes;

/// Writes a copy of these bytes to `copy`, and hands the copy over to the caller.
///
/// # Safety
/// - `bytes` must not be null, and must point to `length` initialized bytes of one
///   allocation. The bytes must be neither changed nor freed before this function returns.
/// - `copy` must be non-null, aligned and otherwise unused, with room for one [`Bytes`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_echo(bytes: *const u8, length: usize, copy: *mut Bytes) {
    // SAFETY: the caller guarantees that `bytes` isn't null, and that its `length` bytes are
    // initialized, in one allocation, and unchanged for as long as this slice is used.
    let bytes = unsafe { slice::from_raw_parts(bytes, length) };
    // SAFETY: the caller guarantees that `copy` is non-null, aligned and valid for writes.
    unsafe { copy.write(Bytes::handed_over(bytes.to_vec())) };
}
