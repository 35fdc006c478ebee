//! Suite `leak` (a debugging case): clients that listen to visits cost nothing after they have gone.

use workshop_harness::contract::{TestResult, contract_tests, expect, expect_at_most, expect_eq};
use workshop_harness::leak::{Leak, SPARE};

contract_tests! {
    leak: [
        each_client_hears_of_a_visit,
        clients_that_have_gone_are_not_counted,
        no_task_is_left_of_clients_that_have_gone,
    ],
}

fn each_client_hears_of_a_visit(leak: &Leak) -> TestResult {
    let lines = leak.heard.as_ref().map_err(Clone::clone)?;
    expect_eq("clients that heard of a visit", lines.len(), leak.clients)?;
    let wrong = lines.iter().find(|line| !String::from_utf8_lossy(line).contains("\"visited\":1"));
    let got = wrong.map_or_else(String::new, |line| String::from_utf8_lossy(line).into_owned());
    expect(wrong.is_none(), "a line with \"visited\":1", got)
}

fn clients_that_have_gone_are_not_counted(leak: &Leak) -> TestResult {
    let after = leak.after.as_ref().map_err(Clone::clone)?;
    expect_eq("clients watching", after.watching, 0)
}

fn no_task_is_left_of_clients_that_have_gone(leak: &Leak) -> TestResult {
    let before = leak.before.as_ref().map_err(Clone::clone)?;
    let after = leak.after.as_ref().map_err(Clone::clone)?;
    let most = before.tasks + SPARE;
    expect_at_most(most, "tasks when all clients have gone", after.tasks)
}
