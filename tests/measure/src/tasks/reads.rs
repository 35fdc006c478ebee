//! Random reads: the Kotlin service alone (exercise 1), and beside a port (exercise 3).

use std::time::Duration;

use crate::protocol::block;
use crate::protocol::experiment::{Asked, Experiment, against_the_first};
use crate::protocol::lab::Lab;
use crate::protocol::metrics;
use crate::protocol::plan::{HEADLINE_RATE, POOL_SIZE, Plan};
use crate::protocol::subject::Subject;
use workshop_base::target::Target;
use workshop_results::file::ResultFile;
use workshop_results::metrics::Definition;

/// The Kotlin service alone.
pub async fn baseline(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let subjects = vec![lab.subject(Target::Kotlin).await?];
    measure(lab, asked, subjects).await
}

/// The Kotlin service and a port.
pub async fn reads(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let subjects = lab.kotlin_and(asked.target).await?;
    measure(lab, asked, subjects).await
}

async fn measure(
    lab: &Lab<'_>,
    asked: &Asked,
    subjects: Vec<Subject>,
) -> anyhow::Result<ResultFile> {
    let plan = Plan::of(&asked.task, asked.mode)?;
    let pairs = against_the_first(&subjects);
    let duets = pairs.len().max(1);
    let mut experiment =
        Experiment::begin(lab, asked, subjects.clone(), plan, duets, Duration::ZERO);
    let path = experiment.session.records();
    experiment.show_load(&path);
    experiment
        .same_work(&subjects.iter().collect::<Vec<_>>(), asked.exercise)
        .await?;
    experiment.session.statements = lab.statements().await;
    if experiment.session.statements.is_none() {
        let note = "the database's own time is unknown: this server has no pg_stat_statements";
        experiment.notes.push(note.to_owned());
    }
    let steps = |plan: &Plan, rates: &[(u32, f64)]| block::steps(plan, &path, rates);
    experiment.compare(&path, &pairs, steps, of_load).await?;
    if let Some(alone) = experiment.database_alone(POOL_SIZE).await {
        experiment.compare_with_the_database(alone);
    }
    Ok(experiment.finish().await)
}

/// The metrics of a load at a plan's rates.
pub fn of_load(plan: &Plan) -> anyhow::Result<Vec<Definition>> {
    let others = plan.rates.iter().filter(|rate| **rate != HEADLINE_RATE);
    let mut definitions = metrics::of("load", others.map(|rate| (rate, rate)))?;
    let median = metrics::of("load", [(HEADLINE_RATE, HEADLINE_RATE)])?;
    definitions.extend(
        median
            .into_iter()
            .filter(|median| median.key.starts_with("p50_at")),
    );
    Ok(definitions)
}
