//! Stage 8: unknown clients, before the service faces all of them.

use workshop_harness::contract::{TestResult, contract_tests, expect};
use workshop_harness::reports_strangers::{ReportsStrangers, Upload};

contract_tests! {
    reports_strangers: [
        half_a_head_is_not_waited_for,
        idle_connections_are_closed,
        an_answer_that_is_not_taken_is_given_up,
        a_refused_upload_gets_its_answer,
    ],
}

fn half_a_head_is_not_waited_for(strangers: &ReportsStrangers) -> TestResult {
    let [open, all] = strangers.half_heads;
    strangers
        .health
        .as_ref()
        .map_err(Clone::clone)?
        .expect_status(200)?;
    let expected = format!("none of {all} connections with half a head is open after 10 s");
    expect(open == 0, expected, format!("{open} are"))
}

fn idle_connections_are_closed(strangers: &ReportsStrangers) -> TestResult {
    let [open, all] = strangers.idle;
    let expected = format!("none of {all} connections is open when it has been idle for 10 s");
    expect(open == 0, expected, format!("{open} are"))
}

fn an_answer_that_is_not_taken_is_given_up(strangers: &ReportsStrangers) -> TestResult {
    let [came, all] = strangers.pages;
    let expected = "a connection that is closed when its client has taken nothing for 10 s";
    let got = format!("{came} answers to {all} requests, when it took them at last");
    expect(0 < came && came < all, expected, got)
}

fn a_refused_upload_gets_its_answer(strangers: &ReportsStrangers) -> TestResult {
    for (upload, answers) in &strangers.uploads {
        let statuses: &[&str] = match upload {
            Upload::WithoutKey => &["HTTP/1.1 401"],
            Upload::TooLarge => &["HTTP/1.1 413"],
            Upload::NoJson => &["HTTP/1.1 413", "HTTP/1.1 415"],
        };
        let others: Vec<&String> = answers
            .iter()
            .filter(|answer| !statuses.contains(&answer.as_str()))
            .collect();
        let expected = format!(
            "{} to each of {} uploads of 5 MB ({upload:?})",
            statuses.join(" or "),
            answers.len()
        );
        let other = others.first().map_or("", |answer| answer.as_str());
        expect(
            others.is_empty(),
            expected,
            format!("{} times {other}", others.len()),
        )?;
    }
    Ok(())
}
