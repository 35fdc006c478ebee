//! For the page "Two waits in one task": `cargo run -p workshop-book --example waits`.

// ANCHOR: waits
use std::time::Duration;

use tokio::{join, sync::Semaphore, time::sleep, try_join};

struct Call(&'static str);

impl Drop for Call {
    fn drop(&mut self) {
        println!("  {} is over", self.0);
    }
}

async fn ask(what: &'static str, milliseconds: u64) -> Result<u32, String> {
    let _call = Call(what);
    println!("  {what} is asked for");
    sleep(Duration::from_millis(milliseconds)).await;
    if what == "nothing" {
        Err("404".into())
    } else {
        Ok(1999)
    }
}

#[tokio::main]
async fn main() {
    println!("one after the other");
    let (record, price) = (ask("the record", 20), ask("the price", 60));
    println!("  two futures, and nothing has begun");
    let _ = (record.await, price.await);

    println!("at the same time");
    let _ = join!(ask("the record", 20), ask("the price", 60));

    println!("until the first error");
    let both = try_join!(ask("nothing", 20), ask("the price", 60));
    println!("  {both:?}");

    println!("with one place");
    let places = Semaphore::new(1);
    let _place = places.acquire().await;
    println!("  {} free", places.available_permits());
    drop(_place);
    let _ = places.acquire().await;
    println!("  {} free", places.available_permits());
}
// ANCHOR_END: waits
