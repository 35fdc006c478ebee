//! `just report` and `just board`, seen by a learner and by a room: what is on the page for which result files.

// A test that cannot set up its folder has to fail; helpers count as tests.
#![allow(clippy::expect_used)]

use crate::folder::{Folder, assert_says, exercise_toml};
use workshop_base::workspace::Workspace;
use workshop_results::file::{
    Comparison, JudgedPrediction, Mode, ResultFile, Side, SideValue, Verdict,
};
use workshop_results::key::THROUGHPUT;
use workshop_results::shown::{Cell, Column, Table};

/// A course of exercises 1 and 3, with the reference's figures of exercise 3.
fn course() -> Folder {
    let course = Folder::new();
    for (number, slug, title, edit) in [
        (1, "predict", "Predict", "predictions.toml"),
        (3, "read-a-record", "Read a record", "src/main.rs"),
    ] {
        let about = exercise_toml(number, slug, title, edit, "a_test");
        course.write(&format!("solutions/0{number}-{slug}/exercise.toml"), &about);
    }
    course.write("book/theme/workshop.css", "");
    predictions(&course, "\"?\"");
    let path = ResultFile::reference_path(&Workspace::at(course.root()), "exercise-3");
    reads().write(&path).expect("the reference's figures");
    course
}

fn predictions(course: &Folder, throughput: &str) {
    course.write(
        "exercises/01-predict/predictions.toml",
        &format!("[throughput]\nratio = {throughput}\nconfidence = 80\n"),
    );
}

/// The committed figures of exercise 3, cut down to one metric with figures that a test can name.
fn reads() -> ResultFile {
    let workspace = Workspace::find().expect("the checkout");
    let path = ResultFile::reference_path(&workspace, "exercise-3");
    let mut result = ResultFile::read(&path).expect("the committed figures");
    result.machine = "A machine".to_owned();
    result.taken_at = "2025-11-21T09:30:00Z".to_owned();
    result.manifest.commit = Some("abc1234".to_owned());
    result.manifest.dirty = Some(false);
    result.notes.clear();
    result.manifest.versions.remove("course");
    result.metrics.retain(|metric| metric.key == THROUGHPUT);
    result.metrics[0].values[0].value = 10_500.0;
    for comparison in &mut result.metrics[0].comparisons {
        *comparison = Comparison {
            ratio: Some(1.5),
            low: Some(1.25),
            high: Some(1.75),
            verdict: Verdict::Faster,
            reason: None,
            ..comparison.clone()
        };
    }
    result
}

/// Puts the figures where `just measure` writes them.
fn measured(course: &Folder, target: &str, mut result: ResultFile) {
    result.target = target.to_owned();
    let path = course.path(&format!("results/{target}.json"));
    result.write(&path).expect("a result");
}

/// The words of the page, a line for each row of a table and a bar after each cell.
fn page(course: &Folder) -> String {
    course.passes(&["report"]);
    words(&course.read("results/report.html"))
}

fn words(page: &str) -> String {
    let (_, body) = page.split_once("<body>").expect("a page");
    let body = body.replace("</th>", " | ").replace("</td>", " | ");
    let mut words = String::new();
    for piece in body.split('<') {
        words += piece.split_once('>').map_or(piece, |(_, text)| text);
    }
    for (escaped, character) in [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
    ] {
        words = words.replace(escaped, character);
    }
    words.replace("&amp;", "&")
}

#[test]
fn without_any_result_it_says_what_to_run_first() {
    let course = course();
    let said = course.fails(&["report"], 2);
    assert_says(
        &said,
        &[
            "you haven't measured anything yet",
            "next: just measure exercise-1",
        ],
    );
    assert!(!course.path("results/report.html").exists());
}

#[test]
fn your_figures_stand_with_machine_day_commit_ratio_and_verdict() {
    let course = course();
    let mut mine = reads();
    mine.machine = "My <laptop> | 1".to_owned();
    mine.manifest.dirty = Some(true);
    measured(&course, "exercise-3", mine);
    let page = page(&course);
    assert_says(
        &page,
        &[
            "Exercise 3: Read a record",
            "Yours: My <laptop> | 1, 2025-11-21, commit abc1234 with changes",
            "| 1.50 (1.25 to 1.75) faster |",
        ],
    );
    assert!(
        !page.contains("A machine"),
        "the reference is only for what you have not:\n{page}"
    );
}

