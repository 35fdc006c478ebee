//! Work with a share that may hang: on threads of its own, and awaited for so long as one file may take.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Work by what it is about. Nobody can call back a thread that waits for a share, so there is one per key at most, however often it is asked.
pub struct Background<K, T> {
    limit: Duration,
    waiting: BTreeMap<K, (Instant, Receiver<T>)>,
}

impl<K: Ord, T: Send + 'static> Background<K, T> {
    /// Work that may take so long.
    pub fn new(limit: Duration) -> Self {
        Background {
            limit,
            waiting: BTreeMap::new(),
        }
    }

    /// Begins the work, unless what was begun earlier under this key still hangs.
    pub fn ask(&mut self, key: K, work: impl FnOnce() -> T + Send + 'static) {
        self.waiting.entry(key).or_insert_with(|| {
            let (sender, receiver) = mpsc::channel();
            // The receiver is gone when the command has ended.
            thread::spawn(move || sender.send(work()));
            (Instant::now(), receiver)
        });
    }

    /// What came of it; `None` where it hangs.
    pub fn answer(&mut self, key: &K) -> Option<T> {
        let (began, receiver) = self.waiting.get(key)?;
        let left = self.limit.saturating_sub(began.elapsed());
        match receiver.recv_timeout(left) {
            Err(mpsc::RecvTimeoutError::Timeout) => None,
            answer => {
                self.waiting.remove(key);
                answer.ok()
            }
        }
    }
}

/// Does something within this time; `None` where it hangs.
pub fn within<T: Send + 'static>(
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let mut once = Background::new(limit);
    once.ask((), work);
    once.answer(&())
}
