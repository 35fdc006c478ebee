//! By which tests a target is judged, and its judgment, of which nothing is printed or remembered.

use anyhow::Context;

use crate::katas::{self, Katas};
use workshop_base::exercise::{Catalogue, Exercise, Kind};
use workshop_base::peer;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, Crate, Profile};
use workshop_harness::plan::{self, Phase};
use workshop_harness::report::Report;
use workshop_harness::run::judge_phases;
use workshop_harness::scenarios::Place;
use workshop_postgres::Server;
use workshop_suites::forms::{self, remarks};

/// Builds a target and judges it by these suites, or by all that its exercise's check asks. A starter is red as its exercise says.
pub async fn judge(
    workspace: &Workspace,
    catalogue: &Catalogue,
    target: Target,
    suites: Option<&[&str]>,
) -> anyhow::Result<Report> {
    let exercise = catalogue.of(target)?;
    if let Some(alone) = exercise.filter(|exercise| exercise.is_judged_alone(target)) {
        return judge_alone(workspace, alone, target, false).await;
    }
    let server = Server::ensure(workspace).await?;
    let launch = build::build(workspace, target, Profile::Check).await?;
    let place = Place {
        workspace,
        server: &server,
        launch: &launch,
    };
    let mut phases = match suites {
        Some(suites) => plan::phases(workshop_suites::all(), suites, suites)?,
        None => phases_of(catalogue, exercise)?,
    };
    if let (Target::Exercise(_), Some(exercise)) = (target, exercise) {
        for phase in &mut phases {
            phase.said_to_be_red.clone_from(&exercise.red);
        }
    }
    judge_phases(place, &phases, |_| true).await
}

/// Judges a built target by all that its exercise's check asks.
pub async fn judge_launch(
    place: Place<'_>,
    catalogue: &Catalogue,
    exercise: Option<&Exercise>,
) -> anyhow::Result<Report> {
    judge_phases(place, &phases_of(catalogue, exercise)?, |_| true).await
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
