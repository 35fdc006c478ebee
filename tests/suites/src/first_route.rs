//! Suite `first-route` (exercise 2): the service says whether it lives, and whether its database does.

use serde_json::json;

use workshop_harness::contract::{Context, TestResult};
use workshop_harness::contract_tests;
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

async fn health_answers_200_with_status_ok(context: &Context) -> TestResult {
    context
        .client
        .without_key()
        .get("/health")
        .await?
        .expect_json(200, &json!({"status": "ok"}))?;
    Ok(())
}

async fn ready_answers_200_when_the_database_answers(context: &Context) -> TestResult {
    context
        .client
        .without_key()
        .get("/ready")
        .await?
        .expect_json(200, &json!({"status": "ready"}))?;
    Ok(())
}

fn health_does_not_touch_the_database(outage: &Outage) -> TestResult {
    outage
        .health_during
        .clone()?
        .expect_json(200, &json!({"status": "ok"}))?;
    Ok(())
}

fn ready_answers_503_as_a_problem_when_the_database_is_gone(outage: &Outage) -> TestResult {
    let answer = outage.ready_during.clone()?;
    answer.expect_problem(503, "Service Unavailable", "the database does not answer")?;
    Ok(())
}

fn ready_answers_200_again_when_the_database_is_back(outage: &Outage) -> TestResult {
    outage
        .ready_after
        .clone()?
        .expect_json(200, &json!({"status": "ready"}))?;
    Ok(())
}
