//! The forms that learners fill in. No service is needed: a form is judged by the suite of its exercise, line by line. What a line of
//! `energy.toml` has to be is said where that form is read, in `workshop_tasks::energy::form`.

use anyhow::Context;
use toml::Table;

use workshop_base::exercise::Exercise;
use workshop_base::files;
use workshop_harness::build::Crate;
use workshop_harness::failure::Failure;
use workshop_harness::report::{Report, Verdict};
use workshop_results::predictions::KEYS;
use workshop_tasks::energy::form::{self, number};

/// A form, and the suite that judges it.
struct Form {
    suite: &'static str,
    file: &'static str,
    tests: fn() -> Vec<&'static str>,
    /// Holds the form to one of the tests; a failure names the table and the line to change.
    judge: fn(&Table, &str) -> Result<(), Failure>,
}

/// The forms of exercises 1 and 17.
const FORMS: [Form; 2] = [
    Form {
        suite: "predict",
        file: "predictions.toml",
        tests: || PREDICTIONS.map(|test| test.name).to_vec(),
        judge: predicted,
    },
    Form {
        suite: "a-watt-of-requests",
        file: form::FILE,
        tests: form::tests,
        judge: |table, test| {
            form::judge(table, test).map_err(|misfit| Failure::new(misfit.expected, misfit.found))
        },
    },
];

/// Judges the form of an exercise, in this crate's folder.
pub fn judge(exercise: &Exercise, place: &Crate) -> anyhow::Result<Report> {
    let mut forms = FORMS.iter();
    let form = forms.find(|form| exercise.suites.iter().any(|suite| suite == form.suite));
    let form = form.with_context(|| format!("no suite of {} judges a form", exercise.name()))?;
    let text = files::text(&place.folder.join(form.file))?;
    let mut report = Report::new(&place.package);
    for (test, judged) in form.judged(&text) {
        let verdict = match judged {
            Ok(()) => Verdict::Passed,
            Err(failure) => Verdict::Failed {
                failure,
                log: String::new(),
            },
        };
        report.add(form.suite, test, verdict);
    }
    Ok(report)
}

impl Form {
    /// The tests with what came of them. All fail where the text isn't TOML, with the parser's words, line and column.
    fn judged(&self, text: &str) -> Vec<(&'static str, Result<(), Failure>)> {
        let table = text.parse::<Table>();
        let table = table
            .map_err(|error| Failure::new(format!("{} in TOML", self.file), error.to_string()));
        let judge = |test| match &table {
            Ok(table) => (self.judge)(table, test),
            Err(failure) => Err(failure.clone()),
        };
        let tests = (self.tests)().into_iter();
        tests.map(|test| (test, judge(test))).collect()
    }
}

/// One test of the predictions: what each quantity's value has to be.
struct Prediction {
    /// The sentence that it holds the form to.
    name: &'static str,
    keys: &'static [&'static str],
    expected: &'static str,
    holds: fn(f64) -> bool,
}

/// The tests of the predictions.
const PREDICTIONS: [Prediction; 4] = [
    Prediction {
        name: "every_prediction_is_filled_in",
        keys: &["ratio", "confidence"],
        expected: "a number",
        holds: |_| true,
    },
    Prediction {
        name: "every_ratio_is_a_positive_number",
        keys: &["ratio"],
        expected: "a number above 0 (Rust divided by Kotlin; 0.5 is half)",
        holds: |ratio| ratio > 0.0,
    },
    Prediction {
        name: "every_ratio_is_plausible",
        keys: &["ratio"],
        expected: "a ratio, not a percentage: 0.25 is a quarter, 4 is four times as much",
        holds: |ratio| (0.001..=1000.0).contains(&ratio),
    },
    Prediction {
        name: "every_confidence_is_a_percentage",
        keys: &["confidence"],
        expected: "percent, from 50 (a coin) to 99",
        holds: |percent| (50.0..=99.0).contains(&percent),
    },
];

fn predicted(form: &Table, test: &str) -> Result<(), Failure> {
    let tests = PREDICTIONS.iter().filter(|known| known.name == test);
    for test in tests {
        let keys = test.keys.iter();
        for (key, quantity) in keys.flat_map(|key| KEYS.map(|quantity| (key, quantity))) {
            let value = form.get(quantity).and_then(|quantity| quantity.get(key));
            if !value.and_then(number).is_some_and(test.holds) {
                let found = match value {
                    Some(value) => format!("{key} = {value}"),
                    None => format!("no {key} in [{quantity}]"),
                };
                let expected = format!("[{quantity}] {key} = {}", test.expected);
                return Err(Failure::new(expected, found));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(form: &Form, text: &str) -> Vec<&'static str> {
        let judged = form.judged(text).into_iter();
        judged
            .filter(|(_, judged)| judged.is_err())
            .map(|(test, _)| test)
            .collect()
    }

    /// The tests that predictions like these fail.
    fn predicting(ratio: &str, confidence: &str) -> Vec<&'static str> {
        let tables = KEYS
            .map(|quantity| format!("[{quantity}]\nratio = {ratio}\nconfidence = {confidence}\n"));
        failing(&FORMS[0], &tables.concat())
    }

    #[test]
    fn a_filled_form_passes() {
        assert_eq!(predicting("0.05", "80"), Vec::<&str>::new());
    }

    #[test]
    fn an_empty_form_fails_every_test() {
        assert_eq!(predicting("\"?\"", "\"?\"").len(), PREDICTIONS.len());
    }

    #[test]
    fn a_ratio_of_zero_is_no_ratio() {
        assert_eq!(
            predicting("0", "80"),
            [
                "every_ratio_is_a_positive_number",
                "every_ratio_is_plausible"
            ]
        );
    }

    #[test]
    fn a_ratio_that_no_two_services_have_is_not_plausible() {
        assert_eq!(predicting("250000", "80"), ["every_ratio_is_plausible"]);
    }

    #[test]
    fn a_confidence_below_a_coin_is_refused() {
        assert_eq!(
            predicting("0.5", "0.8"),
            ["every_confidence_is_a_percentage"]
        );
    }

    #[test]
    fn a_form_that_is_no_toml_fails_every_test_with_the_place() {
        for form in &FORMS {
            let judged = form.judged("[grid\nratio = 1");
            assert_eq!(judged.len(), (form.tests)().len());
            for (test, judged) in judged {
                let failure = judged.expect_err(test);
                assert!(failure.actual.contains("line 1"), "{}", failure.actual);
            }
        }
    }
}
