//! By which tests a target is judged, and its judgment, of which nothing is printed or remembered.

use anyhow::Context;

use crate::katas::{self, Katas};
use crate::subject::CheckTarget;
use workshop_base::exercise::{Catalogue, Exercise, Kind};
use workshop_base::outcome::Trouble;
use workshop_base::peer;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::build::Crate;
use workshop_harness::plan::{self, Phase};
use workshop_harness::report::Report;
use workshop_harness::run::judge_phases;
use workshop_harness::scenarios::Place;
use workshop_suites::forms::{self, remarks};

/// Judges a built target by all that its exercise's check asks.
pub async fn judge_launch(
    place: Place<'_>,
    catalogue: &Catalogue,
    exercise: Option<&Exercise>,
) -> anyhow::Result<Report> {
    judge_phases(place, &phases_of(catalogue, exercise)?, &mut ()).await
}

/// The phases of an exercise's check; without one, of every suite that the Kotlin service keeps: it is the oracle.
pub fn phases_of(catalogue: &Catalogue, exercise: Option<&Exercise>) -> anyhow::Result<Vec<Phase>> {
    let all = workshop_suites::all();
    let (names, new): (Vec<&str>, Vec<&str>) = match exercise {
        Some(exercise) => (
            catalogue.suites_for(exercise),
            exercise.suites.iter().map(String::as_str).collect(),
        ),
        None => {
            let of_kotlin = all.iter().filter(|suite| suite.judges_kotlin());
            let names: Vec<&str> = of_kotlin.map(|suite| suite.name).collect();
            (names.clone(), names)
        }
    };
    plan::phases(all, &names, &new)
}

/// The phases of a peer's check.
pub fn phases_of_peer(name: &str) -> anyhow::Result<Vec<Phase>> {
    let (_, peer, set_up) = peer::named(name).context("there is no such peer")?;
    let suites: Vec<&str> = peer.suites(set_up).iter().map(String::as_str).collect();
    let phases = plan::phases(workshop_suites::all(), &suites, &suites)?;
    if peer.tests.is_empty() {
        return Ok(phases);
    }
    Ok(phases
        .iter()
        .filter_map(|phase| phase.some(&peer.tests))
        .collect())
}

/// The tests that these words ask for. A word is the name of a test or of a suite, else a part of either.
pub fn asked_for(
    tests: &[(&str, &str)],
    words: &[String],
    target: CheckTarget,
) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for word in words {
        let is_name = |(suite, test): &(&str, &str)| word == suite || word == test;
        let has_part = |(suite, test): &(&str, &str)| suite.contains(word) || test.contains(word);
        let mut named: Vec<_> = tests.iter().filter(|test| is_name(test)).collect();
        if named.is_empty() {
            named = tests.iter().filter(|test| has_part(test)).collect();
        }
        if named.is_empty() {
            let mut suites: Vec<&str> = tests.iter().map(|(suite, _)| *suite).collect();
            suites.dedup();
            return Trouble::new(format!("no test of {target} has {word} in its name"))
                .expected(format!(
                    "a test, a part of its name, or a suite: {}",
                    suites.join(", ")
                ))
                .next(format!("just check {target} prints the names of its tests"))
                .err();
        }
        names.extend(named.into_iter().map(|(_, test)| (*test).to_owned()));
    }
    Ok(names)
}

/// Judges what needs no service: a form, or katas; of a learner's katas no more than the first that is not green, where it goes
/// `in_turn`.
pub async fn judge_alone(
    workspace: &Workspace,
    exercise: &Exercise,
    target: Target,
    in_turn: bool,
) -> anyhow::Result<Report> {
    let place = Crate::of(workspace, exercise, target);
    match exercise.kind {
        Kind::Katas => {}
        Kind::Review => return remarks::judge(workspace, exercise, &place),
        _ => return forms::judge(exercise, &place),
    }
    let katas = Katas::of(workspace, exercise)?;
    if in_turn && matches!(target, Target::Exercise(_)) {
        let green = katas::green(workspace, exercise)?.unwrap_or_default();
        return katas.judge_in_turn(workspace, &place, green).await;
    }
    katas.judge_all(workspace, &place).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_name_or_a_suite_or_else_a_part_of_either() -> anyhow::Result<()> {
        let tests = [
            ("first-route", "health_answers_200"),
            ("first-route", "health_answers_200_as_json"),
            ("qrcode", "a_text_is_drawn"),
        ];
        let target = CheckTarget::Target(Target::Exercise(3));
        for (words, found) in [
            (&["health_answers_200"][..], &["health_answers_200"][..]),
            (
                &["first-route"],
                &["health_answers_200", "health_answers_200_as_json"],
            ),
            (
                &["json", "drawn"],
                &["health_answers_200_as_json", "a_text_is_drawn"],
            ),
            (&["qr"], &["a_text_is_drawn"]),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(asked_for(&tests, &words, target)?, found);
        }
        let none = asked_for(&tests, &["helth".to_owned()], target);
        let words = none.expect_err("no test").to_string();
        assert!(words.contains("first-route, qrcode"), "{words}");
        Ok(())
    }

    #[test]
    fn a_peer_that_names_tests_is_judged_by_each_of_them() {
        for peer in peer::all().iter().filter(|peer| !peer.tests.is_empty()) {
            for name in peer.targets.keys() {
                let phases = phases_of_peer(name).unwrap_or_default();
                let judging: Vec<&str> = phases
                    .iter()
                    .flat_map(|phase| phase.tests().map(|test| test.name))
                    .collect();
                assert_eq!(judging, peer.tests, "{name}");
            }
        }
    }
}
