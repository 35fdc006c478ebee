//! For the page "Cancellation is drop": `cargo run -p workshop-book --example printer`.

use std::{io, time::Duration};

use tokio::time::{sleep, timeout};

/// A label printer. One that was given up may still print the label that it was asked for.
#[derive(Default)]
struct Printer {
    is_suspect: bool,
}

// ANCHOR: label
/// Prints a label. The printer gets 100 ms, whatever it may be doing.
async fn label(printer: &mut Printer, millis: u64) -> io::Result<&'static str> {
    let printing = printer.print(millis); // a plan: nothing has happened yet
    match timeout(Duration::from_millis(100), printing).await {
        Ok(printed) => printed,
        Err(elapsed) => {
            // Its label may still come out, and the next person must not take it for theirs.
            printer.is_suspect = true;
            Err(elapsed.into())
        }
    }
}
// ANCHOR_END: label

impl Printer {
    async fn print(&mut self, millis: u64) -> io::Result<&'static str> {
        match millis {
            0 => Err(io::Error::other("no paper")),
            millis => {
                sleep(Duration::from_millis(millis)).await;
                Ok("printed")
            }
        }
    }
}

#[tokio::main]
async fn main() {
    for millis in [10, 0, 200] {
        let mut printer = Printer::default();
        let label = label(&mut printer, millis).await;
        println!("{label:?}, suspect: {}", printer.is_suspect);
    }
}