#[test]
fn the_reference_waits_folded_where_you_have_none() {
    let course = course();
    let mut other = reads();
    other.exercise = "exercise-1".to_owned();
    measured(&course, "kotlin", other);
    let page = page(&course);
    assert_says(&page, &["Exercise 1: Predict\nYours:"]);
    assert_says(
        &page,
        &[
            "Exercise 3: Read a record\n\nThe reference's values: you have none of your own yet\nReference: A machine",
        ],
    );
}

#[test]
fn the_reference_s_code_on_your_machine_is_told_apart_from_yours() {
    let course = course();
    measured(&course, "solution-3", reads());
    assert_says(
        &page(&course),
        &["Yours (the reference’s code on your machine):"],
    );
    measured(&course, "exercise-3", reads());
    let page = page(&course);
    let (yours, theirs) = (page.find("Yours:"), page.find("Yours (the reference’s"));
    assert!(
        yours.is_some() && yours < theirs,
        "yours comes first:\n{page}"
    );
}

#[test]
fn what_is_invalid_says_why_and_has_no_ratio() {
    let course = course();
    let mut mine = reads();
    mine.invalid = vec!["the bodies differ at id 7".to_owned()];
    for comparison in &mut mine.metrics[0].comparisons {
        *comparison = Comparison::invalid(&comparison.side, &comparison.against, "errors came");
    }
    measured(&course, "exercise-3", mine);
    assert_says(
        &page(&course),
        &[
            "Invalid: the bodies differ at id 7",
            "| invalid: errors came |",
        ],
    );
}

#[test]
fn a_kind_of_measurement_that_nobody_knew_appears_by_itself() {
    let course = course();
    let mut mine = reads();
    mine.exercise = "exercise-42".to_owned();
    mine.metrics[0].name = "Cups of tea".to_owned();
    mine.metrics[0].unit = "a day".to_owned();
    mine.metrics[0].headline = false;
    mine.metrics[0].comparisons.clear();
    measured(&course, "tea", mine);
    let page = page(&course);
    assert_says(
        &page,
        &[
            "exercise-42",
            "Metric | Kotlin | Rust |",
            "Cups of tea (a day) | ",
        ],
    );
}

#[test]
fn of_an_invalid_measurement_nothing_is_claimed() {
    let course = course();
    let mut mine = reads();
    mine.invalid = vec!["no block of kotlin passed the gates".to_owned()];
    measured(&course, "exercise-3", mine);
    let page = page(&course);
    assert_says(
        &page,
        &[
            "Invalid: no block of kotlin passed the gates",
            "| 10\u{202f}500 |",
            "| invalid |",
        ],
    );
    assert!(!page.contains("faster"), "{page}");
}

#[test]
fn what_a_task_attaches_stands_below_the_metrics() {
    let course = course();
    let mut mine = reads();
    let mut table = Table::new("tea", "Tea by time", Column::list(["cups", "÷ noon"]));
    table.row("noon", vec![Cell::Count(12_000), Cell::Empty]);
    table.notes = vec!["most is drunk at *noon*".to_owned()];
    mine.tables = vec![table];
    measured(&course, "exercise-3", mine);
    assert_says(
        &page(&course),
        &[
            "Tea by time",
            "noon | 12\u{202f}000 | – |",
            "most is drunk at *noon*",
        ],
    );
}

#[test]
fn what_must_be_known_to_read_the_figures_goes_with_them() {
    let course = course();
    let mut mine = reads();
    mine.notes = vec!["the load generator used 9 % of <all> cores".to_owned()];
    measured(&course, "exercise-3", mine);
    assert_says(
        &page(&course),
        &["To read this rightly:\n\nthe load generator used 9 % of <all> cores"],
    );
}

#[test]
fn figures_in_a_folder_of_their_own_are_not_yours() {
    let course = course();
    measured(&course, "somebody/exercise-3", reads());
    let said = course.fails(&["report"], 2);
    assert_says(&said, &["you haven't measured anything yet"]);
}

