//! CPU-bound work runs on threads of its own, at most one per core, so that the threads that
//! serve requests, `/health` included, stay free.

use std::{panic, thread::available_parallelism};

use tokio::{sync::Semaphore, task::spawn_blocking};

/// Limits how many threads do CPU-bound work at the same time.
pub struct Computing(Semaphore);

impl Computing {
    /// Allows as many threads as there are cores.
    pub fn new() -> Computing {
        let cores = available_parallelism().map_or(1, usize::from);
        Computing(Semaphore::new(cores))
    }

    // ANCHOR: computing
    /// Waits for a permit, then runs `work` on a blocking thread, and returns its result.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        // The semaphore is never closed, so acquiring a permit never fails.
        let _permit = self.0.acquire().await;
        match spawn_blocking(work).await {
            Ok(result) => result,
            // The task is never aborted, so the error is a panic: propagate it to the request's task.
            Err(error) => panic::resume_unwind(error.into_panic()),
        }
    }
    // ANCHOR_END: computing
}
