//! The price of the guard (exercise 4): the same reads with and without it, and Kotlin beside them; then the run that a
//! load generator takes for its best, and that the gate refuses.

use std::time::Duration;

use crate::reads;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::{self, Session};
use workshop_measure::protocol::subject::Subject;
use workshop_measure::protocol::{block, load};
use workshop_measure::tables::{see_it_yourself, statuses};
use workshop_measure::tools::oha::{Load, Order, Run};
use workshop_results::figures::figure;
use workshop_results::file::ResultFile;
use workshop_results::shown::{Cell, Column, Table};

/// A key that no service is configured with.
const WRONG: &str = "wrong_key";
/// How long each run of the demonstration takes.
const DEMONSTRATION: Duration = Duration::from_secs(3);

/// Measures a guarded target against the reference before it, which has no guard, and against Kotlin.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let (mut session, subjects, path) = Session::of_reads(lab, asked).await?;
    session.statements = lab.statements().await;
    let definitions = reads::of_load(&session.plan)?;
    let found = session
        .compare(&subjects, &path, load::steps, &definitions)
        .await?;
    let runs = with_a_wrong_key(&session, &subjects[1]).await?;
    let mut result = session.finish(&subjects, found).await?;
    result.tables.push(runs);
    Ok(result)
}

/// The load of the blocks once more, on one process: with a key that counts, then with one that does not. It shows what a gate
/// is for, and has no interval: nothing is claimed from it.
async fn with_a_wrong_key(session: &Session<'_>, subject: &Subject) -> anyhow::Result<Table> {
    session
        .progress
        .part("the tool lies: the same load with a wrong key");
    let started = block::start(session, subject).await?;
    let path = session.records();
    let right = session.order(&path, &started.service, DEMONSTRATION, Load::Closed);
    let wrong = Order {
        header: session::header(WRONG),
        ..right.clone()
    };
    let runs = [
        (session.oha.run(&right).await?, &right),
        (session.oha.run(&wrong).await?, &wrong),
    ];
    let address = started.service.base_url().to_owned();
    started.stop().await?;
    let title = format!(
        "The tool lies: the same load with a right and a wrong key, {} s each",
        figure(DEMONSTRATION.as_secs_f64())
    );
    let mut table = Table::new("wrong-key", title, Column::list(["Right key", "Wrong key"]));
    let mut row = |heading: &str, cell: &dyn Fn(&Run, &Order) -> Cell| {
        table.row(
            heading,
            runs.iter().map(|(run, order)| cell(run, order)).collect(),
        );
    };
    row("Answers per second", &|run, _| Cell::Number(run.rate));
    row("Successes, as oha counts (%)", &|run, _| {
        run.success.map(|share| share * 100.0).into()
    });
    row("Answers by status", &|run, _| {
        Cell::Text(statuses(&run.statuses))
    });
    row("The gate", &|run, order| match run.gate(order) {
        Err(reason) => Cell::Text(format!("refused: {reason}")),
        Ok(()) => Cell::text("passed"),
    });
    let command = wrong.typed().replace(&address, "http://127.0.0.1:PORT");
    table.notes.push(see_it_yourself(&command));
    Ok(table)
}
