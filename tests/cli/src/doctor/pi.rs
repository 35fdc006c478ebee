//! What is particular about a Raspberry Pi: its memory cgroup, its page size, its power supply.

use crate::doctor::finding::Finding;

use crate::doctor::finding::State;
use workshop_base::mend::Mend;
use workshop_base::mend::System;

/// What was read from the board.
#[derive(Debug, Clone, Default)]
pub(super) struct Board {
    /// The model, as the device tree calls it.
    pub model: String,
    /// The controllers of the root cgroup, if cgroups of version 2 are there.
    pub controllers: Option<String>,
    /// The kernel's page size, in bytes.
    pub page_size: Option<i64>,
    /// What `vcgencmd get_throttled` printed.
    pub throttled: Option<String>,
    /// True when programs have 64 bits.
    pub wide: bool,
}

pub(super) fn findings(board: &Board, system: &System) -> Vec<Finding> {
    let mut findings = vec![if board.wide {
        Finding::ok("Raspberry Pi", board.model.as_str())
    } else {
        Finding::fault(
            State::BROKEN,
            "Raspberry Pi",
            format!(
                "{} with a 32-bit system; the workshop's binaries and images are for 64 bits",
                board.model
            ),
            Mend::yourself("write the 64-bit Raspberry Pi OS to the card"),
        )
    }];
    if board
        .controllers
        .as_deref()
        .is_some_and(|controllers| !controllers.split_whitespace().any(|c| c == "memory"))
    {
        findings.push(
            Finding::note("memory cgroup", "off: memory limits of containers have no effect").with(
                system.as_administrator(
                    "sed -i 's/$/ cgroup_enable=memory cgroup_memory=1/' /boot/firmware/cmdline.txt, then reboot",
                ),
            ),
        );
    }
    if let Some(size) = board.page_size.filter(|size| *size > 4096) {
        findings.push(Finding::note(
            "page size",
            format!(
                "{} kB: programs with a jemalloc built for 4 kB pages die at their start",
                size / 1024
            ),
        ));
    }
    findings.extend(board.throttled.as_deref().and_then(throttling));
    findings
}

/// The bits of the firmware's answer: the low ones are now, those from 16 on since the start.
fn throttling(answer: &str) -> Option<Finding> {
    const MEANINGS: [&str; 4] = [
        "the voltage too low",
        "the clock capped",
        "the processor throttled",
        "the temperature limited",
    ];
    let bits = u32::from_str_radix(answer.trim().strip_prefix("throttled=0x")?, 16).ok()?;
    let named = |shift: usize| -> Vec<&str> {
        MEANINGS
            .iter()
            .enumerate()
            .filter(|(bit, _)| bits >> (bit + shift) & 1 == 1)
            .map(|(_, word)| *word)
            .collect()
    };
    let (now, since) = (named(0), named(16));
    if !now.is_empty() {
        let detail = format!(
            "now: {}; figures measured like this mean little",
            now.join(", ")
        );
        return Some(Finding::note("throttling", detail).with(Mend::yourself(
            "a stronger power supply, or a fan, then reboot",
        )));
    }
    if !since.is_empty() {
        return Some(Finding::note(
            "throttling",
            format!("since the start, not now: {}", since.join(", ")),
        ));
    }
    Some(Finding::ok("throttling", "none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_firmware_s_bits_are_told_in_words() {
        let detail = |answer: &str| {
            throttling(answer)
                .map(|finding| finding.detail)
                .unwrap_or_default()
        };
        assert_eq!(detail("throttled=0x0"), "none");
        assert!(
            detail("throttled=0x50005")
                .starts_with("now: the voltage too low, the processor throttled;")
        );
        assert_eq!(
            detail("throttled=0x80000"),
            "since the start, not now: the temperature limited"
        );
        assert_eq!(throttling("VCHI initialization failed"), None);
    }

    #[test]
    fn a_fresh_pi_5_is_told_about_its_cgroup_and_its_pages() {
        let board = Board {
            model: "Raspberry Pi 5 Model B Rev 1.0".to_owned(),
            controllers: Some("cpuset cpu io pids".to_owned()),
            page_size: Some(16384),
            throttled: Some("throttled=0x0".to_owned()),
            wide: true,
        };
        let names: Vec<String> = findings(&board, &System::here())
            .into_iter()
            .map(|finding| finding.name)
            .collect();
        assert_eq!(
            names,
            ["Raspberry Pi", "memory cgroup", "page size", "throttling"]
        );
    }
}
