//! Suite `a-watt-of-requests` (exercise 17): the form `energy.toml` is filled in with what can be measured and computed with. No
//! service is needed. What a line has to be is said where the form is read, in `workshop_tasks::energy::form`.

use std::path::Path;

use crate::predict;
use workshop_harness::failure::Failure;
use workshop_tasks::energy::form::{self, FILE};

/// Its name.
pub const SUITE: &str = "a-watt-of-requests";

/// Judges the form in this folder: the tests with what came of them.
pub fn judge(folder: &Path) -> anyhow::Result<Vec<(&'static str, Result<(), Failure>)>> {
    let form = predict::read(&folder.join(FILE))?;
    let judged = form::tests().into_iter().map(|test| {
        let table = form
            .as_ref()
            .map_err(|error| Failure::new(format!("{FILE} in TOML"), error));
        let judged = table.and_then(|table| {
            form::judge(table, test).map_err(|misfit| Failure::new(misfit.expected, misfit.found))
        });
        (test, judged)
    });
    Ok(judged.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_is_no_toml_fails_every_test_with_the_place() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), "[grid\nintensity = 1").unwrap();
        let judged = judge(folder.path()).unwrap();
        assert_eq!(judged.len(), form::tests().len());
        for (test, judged) in judged {
            let failure = judged.expect_err(test);
            assert!(failure.actual.contains("line 1"), "{}", failure.actual);
        }
    }
}
