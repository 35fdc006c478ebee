//! Computing: CPU-bound work runs on threads of its own, at most one per core. So the threads that answer stay free,
//! `/health` included.

use std::{panic, thread::available_parallelism};

use tokio::{sync::Semaphore, task::spawn_blocking};

/// A limit for the threads that compute.
pub struct Computing(Semaphore);

impl Computing {
    /// As many as there are cores.
    pub fn new() -> Computing {
        let cores = available_parallelism().map_or(1, usize::from);
        Computing(Semaphore::new(cores))
    }

    // ANCHOR: computing
    /// Runs this work on such a thread, and returns its result.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        // The semaphore is never closed, so there is a permit sooner or later.
        let _permit = self.0.acquire().await;
        match spawn_blocking(work).await {
            Ok(result) => result,
            // Work is never canceled, so it has panicked: the panic continues in the request.
            Err(error) => panic::resume_unwind(error.into_panic()),
        }
    }
    // ANCHOR_END: computing
}
