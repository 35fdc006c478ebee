//! The price of the guard (exercise 4): the same reads with and without it, and Kotlin beside them; then the run that a
//! load generator takes for its best, and that the gate refuses.

use std::time::Duration;

use anyhow::Context;

use crate::protocol::block;
use crate::protocol::experiment::{Asked, Experiment};
use crate::protocol::lab::Lab;
use crate::protocol::plan::Plan;
use crate::protocol::session::{Session, order};
use crate::protocol::subject::Subject;
use crate::tables;
use crate::tables::guard::{KeyRun, WrongKey};
use crate::tasks::reads;
use crate::tools::oha::{Load, Order, Run};
use workshop_base::exercise::Catalogue;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_results::file::ResultFile;

/// What the sides are called in a table, where both are Rust.
const GUARDED: &str = "with guard";
const OPEN: &str = "without";
/// A key that no service is configured with.
const WRONG: &str = "wrong_key";
/// How long each run of the demonstration takes.
const DEMONSTRATION: Duration = Duration::from_secs(3);

/// Measures a guarded target against the reference before it, which has no guard, and against Kotlin.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let before = exercise_before(lab.workspace, asked.exercise)?;
    let kotlin = lab.subject(Target::Kotlin).await?;
    let guarded = lab.subject(asked.target).await?.labelled(GUARDED);
    let open = lab.subject(Target::Solution(before)).await?.labelled(OPEN);
    let pairs = [&open, &kotlin].map(|against| (guarded.id().to_owned(), against.id().to_owned()));
    let subjects = vec![kotlin.clone(), guarded.clone(), open.clone()];
    let plan = Plan::of(&asked.task, asked.mode)?;
    let mut experiment = Experiment::begin(lab, asked, subjects, plan, 2, DEMONSTRATION * 2);
    let path = experiment.session.records();
    experiment.show_load(&path);
    // Each is held to what its own exercise asks for: one of them refuses a request without a key.
    experiment
        .same_work(&[&kotlin, &guarded], asked.exercise)
        .await?;
    experiment.same_work(&[&kotlin, &open], before).await?;
    experiment.session.statements = lab.statements().await;
    let steps = |plan: &Plan, rates: &[(u32, f64)]| block::steps(plan, &path, rates);
    experiment
        .compare(&path, &pairs, steps, reads::of_load)
        .await?;
    let runs = with_a_wrong_key(&experiment.session, &guarded).await?;
    let mut result = experiment.finish().await;
    result.tables.push(tables::guard::wrong_key(&runs));
    Ok(result)
}

/// The number of the crate before this one in the course.
fn exercise_before(workspace: &Workspace, number: u8) -> anyhow::Result<u8> {
    Catalogue::read(workspace)?
        .iter()
        .filter(|exercise| exercise.is_crate() && exercise.number < number)
        .last()
        .map(|exercise| exercise.number)
        .with_context(|| format!("exercise-{number} has no exercise before it to compare with"))
}

/// The load of the blocks once more, on one process: with a key that counts, then with one that does not.
async fn with_a_wrong_key(session: &Session<'_>, subject: &Subject) -> anyhow::Result<WrongKey> {
    session
        .progress
        .part("the tool lies: the same load with a wrong key");
    let started = block::start(session, subject).await?;
    let right = order(
        &session.records(),
        &started.service,
        DEMONSTRATION,
        Load::Closed,
    );
    let wrong = Order {
        key: WRONG.to_owned(),
        ..right.clone()
    };
    let with_right = session.oha.run(&right).await?;
    let with_wrong = session.oha.run(&wrong).await?;
    let command = wrong
        .typed()
        .replace(started.service.base_url(), "http://127.0.0.1:PORT");
    started.stop().await?;
    Ok(WrongKey {
        command,
        seconds: DEMONSTRATION.as_secs_f64(),
        right: key_run(with_right, &right),
        wrong: key_run(with_wrong, &wrong),
    })
}

fn key_run(run: Run, order: &Order) -> KeyRun {
    KeyRun {
        refused: run.gate(order).err(),
        rate: run.rate,
        success: run.success,
        statuses: run.statuses,
    }
}
