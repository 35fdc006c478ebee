//! Random reads: the Kotlin service alone (exercise 1), beside a port (exercise 3), and the best of both (exercise 13).

use workshop_measure::protocol::block;
use workshop_measure::protocol::experiment::{Asked, Experiment};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::plan::{HEADLINE_RATE, POOL_SIZE, Plan};
use workshop_results::file::ResultFile;
use workshop_results::key::{At, P50};
use workshop_results::metrics::Definition;

/// Measures random reads of all rows.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let (mut experiment, path) = Experiment::of_reads(lab, asked).await?;
    experiment.session.statements = lab.statements().await;
    if experiment.session.statements.is_none() {
        let note = "the database's own time is unknown: this server has no pg_stat_statements";
        experiment.notes.push(note.to_owned());
    }
    let steps = |plan: &Plan, rates: &[(u32, f64)]| block::steps(plan, &path, rates);
    experiment.compare(&path, steps, of_load).await?;
    if let Some(alone) = experiment.database_alone(POOL_SIZE).await {
        experiment.compare_with_the_database(alone);
    }
    experiment.finish().await
}

/// The metrics of a load at a plan's rates.
pub fn of_load(plan: &Plan) -> anyhow::Result<Vec<Definition>> {
    let headline = At::Rate(HEADLINE_RATE);
    let rates = plan.rates.iter().map(|rate| At::Rate(*rate));
    let (of_headline, others): (Vec<At>, Vec<At>) = rates.partition(|rate| *rate == headline);
    let mut definitions = metrics::of("load", others)?;
    // Its p99 has no rate in its name.
    let medians = metrics::of("load", of_headline)?.into_iter();
    definitions.extend(medians.filter(|known| known.key == P50.at(headline)));
    Ok(definitions)
}
