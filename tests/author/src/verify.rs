//! `just verify`: the author's gate, for one exercise or all.

use std::num::NonZeroUsize;

use crate::chain::git::git;
use crate::gate::{self, Gate, Judgment};
use workshop::references::Reference;
use workshop::ways::OtherWay;
use workshop_base::cases::DebugCase;
use workshop_base::exercise::{Catalogue, Exercise, Kind};
use workshop_base::incidents::Incident;
use workshop_base::mistakes::Mistake;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::build;
use workshop_postgres::Server;

/// What runs when all is verified, with each commit another share: every other exercise, and one in so many of its mistakes and other
/// ways. What `just test` judges, the Kotlin service and the last references, is left to it then. `1` means everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    one_in: usize,
    commit: usize,
}

impl Share {
    /// One in so many, as the newest commit has it; outside of a repository always the same.
    pub fn of(workspace: &Workspace, one_in: NonZeroUsize) -> Share {
        let commit = git(workspace.root(), ["rev-parse", "HEAD"]).ok();
        let commit = commit.filter(|output| output.status.success());
        let commit = commit.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        Share::at(&commit.unwrap_or_default(), one_in.get())
    }

    fn at(commit: &str, one_in: usize) -> Share {
        let begin = commit.get(..8).unwrap_or("0");
        let commit = usize::from_str_radix(begin, 16).unwrap_or(0);
        Share { one_in, commit }
    }

    fn is_all(self) -> bool {
        self.one_in == 1
    }

    fn has_exercise(self, number: u8) -> bool {
        self.is_all() || usize::from(number) % 2 == self.commit % 2
    }

    /// Of an exercise that it has.
    fn has(self, number: usize) -> bool {
        number % self.one_in == self.commit / 2 % self.one_in
    }
}

/// Verifies one exercise, or all; `quick`, without lints, and beside one exercise without what it shares with others. `anew`, kept
/// verdicts don't count.
pub async fn run(
    workspace: &Workspace,
    which: &str,
    quick: bool,
    anew: bool,
    share: Share,
) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    // A slip is answered before a server is started for it.
    let exercises = chosen(&catalogue, which)?;
    let in_turn = |exercise: &Exercise| which != "all" || share.has_exercise(exercise.number);
    let server = Server::ensure(workspace).await?;
    println!("on {}", server.describe());
    if !share.is_all() {
        let rest = "other commits judge the others, just test judges Kotlin and the last references, and each night judges all";
        println!(
            "every other exercise, and of its mistakes and other ways one in {}: {rest}",
            share.one_in
        );
    }
    let built: Vec<&Exercise> = exercises
        .iter()
        .copied()
        .filter(|one| in_turn(one))
        .collect();
    build::members(workspace, &built, true).await?;
    let gate = Gate::new(workspace, &server, &catalogue, anew)?;
    let mut shared = vec![gate.book()];
    if which == "all" || !quick {
        // Before the exercises: a JVM mostly waits for itself, and at the end nothing would be left to do beside it.
        shared.push(gate.ceiling());
        if share.is_all() {
            shared.push(gate.kotlin());
        }
    }
    let title = "what the exercises share".to_owned();
    let mut judgments: Vec<(String, Judgment<'_>)> = Vec::new();
    judgments.extend(shared.into_iter().map(|judgment| (title.clone(), judgment)));
    for exercise in exercises {
        let title = format!("{} {}", exercise.name(), exercise.title);
        let mut of_exercise = vec![gate.files(exercise)];
        if in_turn(exercise) {
            of_exercise.extend(running(&gate, workspace, exercise, quick, share)?);
        }
        let of_exercise = of_exercise.into_iter();
        judgments.extend(of_exercise.map(|judgment| (title.clone(), judgment)));
    }
    let tally = gate::tell(judgments, false).await?;
    println!("\n{} passed, {} failed", tally.passed, tally.failed);
    Ok(tally.outcome())
}

fn chosen<'a>(catalogue: &'a Catalogue, which: &str) -> anyhow::Result<Vec<&'a Exercise>> {
    if which == "all" {
        return Ok(catalogue.iter().collect());
    }
    let why = match which.parse() {
        Ok(Target::Exercise(number)) => return Ok(vec![catalogue.get(number)?]),
        Ok(other) => format!("{other} cannot be verified"),
        Err(why) => why,
    };
    Trouble::new(why)
        .expected(format!("all, or one of: {}", catalogue.names().join(", ")))
        .next("just verify all")
        .err()
}

/// What of an exercise is built and run.
fn running<'a>(
    gate: &'a Gate<'a>,
    workspace: &Workspace,
    exercise: &'a Exercise,
    quick: bool,
    share: Share,
) -> anyhow::Result<Vec<Judgment<'a>>> {
    let mut judgments = Vec::new();
    if exercise.is_rust() && !quick {
        judgments.push(gate.lints(exercise));
    }
    if share.is_all() || !gate.is_a_last_state(exercise) {
        judgments.push(gate.reference(exercise));
    }
    if !exercise.is_own() {
        judgments.push(gate.starter(exercise));
    }
    if exercise.kind != Kind::Form {
        let mut mistakes = Mistake::all(&exercise.solution(workspace))?;
        for other in Reference::others(workspace, exercise) {
            mistakes.extend(Mistake::all(&other.folder)?);
        }
        judgments.push(gate.has_mistakes(&mistakes));
        let mistakes = mistakes.into_iter().enumerate();
        let mistakes = mistakes.filter(|(number, _)| share.has(*number));
        judgments.extend(mistakes.map(|(number, mistake)| gate.mistake(exercise, mistake, number)));
        let ways = OtherWay::all(&exercise.solution(workspace))?.into_iter();
        let ways = ways.enumerate().filter(|(number, _)| share.has(*number));
        judgments.extend(ways.map(|(number, way)| gate.way(exercise, way, number)));
        let cases = DebugCase::all(workspace, exercise)?.into_iter();
        judgments.extend(cases.map(|case| gate.case(exercise, case)));
        let incidents = Incident::all(workspace, exercise)?.into_iter();
        judgments.extend(incidents.map(|incident| gate.incident(exercise, incident)));
    }
    Ok(judgments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_is_in_the_share_of_some_commit_and_without_a_share_in_each() {
        let commits: Vec<String> = (0..6).map(|commit| format!("a000000{commit}ff")).collect();
        for (exercise, mistake) in (0..4).flat_map(|one| (0..10).map(move |other| (one, other))) {
            let judging = |one_in| {
                let shares = commits.iter().map(|commit| Share::at(commit, one_in));
                let judging = shares.filter(|share| share.has_exercise(exercise));
                judging.filter(|share| share.has(mistake)).count()
            };
            let what = format!("mistake {mistake} of exercise {exercise}");
            assert_eq!((judging(3), judging(1)), (1, 6), "{what}");
        }
        assert!(Share::at("", 2).has(0));
    }
}
