//! The forms in TOML that learners fill in: what each line has to be, and the judge of them all. No service is needed: a form is judged
//! by the suite of its exercise, line by line.

pub mod diagnosis;
pub mod energy;
pub mod from_traces;
mod predict;
pub mod remarks;

use std::ops::RangeInclusive;

use anyhow::Context;
use toml::{Table, Value};

use workshop_base::exercise::Exercise;
use workshop_base::files;
use workshop_harness::build::Crate;
use workshop_harness::failure::Failure;
use workshop_harness::report::{Report, TestStatus};

/// The suites that judge a form, each with its form: exercises 1 and 23.
const FORMS: [(&str, &Form); 2] = [
    ("predict", &predict::FORM),
    ("a-watt-of-requests", &energy::FORM),
];

/// A form. Each of its tests is a sentence about some of its lines.
#[derive(Debug)]
pub struct Form {
    /// The name of its file.
    pub file: &'static str,
    /// The test of every line: that it is filled in.
    pub filled_in: &'static str,
    /// True where that passes.
    pub is_filled: fn(&Value) -> bool,
    /// The lines, in the order in which they are judged.
    pub lines: &'static [FormLine],
}

/// One line of a form.
#[derive(Debug)]
pub struct FormLine {
    /// The tables that have it.
    pub tables: &'static [&'static str],
    /// Its key in each of them.
    pub key: &'static str,
    /// Its own test, beside that of every line.
    pub test: &'static str,
    /// What its value has to be.
    pub expected: &'static str,
    /// Whether the value is as expected.
    pub holds: fn(&Value, &Value) -> bool,
}

impl Form {
    /// The names of the tests, in the order of the lines.
    pub fn tests(&self) -> Vec<&'static str> {
        let mut names = vec![self.filled_in];
        names.extend(self.lines.iter().map(|line| line.test));
        names.dedup();
        names
    }

    /// The tests with their results. All fail if the text isn't TOML, with the parser's words, line and column.
    pub fn judged(&self, text: &str) -> Vec<(&'static str, Result<(), Failure>)> {
        let table = text.parse::<Table>();
        let expected = format!("{} in TOML: a point in a number, and no unit", self.file);
        let table = table.map_err(|error| Failure::new(expected, error.to_string()));
        let judge = |test| self.judge(table.as_ref().map_err(Clone::clone)?, test);
        let tests = self.tests().into_iter();
        tests.map(|test| (test, judge(test))).collect()
    }

    /// Runs one test on a form; a failure names the table and the line to change first.
    fn judge(&self, form: &Table, test: &str) -> Result<(), Failure> {
        let is_of_all = test == self.filled_in;
        let lines = self.lines.iter();
        for line in lines.filter(|line| is_of_all || line.test == test) {
            for name in line.tables {
                let key = line.key;
                let table = form.get(*name);
                let value = table.and_then(|table| table.get(key));
                let holds = match table.zip(value) {
                    Some((_, value)) if is_of_all => (self.is_filled)(value),
                    Some((table, value)) => (line.holds)(table, value),
                    None => false,
                };
                if !holds {
                    let found = match value {
                        Some(value) => format!("{key} = {value}"),
                        None => format!("no {key} in [{name}]"),
                    };
                    let expected = format!("[{name}] {key} = {}", line.expected);
                    return Err(Failure::new(expected, found));
                }
            }
        }
        Ok(())
    }
}

/// True for a number in this range.
pub fn is_in(value: &Value, range: RangeInclusive<f64>) -> bool {
    number(value).is_some_and(|number| range.contains(&number))
}

/// A number, whether written `2` or `2.0`.
pub fn number(value: &Value) -> Option<f64> {
    value.clone().try_into().ok()
}

/// Judges the form of an exercise, in this crate's folder.
pub fn judge(exercise: &Exercise, place: &Crate) -> anyhow::Result<Report> {
    let mut forms = FORMS.iter();
    let form = forms.find(|(suite, _)| exercise.suites.iter().any(|own| own == suite));
    let (suite, form) =
        form.with_context(|| format!("no suite of {} judges a form", exercise.name()))?;
    let text = files::text(&place.folder.join(form.file))?;
    let mut report = Report::new(&place.package);
    for (test, judged) in form.judged(&text) {
        let status = match judged {
            Ok(()) => TestStatus::Passed,
            Err(failure) => TestStatus::Failed {
                failure,
                log: String::new(),
            },
        };
        report.add(suite, test, status);
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_the_same_from_any_editor() {
        for (_, form) in FORMS {
            let line = &form.lines[form.lines.len() - 1];
            let text = format!("[{}]\n{} = 60\n", line.tables[0], line.key);
            let passed = |text: &str| -> Vec<bool> {
                let judged = form.judged(text).into_iter();
                judged.map(|(_, judged)| judged.is_ok()).collect()
            };
            let saved = format!("\u{feff}{}", text.replace('\n', "\r\n"));
            assert_eq!(passed(&saved), passed(&text));
            let actual = |text: &str| {
                let judged = form.judged(text).into_iter();
                let failures = judged.filter_map(|(_, judged)| judged.err());
                failures.map(|failure| failure.actual).collect::<Vec<_>>()
            };
            assert_eq!(actual(&saved), actual(&text));
            for slip in ["0,6", "60 %"] {
                let failures = actual(&text.replace("60", slip));
                assert_eq!(failures.len(), form.tests().len());
                let is_placed = |actual: &String| actual.contains("line 2");
                assert!(failures.iter().all(is_placed), "{failures:?}");
            }
        }
    }

    #[test]
    fn a_form_that_is_no_toml_fails_every_test_with_the_place() {
        for (_, form) in FORMS {
            let judged = form.judged("[grid\nratio = 1");
            assert_eq!(judged.len(), form.tests().len());
            for (test, judged) in judged {
                let failure = judged.expect_err(test);
                assert!(failure.actual.contains("line 1"), "{}", failure.actual);
            }
        }
    }
}
