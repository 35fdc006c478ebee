//! The contract suites, one module each. They speak HTTP and know a service by its base URL, so the same tests judge
//! the Kotlin service, a learner's crate, a reference and a planted mistake.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers of a test run are small, and figures are rounded for people"
)]

mod an_empty_folder;
mod faulty;
pub mod forms;
mod part;
mod row;

use serde_json::Value;
use workshop_harness::contract::{Answer, Failure, Suite};
use workshop_harness::outage::{PATIENCE, expect_no_database};

/// Expects the normal answer, or that there is no database: either is fine while the database comes or goes.
fn expect_an_answer_or_no_database(answer: &Answer) -> Result<&Answer, Failure> {
    match answer.status() {
        200 => Ok(answer),
        _ => expect_no_database(answer),
    }
}

/// The detail that only a 500 may have.
const UNEXPECTED: &str = "an unexpected error occurred";

/// A refusal whose status the contract leaves to the framework: one of these, as a problem document of some detail.
fn expect_a_refusal<'a>(answer: &'a Answer, statuses: &[u16]) -> Result<&'a Answer, Failure> {
    let problem: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
    let detail = problem["detail"].as_str().unwrap_or("of any detail");
    let status = answer.status();
    if statuses.contains(&status) && detail == UNEXPECTED {
        return Err(answer.failure("a detail that says what the client did", UNEXPECTED));
    }
    if statuses.contains(&status) {
        return answer.expect_problem(status, detail);
    }
    let either = statuses.iter().map(u16::to_string);
    let either = either.collect::<Vec<_>>().join(" or ");
    Err(answer.failure(format!("status {either}"), format!("status {status}")))
}

/// Expects the answer to a wrong method: frameworks say that the path does not support it, or that there is no such path.
fn expect_no_such_method(answer: &Answer) -> Result<&Answer, Failure> {
    expect_a_refusal(answer, &[404, 405])
}

/// Declares the suites' modules, and lists them by the names that `exercise.toml` knows.
macro_rules! suites {
    ($($name:literal => $module:ident),* $(,)?) => {
        $(mod $module;)*

        /// All suites that judge a running service. The address book has a crate of its own.
        pub fn all() -> Vec<Suite> {
            use an_empty_folder::{bad_days, later_releases, pages_and_edits, reports_once, start_and_stop, the_frame};
            vec![
                $(Suite { name: $name, tests: self::$module::tests() },)*
                Suite { name: "stage-1-start-and-stop", tests: start_and_stop::tests() },
                Suite { name: "stage-2-the-frame", tests: the_frame::tests() },
                Suite { name: "stage-3-reports-once", tests: reports_once::tests() },
                Suite { name: "stage-4-pages-and-edits", tests: pages_and_edits::tests() },
                Suite { name: "stage-6-bad-days", tests: bad_days::tests() },
                Suite { name: "stage-7-later-releases", tests: later_releases::tests() },
                Suite { name: "stage-8-strangers", tests: an_empty_folder::strangers::tests() },
                Suite { name: "contacts", tests: workshop_carddav::tests() },
            ]
        }
    };
}

suites! {
    "first-route" => first_route,
    "who-is-asking" => who_is_asking,
    "read-a-record" => read_a_record,
    "api-key" => api_key,
    "fail-the-same-way" => fail_the_same_way,
    "change-things" => change_things,
    "ten-million-rows" => ten_million_rows,
    "ship-it" => ship_it,
    "strangers" => strangers,
    "hang" => hang,
    "leak" => leak,
    "wrong" => wrong,
    "a-pool-that-comes-back" => a_pool_that_comes_back,
    "waiting-for-others" => waiting_for_others,
    "two-releases-at-once" => two_releases_at_once,
    "whose-table-is-it" => whose_table_is_it,
    "seen-from-outside" => seen_from_outside,
    "two-thousand-peers" => two_thousand_peers,
    "rude-peers" => rude_peers,
    "sockets-in-the-log" => sockets_in_the_log,
    "bunks" => bunks,
    "notes-on-records" => notes_on_records,
    "qrcode" => qrcode,
    "qrcode-process" => qrcode_process,
    "qrcode-module" => qrcode_module,
    "qrcode-library" => qrcode_library,
    "qrcode-routes" => qrcode_routes,
}

#[cfg(test)]
mod tests {
    use super::all;
    use workshop_harness::contract::ContractTest;
    use workshop_harness::plan::phases;

    fn names_of(suite_names: &[&str], new: &[&str]) -> Vec<Vec<&'static str>> {
        let phases = phases(all(), suite_names, new).unwrap_or_default();
        let names = phases
            .iter()
            .map(|phase| phase.tests().map(|test| test.name).collect());
        names.collect()
    }

    #[test]
    fn every_test_of_the_suites_is_in_one_phase() {
        let all = all();
        let suite_names: Vec<&str> = all.iter().map(|suite| suite.name).collect();
        let mut planned = names_of(&suite_names, &["ship-it"]).concat();
        let tests = all.iter().flat_map(|suite| &suite.tests);
        let mut expected: Vec<&str> = tests.map(|test: &ContractTest| test.name).collect();
        planned.sort_unstable();
        expected.sort_unstable();
        assert_eq!(planned, expected);
    }

    #[test]
    fn one_outage_does_not_make_a_phase_of_its_own() {
        let two = ["first-route", "read-a-record"];
        assert_eq!(names_of(&two, &["read-a-record"]).len(), 1);
        let three = ["first-route", "read-a-record", "fail-the-same-way"];
        let with_other_trouble = names_of(&three, &["fail-the-same-way"]);
        assert_eq!(with_other_trouble.len(), 2);
        assert!(with_other_trouble[1].contains(&"reads_work_again_when_the_database_is_back"));
    }

    #[test]
    fn the_questions_of_earlier_exercises_wait_where_there_are_many() {
        let all = all();
        let suite_names: Vec<&str> = all.iter().map(|suite| suite.name).collect();
        let names = names_of(&suite_names, &["ship-it"]);
        assert!(names[0].contains(&"every_answer_has_a_request_id"));
        assert!(!names[0].contains(&"a_known_id_answers_its_record"));
        assert!(names[1].contains(&"a_known_id_answers_its_record"));
    }

    #[test]
    fn an_unknown_suite_is_named_with_those_that_there_are() {
        let error = phases(all(), &["first-rout"], &[])
            .err()
            .map(|error| format!("{error:#}"));
        let error = error.unwrap_or_default();
        assert!(
            error.contains("first-rout") && error.contains("first-route"),
            "{error}"
        );
    }
}
