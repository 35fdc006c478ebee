//! The forms that learners fill in. No service is needed: a form is judged by the suite of its exercise, line by line. What a line of
//! `energy.toml` has to be is said where that form is read, in `workshop_tasks::energy::form`.

use anyhow::Context;

use workshop_base::exercise::Exercise;
use workshop_base::files;
use workshop_harness::build::Crate;
use workshop_harness::report::{Report, TestStatus};
use workshop_results::predictions::KEYS;
use workshop_tasks::energy;
use workshop_tasks::form::{Form, FormLine, is_in, number};

/// The suites that judge a form, each with its form: exercises 1 and 17.
const FORMS: [(&str, &Form); 2] = [
    ("predict", &PREDICTIONS),
    ("a-watt-of-requests", &energy::form::FORM),
];

/// The form of exercise 1.
static PREDICTIONS: Form = Form {
    file: "predictions.toml",
    filled_in: "every_prediction_is_filled_in",
    is_filled: |value| number(value).is_some(),
    lines: &[
        FormLine {
            tables: &KEYS,
            key: "ratio",
            test: "every_ratio_is_a_positive_number",
            expected: "a number above 0 (Rust divided by Kotlin; 0.5 is half)",
            holds: |_, ratio| is_in(ratio, f64::MIN_POSITIVE..=f64::MAX),
        },
        FormLine {
            tables: &KEYS,
            key: "ratio",
            test: "every_ratio_is_plausible",
            expected: "a ratio, not a percentage: 0.25 is a quarter, 4 is four times as much",
            holds: |_, ratio| is_in(ratio, 0.001..=1000.0),
        },
        FormLine {
            tables: &KEYS,
            key: "confidence",
            test: "every_confidence_is_a_percentage",
            expected: "a number from 50 (a coin) to 99, in percent",
            holds: |_, percent| is_in(percent, 50.0..=99.0),
        },
    ],
};

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
        failing(&PREDICTIONS, &tables.concat())
    }

    #[test]
    fn a_filled_form_passes() {
        assert_eq!(predicting("0.05", "80"), Vec::<&str>::new());
    }

    #[test]
    fn an_empty_form_fails_every_test() {
        assert_eq!(predicting("\"?\"", "\"?\""), PREDICTIONS.tests());
        assert_eq!(failing(&PREDICTIONS, ""), PREDICTIONS.tests());
    }

    #[test]
    fn a_number_in_quotes_is_not_filled_in() {
        assert_eq!(predicting("\"0.5\"", "\"80\""), PREDICTIONS.tests());
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
