//! What a reader must know of a measurement, in sentences.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use crate::protocol::machine;
use crate::protocol::subject::Subject;
use workshop_base::clock::ClockJumps;
use workshop_base::mounts::{self, TEMPORARY};
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
    let slower = kotlin.and(mounts::without_programs(Path::new(TEMPORARY)));
    notes.extend(slower.map(|mount| {
        format!(
            "{} is mounted noexec, so Netty couldn't load its native transport: Kotlin is slower here than it has to be",
            mount.display()
        )
    }));
    notes.push(format!(
        "load generator, services and PostgreSQL share the machine's {} cores",
        process::cores()
    ));
    if !process::available() {
        notes.push(process::NO_PROC.to_owned());
    }
    notes.extend(machine::warning(&machine::look()));
    notes.extend(on_power(Path::new(machine::POWER)));
    notes
}

/// What a battery does to figures, where the machine runs on one, as this folder of the kernel says.
pub fn on_power(folder: &Path) -> Option<String> {
    machine::on_battery(folder).then(|| {
        "the machine ran on its battery, which slows its CPU down as it likes; plug it in and measure again".to_owned()
    })
}

/// What has happened to the machine's clocks meanwhile, and what of it counts.
pub fn on_clocks(jumps: ClockJumps) -> Option<String> {
    let said = jumps.in_words()?;
    Some(match jumps.slept_s > 0.0 {
        true => format!("{said} while it measured: the blocks in which it slept don't count"),
        false => format!(
            "{said} while it measured: figures are timed by a clock that nobody sets, so they hold"
        ),
    })
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
        false => "all sides of a duet at the same time",
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
            let mut by_reason: BTreeMap<&str, Vec<String>> = BTreeMap::new();
            for (key, reason) in &record.invalid {
                by_reason.entry(reason).or_default().push(key.to_string());
            }
            notes.extend(by_reason.into_iter().map(|(reason, keys)| {
                let round = record.round;
                let what = match &keys[..] {
                    [key] => format!("{key} does not count"),
                    keys if keys.len() == record.values.len() => "nothing counts".to_owned(),
                    keys => format!("{} don't count", keys.join(", ")),
                };
                format!("round {round}, {side}: {what}: {reason}")
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

    #[test]
    fn a_block_in_which_the_machine_slept_counts_for_nothing_and_a_clock_that_is_set_is_only_noted()
    {
        let jumps = |slept_s, set_s| ClockJumps { slept_s, set_s };
        let judged = |jumps| {
            let mut observed = crate::protocol::block::Observed::default();
            observed.value(P99, Some(1.0));
            observed.value(GENERATOR_SHARE, Some(0.1));
            observed.judge(jumps);
            on_blocks(&[observed.record(1, 1, "kotlin")], &[]).join("\n")
        };
        let said = judged(jumps(34.0, 0.0));
        assert!(
            said.contains("round 1, kotlin: nothing counts: the machine slept for 34 s"),
            "{said}"
        );
        assert!(!judged(jumps(0.0, 300.0)).contains("count"));
        let note = on_clocks(jumps(0.0, -300.0)).unwrap_or_default();
        assert!(note.contains("set back by 300 s") && note.ends_with("so they hold"));
        let note = on_clocks(jumps(34.0, 0.0)).unwrap_or_default();
        assert!(note.ends_with("don't count"), "{note}");
        assert_eq!(on_clocks(jumps(0.0, 0.0)), None);
    }

    #[test]
    fn a_laptop_on_its_battery_is_noted_and_a_mouse_s_battery_is_not() -> std::io::Result<()> {
        let supply = |root: &Path, name: &str, files: &[(&str, &str)]| {
            let folder = root.join(name);
            std::fs::create_dir_all(&folder)?;
            files
                .iter()
                .try_for_each(|(file, text)| std::fs::write(folder.join(file), text))
        };
        let battery = [("type", "Battery\n"), ("status", "Discharging\n")];
        for (mains, mouse, expected) in [
            ("0\n", false, true),
            ("1\n", false, false),
            ("1\n", true, false),
            ("", true, false),
            ("", false, true),
        ] {
            let root = tempfile::tempdir()?;
            if !mains.is_empty() {
                supply(root.path(), "AC", &[("type", "Mains\n"), ("online", mains)])?;
            }
            if mouse {
                supply(root.path(), "hidpp_battery_0", &battery)?;
                supply(root.path(), "hidpp_battery_0", &[("scope", "Device\n")])?;
            } else {
                supply(root.path(), "BAT0", &battery)?;
            }
            let note = on_power(root.path());
            assert_eq!(note.is_some(), expected, "{mains:?}, {mouse}: {note:?}");
        }
        assert_eq!(on_power(Path::new("/nowhere")), None);
        Ok(())
    }
}