#[test]
fn predictions_are_scored_as_they_were_when_you_measured() {
    let course = course();
    let mut mine = reads();
    mine.predictions = vec![JudgedPrediction {
        key: THROUGHPUT,
        predicted: 4.0,
        confidence: 80.0,
        measured: 1.5,
        factor: 2.67,
        held: false,
    }];
    measured(&course, "exercise-3", mine);
    // Changed afterwards, which does not count.
    predictions(&course, "1.5");
    let said = course.passes(&["report"]);
    assert_says(
        &said,
        &["0 of 1 held within a factor of 2; by your confidence you expected 0.8."],
    );
    assert_says(
        &page(&course),
        &["Throughput | 4 | 80 | 1.50 | 2.67 | did not hold | exercise-3 |"],
    );
}

#[test]
fn a_prediction_is_never_scored_by_what_you_have_not_measured() {
    let course = course();
    let mut other = reads();
    other.exercise = "exercise-1".to_owned();
    measured(&course, "kotlin", other);
    assert_says(&page(&course), &["You have written down no prediction"]);
    predictions(&course, "2");
    let mut quick = reads();
    quick.mode = Mode::Quick;
    measured(&course, "exercise-3", quick);
    let page = page(&course);
    assert_says(
        &page,
        &[
            "a quick run, for orientation",
            "None of your predictions is judged yet: just measure exercise-3 does it",
        ],
    );
    assert!(!page.contains("You said"), "{page}");
}

#[test]
fn a_figure_speaks_for_an_answer_and_a_missing_one_names_its_command() {
    let course = course();
    measured(&course, "exercise-3", reads());
    assert_says(
        &page(&course),
        &[
            "Throughput | 1.50 (1.25 to 1.75) faster | port it, if you rent cores | Rust (reference) ÷ Kotlin | exercise-3 |",
            "A library, long texts: throughput | – | not measured yet: just measure exercise-19 |",
        ],
    );
    for (verdict, words) in [
        (Verdict::Slower, "leave it: Kotlin is better here"),
        (Verdict::NoDifferenceShown, "leave it: no difference shown"),
        (
            Verdict::NotJudged,
            "nothing yet, a quick run isn't judged: just measure exercise-3",
        ),
    ] {
        let mut mine = reads();
        for comparison in &mut mine.metrics[0].comparisons {
            comparison.verdict = verdict;
        }
        measured(&course, "exercise-3", mine);
        assert_says(
            &page(&course),
            &[&format!(" | {words} | Rust (reference) ÷ Kotlin |")],
        );
    }
}

#[test]
fn a_jvm_that_was_tuned_is_compared_with_the_one_as_shipped() {
    let course = course();
    let mut mine = reads();
    mine.exercise = "exercise-8".to_owned();
    let shipped = mine.sides[0].clone();
    let tuned = Side {
        id: "tuned".to_owned(),
        label: "Kotlin, tuned".to_owned(),
        ..shipped.clone()
    };
    mine.sides.push(tuned.clone());
    let values = [(&shipped, 1000.0), (&tuned, 2000.0)].map(|(side, value)| SideValue {
        side: side.id.clone(),
        value,
        least: value,
        most: value,
        blocks: 3,
    });
    mine.metrics[0].values = values.to_vec();
    for block in &mut mine.blocks {
        let throughput = if block.side == shipped.id {
            1000.0
        } else {
            2000.0 + block.round as f64
        };
        block.values.insert(THROUGHPUT, throughput);
        if block.side != shipped.id {
            block.side.clone_from(&tuned.id);
        }
    }
    measured(&course, "exercise-8", mine);
    assert_says(
        &page(&course),
        &[
            "faster | tune the JVM | Kotlin, tuned ÷ Kotlin | exercise-8 |",
            "Throughput | – | not measured yet: just measure exercise-3 |",
        ],
    );
}

#[test]
fn a_file_of_an_older_version_is_named_and_the_rest_is_shown() {
    let course = course();
    course.write("results/exercise-3.json", "{\"schema\": 1}");
    let page = page(&course);
    assert_says(
        &page,
        &[
            "results/exercise-3.json was written by an older version of the course",
            "Measure it again: just measure exercise-3.",
            "Reference: A machine",
        ],
    );
}

