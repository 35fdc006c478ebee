//! Kata 12, futures: a read that is canceled.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Waker};
use std::{pin::Pin, sync::Arc, thread};

/// A connection from the pool. Dropping the connection returns it to the pool.
struct Connection(Arc<AtomicUsize>);

fn connect(in_use: Arc<AtomicUsize>) -> Connection {
    in_use.fetch_add(1, Relaxed);
    Connection(in_use)
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

/// Connects, and waits for a database that never answers: `std::future::pending::<()>().await`.
fn read(in_use: &Arc<AtomicUsize>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    let in_use = Arc::clone(in_use);
    Box::pin(async move {
        let _connection = connect(in_use);
        std::future::pending::<()>().await;
    })
}

#[test]
fn a_read_that_is_given_up_gives_its_connection_back() {
    let in_use = Arc::new(AtomicUsize::new(0));
    let mut task = read(&in_use);
    assert_eq!(in_use.load(Relaxed), 0, "before it is polled");
    let polled = thread::spawn(move || {
        let _ = task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        task
    });
    let task = polled.join().expect("the task was polled");
    assert_eq!(in_use.load(Relaxed), 1, "while it waits");
    drop(task);
    assert_eq!(in_use.load(Relaxed), 0, "after it was dropped");
}
