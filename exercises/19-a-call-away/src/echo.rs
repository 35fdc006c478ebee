//! A function that only copies bytes across the boundary and back, to measure the cost of calls.

use std::slice;

use crate::Bytes;

/// Writes a copy of these bytes to `copy`, and hands it over to the caller.
///
/// # Safety
/// - `bytes` must not be null, and must point to `length` initialized bytes of one allocation,
///   which nothing changes or frees before this function returns.
/// - `copy` must be non-null and aligned, with room for one [`Bytes`] that nothing else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_echo(bytes: *const u8, length: usize, copy: *mut Bytes) {
    // SAFETY: the caller guarantees that `bytes` isn't null, and that its `length` bytes are
    // initialized, in one allocation, and unchanged for as long as this slice is used.
    let bytes = unsafe { slice::from_raw_parts(bytes, length) };
    // SAFETY: the caller guarantees a non-null, aligned `copy` with room that only we use.
    unsafe { copy.write(Bytes::handed_over(bytes.to_vec())) };
}
