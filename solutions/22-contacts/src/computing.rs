//! Computing: what takes longer than a moment runs on threads of its own, at most one per core. So the threads that answer go on
//! answering, `/health` too.

use std::{panic, thread::available_parallelism};

use tokio::{sync::Semaphore, task::spawn_blocking};

/// The threads that compute.
pub struct Computing(Semaphore);

impl Computing {
    /// As many as there are cores.
    pub fn new() -> Computing {
        let cores = available_parallelism().map_or(1, usize::from);
        Computing(Semaphore::new(cores))
    }

    // ANCHOR: computing
    /// Has this work done, and gives its result.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        // Nobody closes the semaphore, so there is a permit sooner or later.
        let _permit = self.0.acquire().await;
        match spawn_blocking(work).await {
            Ok(result) => result,
            // Work is never cancelled, so it has panicked: the request goes on as it would without the thread.
            Err(error) => panic::resume_unwind(error.into_panic()),
        }
    }
    // ANCHOR_END: computing
}
