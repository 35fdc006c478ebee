//! Takes the place of `src/qr.rs` in tests of the library: panics when it is told to, and counts the bytes that Rust holds.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI64, Ordering};

/// Never there, but part of the function's signature.
#[derive(Debug)]
pub enum QrError {
    TooLong(()),
    Image(()),
}

pub fn png(text: &str) -> Result<Vec<u8>, QrError> {
    match text {
        "panic" => panic!("planted by a test"),
        "held" => Ok(HELD.load(Ordering::SeqCst).to_string().into_bytes()),
        "too long" => Err(QrError::TooLong(())),
        "no image" => Err(QrError::Image(())),
        _ => Ok(vec![0; 100_000]),
    }
}

static HELD: AtomicI64 = AtomicI64::new(0);

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size() as i64, Ordering::SeqCst);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size() as i64, Ordering::SeqCst);
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(address, layout) }
    }
}
