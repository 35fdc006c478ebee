//! For the page "Unsafe is a promise": `cargo run -p workshop-book --example promise`.
#![expect(unsafe_code, reason = "it is what the page is about")]

use std::ptr;

// ANCHOR: promise
/// Lets go of the bytes without freeing them, and says where they are.
fn handed_over(bytes: Vec<u8>) -> (*mut u8, usize) {
    let bytes = Box::into_raw(bytes.into_boxed_slice());
    (bytes.cast(), bytes.len())
}

/// Takes the bytes back.
///
/// # Safety
/// `data` and `length` come from [`handed_over`], belong together, and have not been taken back yet.
unsafe fn taken_back(data: *mut u8, length: usize) -> Box<[u8]> {
    // SAFETY: the caller promises that this is the allocation that `into_raw` let go of, once.
    unsafe { Box::from_raw(ptr::slice_from_raw_parts_mut(data, length)) }
}

fn main() {
    let (data, length) = handed_over(b"an image".to_vec());
    // Here the bytes have no owner. Whoever forgets the next line leaks them.

    // SAFETY: both come from the line above, and nothing has taken the bytes back.
    let bytes = unsafe { taken_back(data, length) };
    println!("{} bytes, freed at the end of main", bytes.len());
}
// ANCHOR_END: promise
