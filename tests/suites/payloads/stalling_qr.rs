//! Takes the place of `src/qr.rs` in tests of a service that draws by itself: does what the text tells it to.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Never there, but part of the function's signature.
#[derive(Debug, thiserror::Error)]
#[error("no image")]
pub struct QrError;

pub fn png(text: &str) -> Result<Vec<u8>, QrError> {
    match text {
        "panic" => panic!("planted by a test"),
        "stall" => loop {
            thread::park();
        },
        "slow" => Ok(slow()),
        "most" => Ok(MOST.load(Ordering::SeqCst).to_string().into_bytes()),
        "no image" => Err(QrError),
        _ => Ok(b"an image".to_vec()),
    }
}

/// The slow drawings that are under way, and the most of them that ever were.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn slow() -> Vec<u8> {
    MOST.fetch_max(UNDER_WAY.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    thread::sleep(Duration::from_millis(10));
    UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
    b"an image".to_vec()
}
