//! A function that only crosses the boundary in both directions: its time is the cost of a call.

use std::slice;

use crate::Bytes;

/// Hands over a copy of these bytes.
///
/// # Safety
/// - `bytes` isn't null. Behind it are `length` initialized bytes of one allocation, and until this function returns, nobody
///   changes or frees them.
/// - `copy` isn't null, and is aligned for [`Bytes`]. Behind it is room for one, which nobody else uses until then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qr_echo(bytes: *const u8, length: usize, copy: *mut Bytes) {
    // SAFETY: by the promise above, `bytes` isn't null, they are initialized and in one allocation, and nobody changes them as long
    // as this slice is used.
    let bytes = unsafe { slice::from_raw_parts(bytes, length) };
    // SAFETY: by the promise above, `copy` isn't null, is aligned, and has room for `Bytes` that is ours alone.
    unsafe { copy.write(Bytes::handed_over(bytes.to_vec())) };
}
