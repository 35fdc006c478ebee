//! For the page "Cancellation is drop": `cargo run -p workshop-book --example cancelled`.

// ANCHOR: cancelled
use std::time::Duration;

use tokio::time::{sleep, timeout};

struct Borrowed(&'static str);

impl Drop for Borrowed {
    fn drop(&mut self) {
        println!("{} goes back", self.0);
    }
}

async fn read() -> &'static str {
    let _connection = Borrowed("the connection");
    println!("asking the database");
    sleep(Duration::from_secs(60)).await;
    println!("this line is never reached");
    "a record"
}

#[tokio::main]
async fn main() {
    match timeout(Duration::from_millis(50), read()).await {
        Ok(record) => println!("found {record}"),
        Err(_elapsed) => println!("too late: 503"),
    }
}
// ANCHOR_END: cancelled
