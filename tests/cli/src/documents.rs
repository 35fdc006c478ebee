//! What a check found, for programs: a JSON object for editors, or JUnit's XML for CI. It is all that is on standard output then.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use crate::cli::Format;
use crate::editors::{TestPlace, xml};
use crate::state::{Fault, LastCheck};
use workshop_harness::report::{Judged, Report, TestStatus};

/// What a check found. Where the code does not get as far as the tests, there is no report.
pub struct Document<'a> {
    pub target: String,
    /// What is remembered of it.
    pub check: &'a LastCheck,
    pub report: Option<&'a Report>,
    /// Where the red ones are.
    pub places: Vec<TestPlace>,
    /// What to do now.
    pub next: String,
}

impl Document<'_> {
    /// The text of it.
    pub fn text(&self, format: Format) -> anyhow::Result<String> {
        Ok(match format {
            Format::Junit => self.junit(),
            Format::Json | Format::Text => serde_json::to_string_pretty(&self.json())? + "\n",
        })
    }

    fn tests(&self) -> impl Iterator<Item = &Judged> {
        self.report.into_iter().flat_map(|report| &report.tests)
    }

    fn json(&self) -> Value {
        let tests: Vec<Value> = self.tests().map(|judged| self.test(judged)).collect();
        // The words of what keeps the tests from running: the compiler's errors, the service's log.
        let faults = match self.report {
            Some(_) => json!([]),
            None => json!(self.check.faults),
        };
        json!({
            "target": self.target, "outcome": self.check.outcome, "tests": tests, "faults": faults, "next": self.next,
        })
    }

    fn test(&self, judged: &Judged) -> Value {
        let mut test = json!({ "suite": judged.suite, "name": judged.test });
        let mut more = match &judged.status {
            TestStatus::Passed => json!({ "status": "passed" }),
            TestStatus::NotJudged(lack) => json!({ "status": "not judged", "lacks": lack }),
            TestStatus::Failed { failure, log } => json!({
                "status": "failed", "request": failure.request, "expected": failure.expected, "actual": failure.actual, "log": log,
            }),
        };
        let place = self.places.iter().find(|place| place.test == judged.test);
        if let Some(place) = place {
            more["file"] = json!(place.file);
            more["line"] = json!(place.line);
        }
        if let (Value::Object(test), Value::Object(more)) = (&mut test, more) {
            test.extend(more);
        }
        test
    }

    fn junit(&self) -> String {
        let mut suites: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for judged in self.tests() {
            let inside = match &judged.status {
                TestStatus::Passed => String::new(),
                TestStatus::NotJudged(lack) => format!("<skipped message=\"{}\"/>", xml(lack)),
                TestStatus::Failed { failure, log } => {
                    failed(&failure.expected, &format!("{failure}\n{log}"))
                }
            };
            let cases = suites.entry(&judged.suite).or_default();
            cases.push(case(&judged.suite, &judged.test, &inside));
        }
        if self.report.is_none() {
            let faults = self.check.faults.iter();
            let case =
                |fault: &Fault| case("build", &fault.name, &failed(&fault.name, &fault.said));
            suites.insert("build", faults.map(case).collect());
        }
        let mut text = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"{}\">\n",
            xml(&self.target)
        );
        for (suite, cases) in suites {
            let count = |part: &str| cases.iter().filter(|case| case.contains(part)).count();
            let (tests, failures, skipped) = (cases.len(), count("<failure "), count("<skipped "));
            let _ = writeln!(
                text,
                "  <testsuite name=\"{suite}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\">\n{}  </testsuite>",
                cases.concat()
            );
        }
        text + "</testsuites>\n"
    }
}

fn case(suite: &str, name: &str, inside: &str) -> String {
    let name = xml(name);
    format!("    <testcase classname=\"{suite}\" name=\"{name}\">{inside}</testcase>\n")
}

fn failed(message: &str, text: &str) -> String {
    let (message, text) = (xml(message), xml(text));
    format!("<failure message=\"{message}\">{text}</failure>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::CheckOutcome;
    use workshop_requests::failure::Failure;

    #[test]
    fn whatever_a_service_answers_the_documents_can_be_read() -> anyhow::Result<()> {
        let mut report = Report::new("exercise-3");
        let failure = Failure::new("<&\"'>", "a\u{0}b\u{1b}[31m\u{ffff}");
        let log = "]]>\n".to_owned();
        report.add("first-route", "red", TestStatus::Failed { failure, log });
        report.add(
            "first-route",
            "unknown",
            TestStatus::NotJudged("nginx".to_owned()),
        );
        report.add("qrcode", "green", TestStatus::Passed);
        let check = LastCheck::now(CheckOutcome::Failed, Vec::new());
        let document = Document {
            target: "exercise-3".to_owned(),
            check: &check,
            report: Some(&report),
            places: Vec::new(),
            next: "just hint exercise-3".to_owned(),
        };
        let xml = document.text(Format::Junit)?;
        let read = roxmltree::Document::parse(&xml)?;
        let suites = read
            .descendants()
            .filter(|node| node.has_tag_name("testsuite"));
        let counts =
            suites.map(|suite| ["tests", "failures", "skipped"].map(|name| suite.attribute(name)));
        let counts: Vec<_> = counts.collect();
        let counted = |counts: [&'static str; 3]| counts.map(Some);
        assert_eq!(counts, [counted(["2", "1", "1"]), counted(["1", "0", "0"])]);
        let json: Value = serde_json::from_str(&document.text(Format::Json)?)?;
        assert_eq!(json["tests"][0]["expected"], "<&\"'>");
        Ok(())
    }

    #[test]
    fn what_does_not_compile_is_in_the_documents_too() -> anyhow::Result<()> {
        let fault = Fault::new("E0308", "mismatched types");
        let check = LastCheck::now(CheckOutcome::DoesNotCompile, vec![fault]);
        let document = Document {
            target: "exercise-3".to_owned(),
            check: &check,
            report: None,
            places: Vec::new(),
            next: "just hint exercise-3".to_owned(),
        };
        let json: Value = serde_json::from_str(&document.text(Format::Json)?)?;
        assert_eq!(json["outcome"], "does_not_compile");
        assert_eq!(json["faults"][0]["name"], "E0308");
        let xml = document.text(Format::Junit)?;
        assert!(xml.contains("name=\"E0308\""), "{xml}");
        Ok(())
    }
}
