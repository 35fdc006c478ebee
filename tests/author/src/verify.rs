//! `just verify`: the author's gate, for one exercise or all.

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

/// Verifies one exercise, or all; `quick`, without lints, and beside one exercise without what it shares with others. `anew`, kept
/// verdicts don't count.
pub async fn run(
    workspace: &Workspace,
    which: &str,
    quick: bool,
    anew: bool,
) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    // A slip is answered before a server is started for it.
    let exercises = chosen(&catalogue, which)?;
    let server = Server::ensure(workspace).await?;
    println!("on {}", server.describe());
    build::members(workspace, &exercises, true).await?;
    let gate = Gate::new(workspace, &server, &catalogue, anew)?;
    let mut shared = vec![gate.book()];
    if which == "all" || !quick {
        // Before the exercises: a JVM mostly waits for itself, and at the end nothing would be left to do beside it.
        shared.extend([gate.ceiling(), gate.kotlin()]);
    }
    let title = "what the exercises share".to_owned();
    let mut judgments: Vec<(String, Judgment<'_>)> = Vec::new();
    judgments.extend(shared.into_iter().map(|judgment| (title.clone(), judgment)));
    for exercise in exercises {
        let title = format!("{} {}", exercise.name(), exercise.title);
        let of_exercise = of_exercise(&gate, workspace, exercise, quick)?.into_iter();
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

/// What is looked at in an exercise.
fn of_exercise<'a>(
    gate: &'a Gate<'a>,
    workspace: &Workspace,
    exercise: &'a Exercise,
    quick: bool,
) -> anyhow::Result<Vec<Judgment<'a>>> {
    let mut judgments = vec![gate.files(exercise)];
    if exercise.is_rust() && !quick {
        judgments.push(gate.lints(exercise));
    }
    judgments.push(gate.reference(exercise));
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
        judgments.extend(mistakes.map(|(number, mistake)| gate.mistake(exercise, mistake, number)));
        let ways = OtherWay::all(&exercise.solution(workspace))?
            .into_iter()
            .enumerate();
        judgments.extend(ways.map(|(number, way)| gate.way(exercise, way, number)));
        let cases = DebugCase::all(workspace, exercise)?.into_iter();
        judgments.extend(cases.map(|case| gate.case(exercise, case)));
        let incidents = Incident::all(workspace, exercise)?.into_iter();
        judgments.extend(incidents.map(|incident| gate.incident(exercise, incident)));
    }
    Ok(judgments)
}