/// Puts figures of this version of the course where an instructor collects them.
fn collected(course: &Folder, place: &str, mut result: ResultFile) {
    let course_version = ("course".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    result.manifest.versions.extend([course_version]);
    result
        .write(&course.path(&format!("room/{place}")))
        .expect("a result");
}

#[test]
fn the_board_has_everybody_on_one_axis_and_names_what_it_leaves_out() {
    let course = course();
    course.write("book/theme/workshop.css", ".chart-one { stroke: red; }");
    let mut ada = reads();
    ada.machine = "Ada's <laptop>".to_owned();
    ada.target = "exercise-3".to_owned();
    ada.predictions = vec![JudgedPrediction {
        key: THROUGHPUT,
        predicted: 4.0,
        confidence: 80.0,
        measured: 1.5,
        factor: 2.67,
        held: false,
    }];
    collected(&course, "Ada & Ben/results/exercise-3.json", ada);
    let mut cem = reads();
    cem.target = "solution-3".to_owned();
    collected(&course, "Cem/solution-3.json", cem);
    course.write("room/Dora/results/exercise-3.json", "{\"schema\": 1}");
    let mut eve = reads();
    eve.invalid = vec!["the bodies differ at id 7".to_owned()];
    collected(&course, "Eve/results/exercise-3.json", eve);
    let path = course.path("room/Finn/results/exercise-3.json");
    reads().write(&path).expect("a result without a version");
    course.write("room/Gus/notes.txt", "nothing measured");

    let said = course.passes(&["board", "room"]);
    assert_says(&said, &["room/board.html holds 2 measurements."]);
    let page = course.read("room/board.html");
    assert_says(
        &page,
        &[
            "<h2>Exercise 3: Read a record</h2>",
            ">Ada &amp; Ben: 1.50 (1.25 to 1.75), faster; predicted 4</text>",
            ">Cem (the reference&#39;s code): 1.50 (1.25 to 1.75), faster</text>",
            "Ada&#39;s &lt;laptop&gt;",
            ".chart-one { stroke: red; }",
        ],
    );
    for left_out in [
        "Dora/results/exercise-3.json was written by an older version of the course",
        "Eve/results/exercise-3.json is invalid: the bodies differ at id 7",
        "Finn/results/exercise-3.json was measured before version",
        "There is no result in the folder Gus",
    ] {
        assert_says(&said, &[left_out]);
        assert_says(&page, &[left_out]);
    }
    for elsewhere in ["<link", "<script", "src=", "@import"] {
        assert!(!page.contains(elsewhere), "the page isn't self-contained");
    }
    assert_eq!(
        course.passes(&["board", "room"]),
        said,
        "its own page is no result"
    );
}

#[test]
fn a_copy_of_a_laptop_and_a_name_that_is_a_command_spoil_no_board() {
    let course = course();
    course.write("book/theme/workshop.css", "");
    let mut ada = reads();
    ada.target = "exercise-3".to_owned();
    collected(&course, "Ada/results/exercise-3.json", ada.clone());
    collected(&course, "Ben/results/exercise-3.json", ada.clone());
    ada.taken_at = "2025-11-22T09:30:00Z".to_owned();
    let long = format!("\u{1b}[2J{}", "x".repeat(200));
    collected(&course, &format!("{long}/exercise-3.json"), ada);
    let said = course.passes(&["board", "room"]);
    assert_says(
        &said,
        &[
            "room/board.html holds 2 measurements.",
            "Ben/results/exercise-3.json is a copy of Ada/results/exercise-3.json",
        ],
    );
    let page = course.read("room/board.html");
    assert_says(&page, &[" [2Jxxx", "x: 1.50 (1.25 to 1.75), faster</text>"]);
    assert!(!page.contains(&"x".repeat(60)) && !page.contains('\u{1b}'));
}

#[test]
fn a_folder_is_meant_as_seen_from_where_just_was_called() {
    let course = course();
    course.write("below/room/readme.txt", "");
    let mut board = course.tool();
    let board = board
        .args(["board", "room", "--live"])
        .env("WORKSHOP_CALLED_FROM", course.path("below"));
    course.write("book/theme/workshop.css", "");
    let output = board.output().expect("the tool starts");
    let said = crate::folder::everything(&output);
    assert!(output.status.success(), "{said}");
    assert!(course.path("below/room/live.html").is_file(), "{said}");
}

#[test]
fn a_board_without_any_result_says_how_to_collect_them() {
    let course = course();
    course.write("room/Gus/notes.txt", "nothing measured");
    let said = course.fails(&["board", "room"], 2);
    assert_says(
        &said,
        &[
            "room has no result for the board",
            "room/ada/results",
            "next: ",
        ],
    );
    assert!(!course.path("room/board.html").exists());
    let said = course.fails(&["board", "nowhere"], 2);
    assert_says(&said, &["nowhere cannot be listed", "next: "]);
}
