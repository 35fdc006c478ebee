//! For the page "Tasks, Send and 'static": `cargo run -p workshop-book --example tasks`.

// ANCHOR: tasks
use std::sync::Arc;

use tokio::{spawn, sync::Semaphore, task::JoinError};

#[tokio::main]
async fn main() -> Result<(), JoinError> {
    let exports = Arc::new(Semaphore::new(2));
    let name = String::from("the data team");

    let for_task = Arc::clone(&exports);
    let task = spawn(async move {
        let _permit = for_task.acquire().await;
        println!("{name} exports, {} more can", for_task.available_permits());
    });

    task.await?;
    println!("afterwards {} can", exports.available_permits());
    Ok(())
}
// ANCHOR_END: tasks
