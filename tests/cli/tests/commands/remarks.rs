//! The form of exercise 10, from a filled `remarks.toml` to what the check says of it.

#![expect(
    clippy::expect_used,
    reason = "the helpers of a test may fail as the test itself may"
)]

use workshop_base::files::read_tree;
use workshop_base::workspace::Workspace;

use crate::folder::{Folder, assert_says};

const EXERCISE: &str = "exercises/10-notes-on-records";
const SOLUTION: &str = "solutions/10-notes-on-records";

/// A checkout with this exercise alone, so it grows from no other.
fn course() -> Folder {
    let checkout = Workspace::find().expect("the checkout");
    let course = Folder::new();
    course.write("Cargo.toml", "[workspace]\n");
    course.write("Cargo.lock", "version = 4\n");
    for folder in [EXERCISE, SOLUTION] {
        let files = read_tree(&checkout.root().join(folder)).expect("files");
        for (path, bytes) in files {
            let text = String::from_utf8(bytes).expect("a text");
            course.write(&format!("{folder}/{}", path.display()), &text);
        }
        let about = format!("{folder}/exercise.toml");
        let text = course.read(&about);
        let (before, after) = text.split_once("[grows_from]").expect("what it grows from");
        let (_, after) = after.split_once("[minutes]").expect("its minutes");
        course.write(&about, &format!("{before}[minutes]{after}"));
    }
    course
}

impl Folder {
    /// Fills in the form, and checks it.
    #[track_caller]
    fn review(&self, form: &str, code: i32) -> String {
        self.write(&format!("{EXERCISE}/remarks.toml"), form);
        self.fails(&["check", "exercise-10"], code)
    }
}

fn remark(file: &str, line: usize, kind: &str) -> String {
    format!(
        "[[remark]]\nfile = \"{file}\"\nline = {line}\nkind = \"{kind}\"\nwhy = \"It breaks.\"\nnoticed_by = \"test\"\n"
    )
}

#[test]
fn a_review_is_told_what_it_found_and_as_much_of_the_rest_as_its_round_allows() {
    let course = course();
    let empty = course.read(&format!("{EXERCISE}/remarks.toml"));
    let said = course.review(&empty, 1);
    assert_says(
        &said,
        &[
            "FAIL  four_points_or_more",
            "0 points",
            "6 more to find; round = 2 says in which files",
        ],
    );

    // Two faults, one of them a line off, and a false alarm.
    let two = remark("src/notes.rs", 86, "race")
        + &remark("src/error.rs", 111, "disclosure")
        + &remark("src/notes.rs", 1, "panic");
    let said = course.review(&format!("round = 2\n{two}"), 1);
    assert_says(
        &said,
        &[
            "found  src/notes.rs:86, race",
            "yours: It breaks.",
            "found  src/error.rs:111, disclosure",
            "not there  src/notes.rs:1, panic",
            "1.5 points",
            "4 more to find, in migrations/0002_notes.sql, src/notes.rs; round = 3",
        ],
    );
    let said = course.review(&format!("round = 3\n{two}"), 1);
    assert_says(&said, &["missed  migrations/0002_notes.sql:3, release"]);

    let whole = course.read(&format!("{SOLUTION}/remarks.toml"));
    let said = course.review(&whole, 0);
    assert_says(
        &said,
        &[
            "6 of 6 say the same as ours",
            "6 points",
            "nothing is missing",
        ],
    );
}

#[test]
fn a_form_that_cannot_be_read_is_told_where_and_judged_no_further() {
    let course = course();
    for (form, words) in [
        ("round = 4\n".to_owned(), "round = 1, 2 or 3"),
        (
            "round = 1\n".to_owned() + &remark("src/notes.rs", 9999, "race"),
            "a line of src/notes.rs, 1 to",
        ),
        (
            "round = 1\n".to_owned() + &remark("src/hooks.rs", 1, "race"),
            "file = \"src/hooks.rs\"",
        ),
        (
            "round = 1\n".to_owned() + &remark("src/notes.rs", 1, "style"),
            "unknown variant `style`",
        ),
    ] {
        let said = course.review(&form, 1);
        assert_says(&said, &["FAIL  the_form_is_complete", words]);
        assert!(!said.contains("more to find"), "{said}");
    }
}
