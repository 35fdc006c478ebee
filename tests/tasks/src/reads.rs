//! Random reads: the Kotlin service alone (exercise 1), beside a port (exercise 3), and the best of both (exercise 11).

use workshop_measure::protocol::experiment::Found;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::plan::{HEADLINE_RATE, POOL_SIZE, Plan};
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::{load, metrics};
use workshop_measure::tools::database::CEILING_SHARE;
use workshop_results::figures::figure;
use workshop_results::file::ResultFile;
use workshop_results::key::{At, P50, THROUGHPUT};
use workshop_results::metrics::Definition;

/// Measures random reads of all rows.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let (mut session, subjects, path) = Session::of_reads(lab, asked).await?;
    session.statements = lab.statements().await;
    if session.statements.is_none() {
        let note = "the database's own time is unknown: this server has no pg_stat_statements";
        session.notes.push(note.to_owned());
    }
    let definitions = of_load(&session.plan)?;
    let found = session
        .compare(&subjects, &path, load::steps, &definitions)
        .await?;
    if let Some(alone) = session.database_alone(POOL_SIZE).await {
        session.notes.extend(beside_the_database(&found, alone));
    }
    session.finish(&subjects, found).await
}

/// Says where a service's throughput is the database's rather than its own.
fn beside_the_database(found: &Found, alone: f64) -> Vec<String> {
    let mut notes = vec![format!(
        "pgbench alone reads {} records/s over {POOL_SIZE} connections: the ceiling of any service here",
        figure(alone)
    )];
    let mut metrics = found.metrics.iter();
    let throughput = metrics.find(|metric| metric.key == THROUGHPUT);
    let values = throughput.iter().flat_map(|metric| &metric.values);
    let shares = values.map(|value| (&value.side, value.value / alone));
    notes.extend(shares.filter(|(_, share)| *share > CEILING_SHARE).map(|(side, share)| {
        format!(
            "{side} reaches {:.0} % of that ceiling: its throughput measures PostgreSQL rather than the service",
            share * 100.0
        )
    }));
    notes
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
