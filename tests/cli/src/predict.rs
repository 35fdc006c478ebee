//! Suite `predict` (exercise 1): the form `predictions.toml` is filled in, completely and sanely. No service is needed.

use std::path::Path;

use toml::{Table, Value};

use workshop_base::files;
use workshop_harness::failure::Failure;
use workshop_results::predictions::KEYS;

/// Its name.
pub const SUITE: &str = "predict";
/// The form.
const FILE: &str = "predictions.toml";

/// One test of the form: what each quantity's value has to be.
struct FormTest {
    /// The sentence that it holds the form to.
    name: &'static str,
    keys: &'static [&'static str],
    expected: &'static str,
    holds: fn(f64) -> bool,
}

/// The suite's tests.
const TESTS: [FormTest; 4] = [
    FormTest {
        name: "every_prediction_is_filled_in",
        keys: &["ratio", "confidence"],
        expected: "a number",
        holds: |_| true,
    },
    FormTest {
        name: "every_ratio_is_a_positive_number",
        keys: &["ratio"],
        expected: "a number above 0 (Rust divided by Kotlin; 0.5 is half)",
        holds: |ratio| ratio > 0.0,
    },
    FormTest {
        name: "every_ratio_is_plausible",
        keys: &["ratio"],
        expected: "a ratio, not a percentage: 0.25 is a quarter, 4 is four times as much",
        holds: |ratio| (0.001..=1000.0).contains(&ratio),
    },
    FormTest {
        name: "every_confidence_is_a_percentage",
        keys: &["confidence"],
        expected: "percent, from 50 (a coin) to 99",
        holds: |percent| (50.0..=99.0).contains(&percent),
    },
];

/// The form as it was found; where it isn't TOML, the parser's words, with line and column.
pub type Form = Result<Table, String>;

/// Reads a form.
pub fn read(path: &Path) -> anyhow::Result<Form> {
    let text = files::text(path)?;
    Ok(text.parse::<Table>().map_err(|error| error.to_string()))
}

/// Judges `predictions.toml` in this folder: the tests with what came of them.
pub fn judge(folder: &Path) -> anyhow::Result<Vec<(&'static str, Result<(), Failure>)>> {
    let form = read(&folder.join(FILE))?;
    let judged = TESTS.iter().map(|test| (test.name, test.judge(&form)));
    Ok(judged.collect())
}

impl FormTest {
    /// Holds a form to this sentence; a failure names the table and the line to change.
    fn judge(&self, form: &Form) -> Result<(), Failure> {
        let table = form
            .as_ref()
            .map_err(|error| Failure::new(format!("{FILE} in TOML"), error))?;
        for (key, quantity) in self
            .keys
            .iter()
            .flat_map(|key| KEYS.map(|quantity| (key, quantity)))
        {
            let value = table.get(quantity).and_then(|quantity| quantity.get(key));
            if !value.and_then(number).is_some_and(self.holds) {
                let found = match value {
                    Some(value) => format!("{key} = {value}"),
                    None => format!("no {key} in [{quantity}]"),
                };
                let expected = format!("[{quantity}] {key} = {}", self.expected);
                return Err(Failure::new(expected, found));
            }
        }
        Ok(())
    }
}

/// A number, whether written `2` or `2.0`.
fn number(value: &Value) -> Option<f64> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a prediction is no 53-bit integer"
    )]
    let from_integer = |integer: i64| integer as f64;
    value
        .as_float()
        .or_else(|| value.as_integer().map(from_integer))
        .filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(ratio: &str, confidence: &str) -> Form {
        let tables = KEYS
            .map(|quantity| format!("[{quantity}]\nratio = {ratio}\nconfidence = {confidence}\n"));
        Ok(tables.concat().parse().unwrap_or_default())
    }

    fn failing(form: &Form) -> Vec<&'static str> {
        TESTS
            .iter()
            .filter(|test| test.judge(form).is_err())
            .map(|test| test.name)
            .collect()
    }

    #[test]
    fn a_filled_form_passes() {
        assert_eq!(failing(&form("0.05", "80")), Vec::<&str>::new());
    }

    #[test]
    fn an_empty_form_fails_every_test() {
        assert_eq!(failing(&form("\"?\"", "\"?\"")).len(), TESTS.len());
    }

    #[test]
    fn a_ratio_of_zero_is_no_ratio() {
        assert_eq!(
            failing(&form("0", "80")),
            [
                "every_ratio_is_a_positive_number",
                "every_ratio_is_plausible"
            ]
        );
    }

    #[test]
    fn a_ratio_that_no_two_services_have_is_not_plausible() {
        assert_eq!(failing(&form("250000", "80")), ["every_ratio_is_plausible"]);
    }

    #[test]
    fn a_confidence_below_a_coin_is_refused() {
        assert_eq!(
            failing(&form("0.5", "0.8")),
            ["every_confidence_is_a_percentage"]
        );
    }

    #[test]
    fn a_form_that_is_no_toml_fails_with_the_place() {
        let text = "[start_up\nratio = 1";
        let form = text.parse::<Table>().map_err(|error| error.to_string());
        assert_eq!(failing(&form).len(), TESTS.len());
    }
}
