//! The transcript of a green check on an exercise's page: its own suites in full, and one line for those that were there before.

use workshop_base::exercise::{Catalogue, Exercise};

/// The exercise whose green check this file is: `book/transcripts/green-3.txt`.
pub fn of<'a>(catalogue: &'a Catalogue, file: &str) -> Option<&'a Exercise> {
    let number = file.strip_prefix("book/transcripts/green-")?;
    let number = number.strip_suffix(".txt")?.parse().ok()?;
    catalogue.get(number).ok()
}

/// The transcript without the tests of other exercises, which are counted where they were.
pub fn shortened(transcript: &str, exercise: &Exercise) -> String {
    let is_suite = |line: &str| line.starts_with("  ") && !line[2..].starts_with(' ');
    let mut short: Vec<String> = Vec::new();
    let (mut earlier, mut is_earlier) = (0, false);
    let tell = |short: &mut Vec<String>, earlier: &mut usize| match std::mem::take(earlier) {
        0 => {}
        1 => short.push("  [1 test of earlier exercises: ok]".to_owned()),
        tests => short.push(format!("  [{tests} tests of earlier exercises: ok]")),
    };
    for line in transcript.lines() {
        if is_suite(line) {
            is_earlier = !exercise.suites.iter().any(|suite| suite == line.trim());
        } else if !line.starts_with("    ") {
            is_earlier = false;
        }
        if is_earlier {
            earlier += usize::from(!is_suite(line));
            continue;
        }
        tell(&mut short, &mut earlier);
        short.push(line.to_owned());
    }
    tell(&mut short, &mut earlier);
    short.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_base::workspace::Workspace;

    #[test]
    fn the_tests_of_earlier_exercises_are_counted() {
        let checkout = Workspace::at(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let catalogue = Catalogue::read(&checkout).expect("the exercises");
        let exercise = of(&catalogue, "book/transcripts/green-3.txt").expect("exercise 3");
        let transcript = "solution-3 on PostgreSQL\n  first-route\n    ok    a\n    ok    b\n  read-a-record\n    ok    c\n  api-key\n    ok    d\n\n4 passed, 0 failed";
        assert_eq!(
            shortened(transcript, exercise),
            "solution-3 on PostgreSQL\n  [2 tests of earlier exercises: ok]\n  read-a-record\n    ok    c\n  [1 test of earlier exercises: ok]\n\n4 passed, 0 failed"
        );
        assert!(of(&catalogue, "book/transcripts/red-3.txt").is_none());
    }
}
