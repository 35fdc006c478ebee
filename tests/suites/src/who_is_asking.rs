//! Suite `who-is-asking` (exercise 22): the service greets the world.

use serde_json::json;
use workshop_harness::contract::{Context, TestResult};
use workshop_harness::contract_tests;

contract_tests! {
    steady: [hello_greets_the_world]
}

async fn hello_greets_the_world(context: &Context) -> TestResult {
    let answer = context.client.get("/hello").await?;
    answer.expect_json(200, &json!({"hello": "world"}))?;
    Ok(())
}
