//! The calibration of what takes turns in rounds: throughput, p99, start-up and memory of two runs of one binary must show no
//! difference, and the interval of a planted one must contain what was planted.
//!
//! What is planted has a known size: the variant `planted` waits in each request and before it starts, and keeps memory, as
//! `rows.toml` says. So the ratio that an interval must contain follows from what the other side has shown in the same run.

use crate::calibration::{Claim, found};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::plan::{CONNECTIONS, Plan};
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::Subject;
use workshop_measure::protocol::{load, metrics};
use workshop_results::file::{Metric, ResultFile};
use workshop_results::key::{Key, MEMORY, P99, START_UP, THROUGHPUT};

/// What is planted: a side, what it is compared with, the metric, and how much more it is in milliseconds per request, milliseconds, or
/// megabytes. Every request of `waits` takes 10 ms and the read, so 32 connections never come near saturation, and a throughput is known.
const PLANTED: [(&str, &str, Key, f64); 10] = [
    ("again", "reference", THROUGHPUT, 0.0),
    ("again", "reference", P99, 0.0),
    ("again", "reference", START_UP, 0.0),
    ("again", "reference", MEMORY, 0.0),
    ("more", "reference", P99, 2.0),
    ("more", "reference", START_UP, 50.0),
    ("more", "reference", MEMORY, 10.0),
    ("waits-5-more", "waits", THROUGHPUT, 0.5),
    ("waits-20-more", "waits", THROUGHPUT, 2.0),
    ("waits-50-more", "waits", THROUGHPUT, 5.0),
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
    let claims = PLANTED.iter().map(|(side, against, key, more)| {
        let metric = metrics.iter().find(|metric| metric.key == *key);
        let value = metric.and_then(|metric| metric.value(against));
        let value = value.map_or(f64::NAN, |value| value.value);
        Claim {
            words: words(key, *more),
            ratio: ratio(key, value, *more),
            found: found(metrics, key, side, against),
        }
    });
    claims.collect()
}

/// The ratio of a side to one with this value, of which it has so much more.
fn ratio(key: &Key, value: f64, more: f64) -> f64 {
    match key {
        _ if more == 0.0 => 1.0,
        // A closed loop: each connection waits for its answer.
        key if *key == THROUGHPUT => {
            let took_ms = f64::from(CONNECTIONS) * 1e3 / value;
            took_ms / (took_ms + more)
        }
        _ => (value + more) / value,
    }
}

fn words(key: &Key, more: f64) -> String {
    let (name, unit) = match key {
        key if *key == THROUGHPUT => ("throughput", "ms per request"),
        key if *key == P99 => ("p99", "ms"),
        key if *key == START_UP => ("start-up", "ms"),
        _ => ("memory", "MB"),
    };
    match more {
        0.0 => format!("{name}: the reference compared with itself shows no difference"),
        more => format!("{name}: the interval contains the {more} {unit} that are planted"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_measure::protocol::rows;
    use workshop_results::file::{Mode, ROUNDS};

    #[test]
    fn what_is_planted_is_what_the_rows_are_started_with() -> anyhow::Result<()> {
        let rows = rows::of(ROUNDS, Mode::Standard, false)?;
        let planted = |id: &str, key: &Key| {
            let row = rows.iter().find(|row| row.id.as_deref() == Some(id));
            let value = |name: &str| -> f64 {
                let value = row.and_then(|row| row.env.get(name));
                value.map_or(0.0, |value| value.parse().expect("a number"))
            };
            match key {
                key if *key == MEMORY => value("PLANTED_MB"),
                key if *key == START_UP => value("PLANTED_START_MS"),
                _ => value("PLANTED_WAIT_US") / 1e3,
            }
        };
        for (side, against, key, more) in &PLANTED {
            assert_eq!(planted(side, key) - planted(against, key), *more, "{side}");
        }
        Ok(())
    }

    #[test]
    fn a_request_that_takes_a_fifth_longer_makes_a_sixth_less_throughput() {
        // 32 connections, 10 ms each.
        let found = ratio(&THROUGHPUT, 3_200.0, 2.0);
        assert!((found - 10.0 / 12.0).abs() < 1e-9, "{found}");
        assert_eq!(ratio(&P99, 2.0, 2.0), 2.0);
        assert_eq!(ratio(&MEMORY, 20.0, 0.0), 1.0);
    }
}
