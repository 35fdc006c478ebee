//! Suite `wrong` (a debugging case): what a gateway has scanned is marked, and nothing else is.

use workshop_harness::contract::{TestResult, contract_tests, expect};
use workshop_harness::wrong::Wrong;

contract_tests! {
    wrong: [
        every_scan_is_marked,
        nothing_is_marked_that_was_not_scanned,
        every_frame_is_counted,
    ],
}

fn every_scan_is_marked(wrong: &Wrong) -> TestResult {
    let missing: Vec<&i32> = wrong.sent.difference(&wrong.marked).collect();
    let expected = format!("all of {:?} marked", wrong.sent);
    expect(missing.is_empty(), expected, format!("not {missing:?}"))
}

fn nothing_is_marked_that_was_not_scanned(wrong: &Wrong) -> TestResult {
    let others: Vec<&i32> = wrong.marked.difference(&wrong.sent).collect();
    let expected = format!("none but {:?} marked", wrong.sent);
    expect(others.is_empty(), expected, format!("{others:?} as well"))
}

fn every_frame_is_counted(wrong: &Wrong) -> TestResult {
    let expected = format!("{{\"frames\":{}}}", wrong.sent.len());
    expect(wrong.answer == expected, expected, wrong.answer.clone())
}
