//! The form of exercise 1, `predictions.toml`: what the reader expects to be measured.

use crate::forms::{Form, FormLine, is_in, number};
use workshop_base::exercise::PREDICTED;

/// The form, with its tests.
pub(super) static FORM: Form = Form {
    file: "predictions.toml",
    filled_in: "every_prediction_is_filled_in",
    is_filled: |value| number(value).is_some(),
    lines: &[
        FormLine {
            tables: &PREDICTED,
            key: "ratio",
            test: "every_ratio_is_a_positive_number",
            expected: "a number above 0 (Rust divided by Kotlin; 0.5 is half)",
            holds: |_, ratio| is_in(ratio, f64::MIN_POSITIVE..=f64::MAX),
        },
        FormLine {
            tables: &PREDICTED,
            key: "ratio",
            test: "every_ratio_is_plausible",
            expected: "a ratio, not a percentage: 0.25 is a quarter, 4 is four times as much",
            holds: |_, ratio| is_in(ratio, 0.001..=1000.0),
        },
        FormLine {
            tables: &PREDICTED,
            key: "confidence",
            test: "every_confidence_is_a_percentage",
            expected: "a number from 50 (a coin) to 99, in percent",
            holds: |_, percent| is_in(percent, 50.0..=99.0),
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    fn failing(text: &str) -> Vec<&'static str> {
        let judged = FORM.judged(text).into_iter();
        judged
            .filter(|(_, judged)| judged.is_err())
            .map(|(test, _)| test)
            .collect()
    }

    /// The tests that predictions like these fail.
    fn predicting(ratio: &str, confidence: &str) -> Vec<&'static str> {
        let tables = PREDICTED
            .map(|quantity| format!("[{quantity}]\nratio = {ratio}\nconfidence = {confidence}\n"));
        failing(&tables.concat())
    }

    #[test]
    fn a_filled_form_passes() {
        assert_eq!(predicting("0.05", "80"), Vec::<&str>::new());
    }

    #[test]
    fn an_empty_form_fails_every_test() {
        assert_eq!(predicting("\"?\"", "\"?\""), FORM.tests());
        assert_eq!(failing(""), FORM.tests());
    }

    #[test]
    fn a_number_in_quotes_is_not_filled_in() {
        assert_eq!(predicting("\"0.5\"", "\"80\""), FORM.tests());
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
}
