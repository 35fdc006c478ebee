//! CPU-bound work runs on threads of its own, at most one per core, so that the threads that
//! serve requests, `/health` included, stay free.

use std::{panic, thread::available_parallelism};

use tokio::{sync::Semaphore, task::spawn_blocking};

/// Limits the number of threads that compute.
pub struct Computing(Semaphore);

impl Computing {
    /// Allows as many threads as there are cores.
    pub fn new() -> Computing {
        let cores = available_parallelism().map_or(1, usize::from);
        Computing(Semaphore::new(cores))
    }

    // ANCHOR: computing
    /// Runs this work on a thread for blocking work, and returns its result.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        // The semaphore is never closed, so this never fails.
        let _permit = self.0.acquire().await;
        match spawn_blocking(work).await {
            Ok(result) => result,
            // The task is never aborted, so it has panicked, and the panic continues in the request.
            Err(error) => panic::resume_unwind(error.into_panic()),
        }
    }
    // ANCHOR_END: computing
}
