//! What a check takes and what it says: the target where none is named, some of the tests, documents for programs, and the keys of `watch`.

#![expect(
    clippy::expect_used,
    reason = "the helpers of a test may fail as the test itself may"
)]

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use nix::pty::openpty;
use nix::sys::termios::{LocalFlags, tcgetattr};
use nix::unistd::ttyname;
use serde_json::Value;

use crate::folder::assert_says;
use crate::learner::{Course, HANGS, faults};
use workshop::state::CheckOutcome;

const FORM: &str = "exercises/01-predict/predictions.toml";

#[test]
fn without_a_target_it_is_the_exercise_checked_last_while_red_and_then_the_next_one() {
    let course = Course::new();
    let next = "exercise-1: the next that isn't green";
    assert_says(
        &course.fails(&["check"], 1),
        &[next, "just hint exercise-1"],
    );
    let red = faults(&["a_known_id_answers_its_record"]);
    course.last_check(CheckOutcome::Failed, red);
    let said = course.passes(&["hint"]);
    assert_says(
        &said,
        &[
            "exercise-3: the one checked last, still red",
            "Look at the query.",
        ],
    );
    course.last_check(CheckOutcome::Passed, Vec::new());
    let said = course.passes(&["hint"]);
    assert_says(&said, &["exercise-1: ", "exercise-1: hint 1 of 3"]);
}

#[test]
fn some_tests_are_asked_for_by_parts_of_names_and_not_remembered() {
    let course = Course::new();
    let said = course.fails(&["check", "exercise-1", "--only", "grid"], 2);
    assert_says(
        &said,
        &[
            "no test of exercise-1 has grid in its name",
            "a suite: predict",
        ],
    );
    let said = course.fails(&["check", "exercise-1", "--only", "filled,filled_in"], 1);
    assert_says(
        &said,
        &["every_prediction_is_filled_in", "0 passed, 1 failed"],
    );
    assert_says(
        &course.passes(&["hint", "exercise-1"]),
        &["has not been checked yet"],
    );

    let again = ["check", "exercise-1", "--last-failed"];
    assert_says(
        &course.fails(&again, 2),
        &["no test of exercise-1 was red at its last check"],
    );
    course.fails(&["check", "exercise-1"], 1);
    assert_says(&course.fails(&again, 1), &["every_prediction_is_filled_in"]);
}

#[test]
fn a_program_gets_one_document_and_nothing_else_on_standard_output() {
    let course = Course::new();
    let printed = |format: &str| {
        let output = course.run(&["check", "exercise-1", "--format", format]);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stdout).expect("text")
    };
    let found: Value = serde_json::from_str(&printed("json")).expect("one JSON value");
    assert_eq!(found["target"], "exercise-1");
    assert_eq!(found["outcome"], "failed");
    assert_eq!(found["next"], "just hint exercise-1");
    let tests = found["tests"].as_array().expect("tests");
    let red = tests
        .iter()
        .find(|test| test["name"] == "every_prediction_is_filled_in");
    let red = red.expect("the test of the form");
    assert_eq!(
        (&red["suite"], &red["status"]),
        (&"predict".into(), &"failed".into())
    );
    let file = red["file"].as_str();
    assert!(file.is_none_or(|file| file.ends_with(".rs")), "{red}");

    let xml = printed("junit");
    let document = roxmltree::Document::parse(&xml).expect("XML");
    let cases = document
        .descendants()
        .filter(|node| node.has_tag_name("testcase"));
    let names: Vec<_> = cases.map(|case| case.attribute("name")).collect();
    assert!(
        names.contains(&Some("every_prediction_is_filled_in")),
        "{xml}"
    );
    assert!(
        document
            .descendants()
            .any(|node| node.has_tag_name("failure")),
        "{xml}"
    );
}

#[test]
fn paths_are_those_that_open_where_the_reader_is() {
    let course = Course::new();
    course.write("exercises/03-read-a-record/src/read.rs", "// mine\n");
    let output = course
        .tool()
        .args(["reset", "exercise-3"])
        .env(
            "WORKSHOP_CALLED_FROM",
            course.path("exercises/03-read-a-record"),
        )
        .output()
        .expect("the tool starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_says(&said, &["kept in ../../.workshop/attempts/exercise-3/"]);
}

/// The tool on a terminal of its own, which ends with the test.
struct Terminal {
    tool: Child,
    keys: File,
    printed: Receiver<String>,
    said: String,
    line: std::os::fd::OwnedFd,
}

impl Terminal {
    fn of(course: &Course, args: &[&str]) -> Terminal {
        let pair = openpty(None, None).expect("a terminal");
        let name = ttyname(&pair.slave).expect("its name");
        // Who has no terminal yet, and leads a session, gets the one that it opens first.
        let script = "line=$1; shift; exec \"$@\" <\"$line\" >\"$line\" 2>&1";
        let tool = course.tool();
        let mut shell = Command::new("setsid");
        for (name, value) in tool.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let tool = shell
            .args(["sh", "-c", script, "sh"])
            .arg(name)
            .arg(tool.get_program())
            .args(args)
            .current_dir(course.root())
            .stdin(Stdio::null())
            .spawn()
            .expect("the tool starts");
        let keys = File::from(pair.master);
        let mut screen = keys.try_clone().expect("the same terminal");
        let (print, printed) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                if print.send(text).is_err() {
                    return;
                }
            }
        });
        Terminal {
            tool,
            keys,
            printed,
            said: String::new(),
            line: pair.slave,
        }
    }

    /// Waits until this is printed, and forgets what came until then.
    fn wait_for(&mut self, words: &str) -> String {
        loop {
            if let Some(place) = self.said.find(words) {
                let rest = self.said.split_off(place + words.len());
                return std::mem::replace(&mut self.said, rest);
            }
            let more = self.printed.recv_timeout(HANGS);
            let more = more.unwrap_or_else(|_| panic!("no {words:?} in: {}", self.said));
            self.said += &more;
        }
    }

    fn press(&mut self, key: &str) {
        self.keys.write_all(key.as_bytes()).expect("a key");
    }

    fn hands_over_lines(&self) -> bool {
        let flags = tcgetattr(&self.line).expect("how it is").local_flags;
        flags.contains(LocalFlags::ICANON | LocalFlags::ECHO)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It has ended already where the test went well.
        let _ = self.tool.kill();
        let _ = self.tool.wait();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn watch_has_keys_rings_once_at_green_and_leaves_the_terminal_as_it_was() {
    let course = Course::new();
    let mut watch = Terminal::of(&course, &["watch", "exercise-1"]);
    watch.wait_for("q: quit");
    assert!(!watch.hands_over_lines());
    watch.press("h");
    watch.wait_for("exercise-1: hint 1 of 3");
    watch.wait_for("q: quit");
    watch.press("f");
    let said = watch.wait_for("q: quit");
    assert_says(
        &said,
        &["every_prediction_is_filled_in", "0 passed, 1 failed"],
    );
    watch.press("s");
    watch.wait_for("(reference)");
    watch.wait_for("q: quit");
    course.write(FORM, &filled_in());
    let said = watch.wait_for("\u{7}");
    assert_says(&said, &["0 failed"]);
    let said = watch.wait_for("q: quit");
    watch.press("r");
    let again = watch.wait_for("q: quit");
    assert!(!(said + &again).contains('\u{7}'), "{again}");
    watch.press("q");
    assert!(watch.tool.wait().expect("its end").success());
    assert!(watch.hands_over_lines());
}

/// A form that is green.
fn filled_in() -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let path = format!("{root}/solutions/01-predict/predictions.toml");
    std::fs::read_to_string(path).expect("the reference")
}
