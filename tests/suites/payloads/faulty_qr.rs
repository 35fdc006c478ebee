//! Takes the place of `src/qr.rs` in tests of the module and of the library: does what it is told to, and knows how many bytes
//! Rust holds.

use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// Never there, but part of the function's signature.
#[derive(Debug)]
pub enum QrError {
    TooLong(()),
    Image(()),
}

pub fn png(text: &str) -> Result<Vec<u8>, QrError> {
    let calls = CALLS.fetch_add(1, Ordering::SeqCst) + 1;
    match text {
        "panic" => panic!("planted by a test"),
        "hang" => hang(),
        "much" => Ok(much()),
        "alone" => Ok(is_alone().to_string().into_bytes()),
        "calls" => Ok(calls.to_string().into_bytes()),
        "held" => Ok(HELD.load(Ordering::SeqCst).to_string().into_bytes()),
        "too long" => Err(QrError::TooLong(())),
        "no image" => Err(QrError::Image(())),
        _ => Ok(vec![0; 100_000]),
    }
}

/// The calls since the module was instantiated, or the library loaded.
static CALLS: AtomicI64 = AtomicI64::new(0);

fn hang() -> ! {
    loop {
        black_box(());
    }
}

/// Takes 100 MB, and returns as many bytes as there are digits in that.
fn much() -> Vec<u8> {
    let bytes = black_box(vec![1; 100_000_000]);
    bytes.len().to_string().into_bytes()
}

static BUSY: AtomicBool = AtomicBool::new(false);

/// Takes some milliseconds, and says whether nobody else came in meanwhile.
fn is_alone() -> bool {
    let alone = !BUSY.swap(true, Ordering::SeqCst);
    for step in 0..1_000_000 {
        black_box(step);
    }
    BUSY.swap(false, Ordering::SeqCst) && alone
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
