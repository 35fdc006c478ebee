//! The question of a task: the one metric that is named before it is measured.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::key::Key;

static QUESTIONS: LazyLock<BTreeMap<String, Key>> =
    LazyLock::new(|| toml::from_str(include_str!("questions.toml")).unwrap_or_default());

/// The metric that a task asks about; none where it compares nothing, or asks about the measuring itself.
pub fn of(task: &str) -> Option<&'static Key> {
    QUESTIONS.get(task)
}

#[cfg(test)]
mod tests {
    use workshop_base::exercise::{Catalogue, PREDICTED};
    use workshop_base::workspace::Workspace;

    use super::*;
    use crate::report::read_references;

    #[test]
    fn each_committed_comparison_has_its_question_among_the_metrics_it_shows_first() {
        let workspace = Workspace::find().expect("the checkout");
        let mut asked = 0;
        for result in read_references(&workspace).expect("committed results") {
            let Some(question) = of(&result.task) else {
                // These compare no two sides by a metric; a rollout and a takeover have no verdict.
                let alone = [
                    "baseline",
                    "calibration",
                    "calibration-rounds",
                    "turns",
                    "endurance",
                    "rolling-out",
                    "taking-over",
                ];
                assert!(
                    alone.contains(&&*result.task),
                    "{} asks nothing",
                    result.task
                );
                continue;
            };
            let metric = result.metric(question);
            let metric = metric.unwrap_or_else(|| panic!("{} has no {question}", result.task));
            assert!(metric.headline, "{}: {question}", result.task);
            assert!(
                !metric.comparisons.is_empty(),
                "{}: {question}",
                result.task
            );
            asked += 1;
        }
        assert!(asked >= QUESTIONS.len(), "{asked} of {}", QUESTIONS.len());
    }

    #[test]
    fn the_form_of_predictions_names_the_exercises_that_ask_about_a_quantity() {
        let workspace = Workspace::find().expect("the checkout");
        let catalogue = Catalogue::read(&workspace).expect("the exercises");
        let form = catalogue.get(1).expect("exercise 1").starter(&workspace);
        let form = std::fs::read_to_string(form.join("predictions.toml")).expect("the form");
        for key in PREDICTED {
            let asked = catalogue.iter().filter(|exercise| {
                let task = exercise.task();
                task.and_then(of).is_some_and(|of| of.as_str() == key)
            });
            let numbers: Vec<String> = asked.map(|one| one.number.to_string()).collect();
            let line = match numbers.as_slice() {
                [] => continue,
                [one] => format!("# The question of exercise {one}."),
                [others @ .., last] => {
                    format!(
                        "# The question of exercises {} and {last}.",
                        others.join(", ")
                    )
                }
            };
            assert!(form.contains(&format!("{line}\n[{key}]")), "{line} [{key}]");
        }
    }
}
