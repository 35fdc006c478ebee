//! Suite `predict` (exercise 1): the form `predictions.toml` is filled in, completely and sanely. No service is needed.

use std::path::Path;

use anyhow::Context;
use toml::{Table, Value};

use workshop_harness::failure::Failure;

use workshop_harness::failure::TestError;
use workshop_results::predictions::KEYS;

/// No ratio of two services that do the same work is smaller, or its reciprocal larger, than this.
const SMALLEST_PLAUSIBLE: f64 = 0.001;

/// One test of the form.
pub struct FormTest {
    /// The sentence that it holds the form to.
    pub name: &'static str,
    judge: fn(&Table) -> Result<(), Failure>,
}

/// The suite's tests.
pub fn tests() -> Vec<FormTest> {
    vec![
        FormTest {
            name: "every_prediction_is_filled_in",
            judge: every_prediction_is_filled_in,
        },
        FormTest {
            name: "every_ratio_is_a_positive_number",
            judge: every_ratio_is_a_positive_number,
        },
        FormTest {
            name: "every_ratio_is_plausible",
            judge: every_ratio_is_plausible,
        },
        FormTest {
            name: "every_confidence_is_a_percentage",
            judge: every_confidence_is_a_percentage,
        },
    ]
}

impl FormTest {
    /// Holds a form to this sentence.
    ///
    /// # Errors
    /// A failure that names the table and the line to change.
    pub fn judge(&self, form: &Form) -> Result<(), TestError> {
        match form {
            Form::Read(table) => Ok((self.judge)(table)?),
            Form::Malformed(error) => Err(Failure::new("predictions.toml in TOML", error).into()),
        }
    }
}

/// The form as it was found.
#[derive(Debug)]
pub enum Form {
    /// It is TOML.
    Read(Table),
    /// It is not; the parser's words, with line and column.
    Malformed(String),
}

impl Form {
    /// Reads `predictions.toml` in this folder.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn read(folder: &Path) -> anyhow::Result<Form> {
        let path = folder.join("predictions.toml");
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Ok(match text.parse::<Table>() {
            Ok(table) => Form::Read(table),
            Err(error) => Form::Malformed(error.to_string()),
        })
    }
}

fn value<'a>(form: &'a Table, quantity: &str, key: &str) -> Option<&'a Value> {
    form.get(quantity)?.get(key)
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

fn each(
    form: &Table,
    key: &str,
    expected: &str,
    holds: impl Fn(&Value) -> bool,
) -> Result<(), Failure> {
    for quantity in KEYS {
        match value(form, quantity, key) {
            Some(value) if holds(value) => {}
            Some(value) => {
                return Err(Failure::new(
                    format!("[{quantity}] {key} = {expected}"),
                    format!("{key} = {value}"),
                ));
            }
            None => {
                return Err(Failure::new(
                    format!("[{quantity}] {key} = {expected}"),
                    format!("no {key} in [{quantity}]"),
                ));
            }
        }
    }
    Ok(())
}

fn every_prediction_is_filled_in(form: &Table) -> Result<(), Failure> {
    let filled = |value: &Value| number(value).is_some();
    each(form, "ratio", "a number", filled)?;
    each(form, "confidence", "a number", filled)
}

fn every_ratio_is_a_positive_number(form: &Table) -> Result<(), Failure> {
    each(
        form,
        "ratio",
        "a number above 0 (Rust divided by Kotlin; 0.5 is half)",
        |value| number(value).is_some_and(|ratio| ratio > 0.0),
    )
}

fn every_ratio_is_plausible(form: &Table) -> Result<(), Failure> {
    each(
        form,
        "ratio",
        "a ratio, not a percentage: 0.25 is a quarter, 4 is four times as much",
        |value| {
            number(value).is_some_and(|ratio| {
                (SMALLEST_PLAUSIBLE..=1.0 / SMALLEST_PLAUSIBLE).contains(&ratio)
            })
        },
    )
}

fn every_confidence_is_a_percentage(form: &Table) -> Result<(), Failure> {
    each(
        form,
        "confidence",
        "percent, from 50 (a coin) to 99",
        |value| number(value).is_some_and(|percent| (50.0..=99.0).contains(&percent)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(ratio: &str, confidence: &str) -> Form {
        let tables = KEYS
            .map(|quantity| format!("[{quantity}]\nratio = {ratio}\nconfidence = {confidence}\n"));
        Form::Read(tables.concat().parse().unwrap_or_default())
    }

    fn failing(form: &Form) -> Vec<&'static str> {
        tests()
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
        assert_eq!(failing(&form("\"?\"", "\"?\"")).len(), tests().len());
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
        let form = match text.parse::<Table>() {
            Ok(table) => Form::Read(table),
            Err(error) => Form::Malformed(error.to_string()),
        };
        assert_eq!(failing(&form).len(), tests().len());
    }
}
