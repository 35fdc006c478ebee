//! The calibration of what takes turns in rounds: throughput, p99, start-up and memory of two runs of one binary must show no
//! difference, and the interval of a planted one must contain what was planted.
//!
//! What is planted has a known size. The variant `planted` waits in each request and before it starts, and keeps memory, so the ratio that
//! an interval must contain follows from what the other side has shown in the same run. For throughput, answers are counted for a shorter
//! time than they are divided by. `rows.toml` says both.

use crate::calibration::{Claim, REFERENCE, found};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::plan::Plan;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::Subject;
use workshop_measure::protocol::{load, metrics};
use workshop_results::file::{Metric, ResultFile};
use workshop_results::key::{Key, MEMORY, P99, START_UP, THROUGHPUT};

/// What is planted: a side, a metric, and how much more of it than of the reference: of throughput the share that a request takes longer, else
/// milliseconds or megabytes.
const PLANTED: [(&str, Key, f64); 10] = [
    ("again", THROUGHPUT, 0.0),
    ("again", P99, 0.0),
    ("again", START_UP, 0.0),
    ("again", MEMORY, 0.0),
    ("large", THROUGHPUT, 0.05),
    ("20-more", THROUGHPUT, 0.2),
    ("50-more", THROUGHPUT, 0.5),
    ("slow", P99, 2.0),
    ("large", START_UP, 50.0),
    ("large", MEMORY, 10.0),
];

/// The rounds of a calibration.
pub async fn measured(
    lab: &Lab<'_>,
    asked: &Asked,
    subjects: Vec<Subject>,
) -> anyhow::Result<ResultFile> {
    let plan = Plan::of(&asked.task, asked.mode)?;
    let mut session = Session::of(lab, asked, &subjects, plan);
    let path = session.records();
    session.show_load(&path);
    let subjects = session.same_work(subjects).await?;
    let keys = [THROUGHPUT, P99, START_UP, MEMORY];
    let definitions = metrics::closed_with("load", &keys)?;
    let found = session
        .compare(&subjects, &path, load::steps, &definitions)
        .await?;
    let mut result = session.finish(&subjects, found).await?;
    result.target.clone_from(&asked.task);
    Ok(result)
}

/// What is claimed of these metrics.
pub fn claims(metrics: &[Metric]) -> Vec<Claim> {
    let claims = PLANTED.iter().map(|(side, key, more)| {
        let metric = metrics.iter().find(|metric| metric.key == *key);
        let value = metric.and_then(|metric| metric.value(REFERENCE));
        let value = value.map_or(f64::NAN, |value| value.value);
        Claim {
            words: words(key, *more),
            ratio: ratio(key, value, *more),
            found: found(metrics, key, side, REFERENCE),
        }
    });
    claims.collect()
}

/// The ratio of a side to one with this value, of which it has so much more.
fn ratio(key: &Key, value: f64, more: f64) -> f64 {
    match key {
        _ if more == 0.0 => 1.0,
        key if *key == THROUGHPUT => 1.0 / (1.0 + more),
        _ => (value + more) / value,
    }
}

fn words(key: &Key, more: f64) -> String {
    let (name, planted) = match key {
        key if *key == THROUGHPUT => ("throughput", format!("{:.0} %", more * 100.0)),
        key if *key == P99 => ("p99", format!("{more} ms")),
        key if *key == START_UP => ("start-up", format!("{more} ms")),
        _ => ("memory", format!("{more} MB")),
    };
    match more {
        0.0 => format!("{name}: the reference compared with itself shows no difference"),
        _ => format!("{name}: the interval contains the {planted} that are planted"),
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;
    use workshop_measure::protocol::rows;
    use workshop_results::file::{Mode, ROUNDS};

    #[test]
    fn what_is_planted_is_what_the_rows_are_started_with() -> anyhow::Result<()> {
        let rows = rows::of(ROUNDS, Mode::Standard, false)?;
        for (side, key, more) in &PLANTED {
            let row = rows.iter().find(|row| row.id.as_deref() == Some(side));
            let row = row.with_context(|| format!("there is no row {side}"))?;
            let value = |name: &str| -> f64 {
                let value = row.env.get(name);
                value.map_or(0.0, |value| value.parse().expect("a number"))
            };
            let planted = match key {
                key if *key == THROUGHPUT => row.plant,
                key if *key == MEMORY => value("PLANTED_MB"),
                key if *key == START_UP => value("PLANTED_START_MS"),
                _ => value("PLANTED_WAIT_US") / 1e3,
            };
            assert_eq!(planted, *more, "{side}");
        }
        Ok(())
    }

    #[test]
    fn a_request_that_takes_a_fifth_longer_makes_a_sixth_less_throughput() {
        let found = ratio(&THROUGHPUT, 3_200.0, 0.2);
        assert!((found - 10.0 / 12.0).abs() < 1e-9, "{found}");
        assert_eq!(ratio(&P99, 2.0, 2.0), 2.0);
        assert_eq!(ratio(&MEMORY, 20.0, 0.0), 1.0);
    }
}
