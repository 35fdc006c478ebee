//! The price of the guard (exercise 4): the same reads with and without it, and Kotlin beside them; then the run that a
//! load generator takes for its best, and that the gate refuses.

use std::time::Duration;

use anyhow::Context;

use crate::protocol::block;

use crate::protocol::block::Reads;
use crate::protocol::lab;
use crate::protocol::lab::Lab;
use crate::protocol::plan::CONNECTIONS;
use crate::protocol::plan::Plan;
use crate::protocol::progress::Progress;
use crate::protocol::session::Session;
use crate::protocol::session::sides_of;
use crate::protocol::subject::Subject;
use crate::tables;
use crate::tables::guard::{KeyRun, WrongKey};
use crate::tasks::load;
use crate::tasks::load::Wanted;
use crate::tools::oha::Load;
use crate::tools::oha::Oha;
use crate::tools::oha::Order;
use crate::tools::oha::Run;
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
///
/// # Errors
/// When the services do not do the same work (the outcome is *failed*, and says where they differ), one does not build or
/// start, or a tool is missing.
pub async fn measure(lab: &Lab<'_>, target: Target, wanted: &Wanted) -> anyhow::Result<ResultFile> {
    let oha = Oha::find(lab.workspace)?;
    let before = exercise_before(lab.workspace, wanted.exercise)?;
    let kotlin = lab.subject(Target::Kotlin).await?;
    let guarded = lab.subject(target).await?.labelled(GUARDED);
    let open = lab.subject(Target::Solution(before)).await?.labelled(OPEN);

    let plan = Plan::guard(wanted.mode);
    let subjects = [kotlin.clone(), guarded.clone(), open.clone()];
    let expected = plan.expected(sides_of(&subjects)) + DEMONSTRATION * 2;
    load::announce(&subjects, plan.rounds, expected);
    load::show_load(lab, &plan);
    let progress = Progress::begin(expected);
    progress.part("the same work? 200 records, failures, round trips");
    // Each is held to what its own exercise asks for: one of them refuses a request without a key.
    let guarded_work =
        load::same_work(lab, &[kotlin.clone(), guarded.clone()], wanted.exercise).await?;
    let open_work = load::same_work(lab, &[kotlin, open.clone()], before).await?;
    let same = guarded_work.and(open_work);

    let mut session = Session::new(lab, &oha, plan, progress);
    session.statements = lab.statements().await;
    let blocks = session.rounds(&subjects, &mut Reads(&[])).await?;
    let wrong_key = with_a_wrong_key(&session, &guarded).await?;
    if let Some(statements) = session.statements.take() {
        statements.close().await;
    }

    let notes = load::standing_notes(&subjects, wanted.mode, &same);
    let mut manifest = lab.manifest(&subjects);
    manifest.connections = CONNECTIONS;
    manifest.round_trips = same.round_trips;
    lab::complete(&mut manifest, &blocks.records, session.progress.gone());
    let pairs = [&open, &subjects[0]].map(|against| (guarded.id().into(), against.id().into()));
    let result = load::result(
        &subjects,
        &pairs,
        wanted,
        &session.plan,
        manifest,
        blocks,
        notes,
    );
    Ok(ResultFile {
        tables: vec![tables::guard::wrong_key(&wrong_key)],
        ..result
    })
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
    let right = block::order(session, &started.service, DEMONSTRATION, Load::Closed);
    let wrong = Order {
        key: WRONG.to_owned(),
        ..right.clone()
    };
    let with_right = session.oha.run(&right).await?;
    let with_wrong = session.oha.run(&wrong).await?;
    let command = wrong
        .typed()
        .replace(started.service.base_url(), "http://127.0.0.1:PORT");
    started.service.stop().await;
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
