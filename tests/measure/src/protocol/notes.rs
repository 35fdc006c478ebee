//! What a reader must know of a measurement, in sentences.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::protocol::machine;
use crate::protocol::subject::Subject;
use workshop_base::process;
use workshop_base::target::Language;
use workshop_results::figures::figure;
use workshop_results::file::{BlockRecord, Mode};
use workshop_results::key::{GENERATOR_SHARE, HUNG, Key, UNSTEADY};
use workshop_results::statistics;

/// What is known before anything is measured.
pub fn standing(subjects: &[Subject], mode: Mode) -> Vec<String> {
    let mut notes = Vec::new();
    if mode == Mode::Quick {
        notes.push("a quick run judges CPU per request and size; the rest are values of a few short blocks, without a verdict".to_owned());
    }
    let kotlin = subjects
        .iter()
        .find(|subject| subject.side.language == Language::Kotlin);
    let as_shipped = kotlin.filter(|kotlin| !kotlin.has_a_set_heap());
    notes.extend(as_shipped.map(|kotlin| {
        format!(
            "Kotlin runs as shipped, by `{}` on {}: with the JVM's default heap its memory is what its policy takes, not what it needs; exercise 8 tunes it",
            kotlin.side.command, kotlin.side.runtime
        )
    }));
    notes
        .extend(kotlin.map(|_| "the size of Kotlin is its jar's; the JVM comes on top".to_owned()));
    notes.push(format!(
        "load generator, services and PostgreSQL share the machine's {} cores",
        process::cores()
    ));
    if !process::available() {
        notes.push(process::NO_PROC.to_owned());
    }
    notes.extend(machine::warning(&machine::look()));
    notes
}

/// Under which rates duets were played, in which rounds; `alone` where one service played by itself.
pub fn on_duets(
    offered: &[f64],
    extents: &BTreeSet<(usize, Duration)>,
    alone: bool,
) -> Option<String> {
    let least = offered.iter().copied().reduce(f64::min)?;
    let most = offered.iter().copied().reduce(f64::max)?;
    let rate = if least < most {
        format!("{} to {}", figure(least), figure(most))
    } else {
        figure(most)
    };
    let who = match alone {
        true => "the service",
        false => "both sides at the same time",
    };
    let extents = extents
        .iter()
        .map(|(rounds, block)| format!("{rounds} rounds of {} s", block.as_secs()));
    let extents = extents.collect::<Vec<_>>().join(" or ");
    let bent = match alone {
        true => "",
        false => {
            "; sharing the machine draws a ratio towards 1, by a few percent (just calibrate --turns)"
        }
    };
    Some(format!(
        "CPU per request: {who} under {rate} requests/s, in {extents}, each with fresh processes{bent}"
    ))
}

/// What the blocks say about how far they can be trusted.
pub fn on_blocks(records: &[BlockRecord], subjects: &[Subject]) -> Vec<String> {
    let mut notes = Vec::new();
    let sides: BTreeSet<&str> = records.iter().map(|record| record.side.as_str()).collect();
    for side in sides {
        let of_side: Vec<&BlockRecord> = records
            .iter()
            .filter(|record| record.side == side)
            .collect();
        let values = |key: Key| -> Vec<f64> {
            of_side
                .iter()
                .filter_map(|record| record.values.get(&key).copied())
                .collect()
        };
        let unsteady = values(UNSTEADY).len();
        if unsteady > 0 {
            let compiles = subjects
                .iter()
                .any(|subject| subject.id() == side && subject.runs_as.compiles_under_load());
            // A service that is still being compiled is slower than it will be: who reads on must know which way that bends the ratio.
            let consequence = if compiles {
                ", or its virtual machine still compiled; it was still getting faster, so its speed is worse here than it is in the long run"
            } else {
                ""
            };
            notes.push(format!(
                "{side} was not steady at the end of the warm-up in {unsteady} of {} blocks: its median or its CPU per request still moved by more than a few percent{consequence}",
                of_side.len(),
            ));
        }
        let hung = values(HUNG).len();
        if hung > 0 {
            notes.push(format!(
                "{side} did not stop within ten seconds of SIGTERM in {hung} blocks and was killed"
            ));
        }
        let shares = values(GENERATOR_SHARE);
        if !shares.is_empty() {
            notes.push(format!(
                "the load generator used {:.0} % of all cores while {side} was saturated",
                statistics::mean(shares) * 100.0
            ));
        }
        for record in &of_side {
            let invalid = record.invalid.iter();
            notes.extend(invalid.map(|(key, reason)| {
                format!(
                    "round {}, {side}: {key} does not count: {reason}",
                    record.round
                )
            }));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::key::P99;

    fn record(side: &str, values: &[(Key, f64)], invalid: &[(Key, &str)]) -> BlockRecord {
        let invalid = invalid.iter().cloned();
        BlockRecord {
            round: 1,
            place: 1,
            side: side.to_owned(),
            values: values.iter().cloned().collect(),
            invalid: invalid
                .map(|(key, reason)| (key, reason.to_owned()))
                .collect(),
        }
    }

    #[test]
    fn what_shakes_the_trust_in_a_block_is_noted() {
        let records = [
            record("kotlin", &[(UNSTEADY, 1.0), (GENERATOR_SHARE, 0.2)], &[]),
            record(
                "kotlin",
                &[(GENERATOR_SHARE, 0.3)],
                &[(P99, "only 90 of 100 requests/s were answered")],
            ),
        ];
        let notes = on_blocks(&records, &[]).join("\n");
        for said in [
            "not steady at the end of the warm-up in 1 of 2 blocks",
            "used 25 % of all cores while kotlin was saturated",
            "p99 does not count: only 90 of 100",
        ] {
            assert!(notes.contains(said), "{notes}");
        }
    }
}
