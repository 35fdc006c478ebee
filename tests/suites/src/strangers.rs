//! Suite `strangers` (exercise 8): what a connection may cost before its client is known. A service that cannot limit that by
//! itself is judged behind the nginx that comes with it.

use workshop_harness::contract::{TestResult, contract_tests, expect, expect_each, has_status};
use workshop_harness::scenarios::strangers::{HALF_HEADS, LIMIT, SLACK, Strangers};

contract_tests! {
    strangers: [
        others_are_answered_beside_300_half_heads,
        a_head_that_does_not_come_is_not_waited_for,
        an_idle_connection_is_ended,
        a_body_that_stops_coming_is_not_waited_for,
        an_answer_that_is_not_taken_is_given_up,
        a_refused_upload_gets_its_answer,
    ]
}

fn others_are_answered_beside_300_half_heads(seen: &Strangers) -> TestResult {
    expect_each([&seen.health], has_status(200))
}

fn a_head_that_does_not_come_is_not_waited_for(seen: &Strangers) -> TestResult {
    expect(
        seen.half_heads == 0,
        format!(
            "a connection with half of a head closed after {} s",
            LIMIT.as_secs()
        ),
        format!(
            "{} of {HALF_HEADS} such connections were open {} s after",
            seen.half_heads,
            (LIMIT + SLACK).as_secs()
        ),
    )
}

fn an_idle_connection_is_ended(seen: &Strangers) -> TestResult {
    expect_an_end(seen.idle_ended, "nothing came on it after the first answer")
}

fn a_body_that_stops_coming_is_not_waited_for(seen: &Strangers) -> TestResult {
    expect_an_end(seen.half_body_ended, "half of a body came on it")
}

fn expect_an_end(ended: bool, why: &str) -> TestResult {
    expect(
        ended,
        format!("a connection ended after {} s when {why}", LIMIT.as_secs()),
        format!("it was open {} s after", (LIMIT + SLACK).as_secs()),
    )
}

fn an_answer_that_is_not_taken_is_given_up(seen: &Strangers) -> TestResult {
    expect(
        seen.stalled_ended,
        format!(
            "a connection closed when its client takes nothing of an export for {} s",
            LIMIT.as_secs()
        ),
        "it was kept",
    )
}

fn a_refused_upload_gets_its_answer(seen: &Strangers) -> TestResult {
    expect_each(&seen.uploads, |answer| {
        let refused = [401, 413].contains(&answer.status());
        answer.expect(
            refused,
            "status 401 or 413 for 5 MB",
            format!("status {}", answer.status()),
        )
    })
}
