//! A function that only crosses the boundary in both directions: its time is the cost of a call.

use std::slice;

use crate::Bytes;

/// Hands over a copy of these bytes.
///
/// # Safety
/// - `bytes` must not be null, and must point to `length` initialized bytes of one allocation,
///   which nothing changes or frees before this function returns.
/// - `copy` must be non-null and aligned, with room for one [`Bytes`] that nothing else uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_echo(bytes: *const u8, length: usize, copy: *mut Bytes) {
    // SAFETY: by the promise above, `bytes` isn't null, and its `length` bytes are
    // initialized, in one allocation, and unchanged for as long as this slice is used.
    let bytes = unsafe { slice::from_raw_parts(bytes, length) };
    // SAFETY: by the promise above, `copy` is non-null, aligned, and has room that is ours alone.
    unsafe { copy.write(Bytes::handed_over(bytes.to_vec())) };
}
