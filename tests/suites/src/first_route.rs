//! Suite `first-route` (exercise 2): the service says whether it is alive, and whether its database answers.

use serde_json::json;

use workshop_harness::contract::{
    Answer, Context, Failure, TestResult, contract_tests, expect_each,
};
use workshop_harness::outage::Outage;

contract_tests! {
    steady: [
        health_answers_200_with_status_ok,
        ready_answers_200_when_the_database_answers,
    ],
    outage: [
        health_does_not_touch_the_database,
        ready_answers_503_as_a_problem_when_the_database_is_gone,
        ready_answers_200_again_when_the_database_is_back,
    ]
}

fn expect_alive(answer: &Answer) -> Result<&Answer, Failure> {
    answer.expect_json(200, &json!({"status": "ok"}))
}

fn expect_ready(answer: &Answer) -> Result<&Answer, Failure> {
    answer.expect_json(200, &json!({"status": "ready"}))
}

async fn health_answers_200_with_status_ok(context: &Context) -> TestResult {
    let keyless = context.client.without_key();
    keyless.each(["/health"], expect_alive).await
}

async fn ready_answers_200_when_the_database_answers(context: &Context) -> TestResult {
    let keyless = context.client.without_key();
    keyless.each(["/ready"], expect_ready).await
}

fn health_does_not_touch_the_database(outage: &Outage) -> TestResult {
    expect_each([&outage.health_during], expect_alive)
}

fn ready_answers_503_as_a_problem_when_the_database_is_gone(outage: &Outage) -> TestResult {
    expect_each([&outage.ready_during], crate::expect_no_database)
}

fn ready_answers_200_again_when_the_database_is_back(outage: &Outage) -> TestResult {
    expect_each([&outage.ready_after], expect_ready)
}
