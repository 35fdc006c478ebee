//! The machine: disk, memory, the limit of file watching; and what a Raspberry Pi adds.

use std::fs::read_to_string;

use crate::doctor::report::Finding;
use workshop_base::files;
use workshop_base::fix::{Fix, System};
use workshop_base::probe::{self, QUICK};
use workshop_base::process::{cores, meminfo, memory_limit};
use workshop_base::workspace::Workspace;
use workshop_postgres::datasets::{DataSet, needed};

/// Bytes that the builds of tool, service and crates take.
const BUILDS: u64 = 4_000_000_000;

/// Below this much memory (bytes) Maven, two compilers and PostgreSQL do not fit side by side.
const MEMORY: u64 = 2_000_000_000;

/// Where memory is small, so much of it (bytes) and swap together lets a build end.
const WITH_SWAP: u64 = 2_500_000_000;

/// What a bigger machine does for one whose memory is small.
const FOR_PI: &str = "just build exercise-3 --for pi, on the laptop";

/// Watches that an editor, the book's server and `just watch` take together.
const WATCHES: u64 = 8_192;

/// What the bits of a Pi's firmware mean: the low ones are now, those from 16 on since the start.
const THROTTLING: [&str; 4] = [
    "the voltage too low",
    "the clock capped",
    "the processor throttled",
    "the temperature limited",
];

/// Examines the machine; the second part are lines about it for the block to paste.
pub(super) async fn examine(workspace: &Workspace) -> (Vec<Finding>, Vec<String>) {
    let ask = async |program: &str, args: &[&str]| {
        let answer = probe::ask(program, args, workspace.root(), QUICK).await;
        answer.line().map(str::to_owned)
    };
    let (revision, mac, mac_memory, throttled) = tokio::join!(
        ask("git", &["rev-parse", "--short", "HEAD"]),
        ask("sw_vers", &["-productVersion"]),
        ask("sysctl", &["-n", "hw.memsize"]),
        ask("vcgencmd", &["get_throttled"]),
    );
    let memory = memory_limit().or_else(|| mac_memory?.parse().ok());
    let swap = meminfo("SwapTotal:");

    let mut findings = vec![disk(workspace)];
    findings.extend(memory.map(|memory| judge_memory(memory, swap, super::LIKE_A_PI)));
    let watches = read_to_string("/proc/sys/fs/inotify/max_user_watches").ok();
    findings.extend(watches.and_then(|text| Some(judge_watches(text.trim().parse().ok()?))));
    let model = read_to_string("/proc/device-tree/model").unwrap_or_default();
    if model.contains("Raspberry Pi") {
        findings.extend(raspberry_pi(model.trim_end_matches('\0')));
        findings.extend(throttled.as_deref().and_then(throttling));
    }

    let (os, architecture) = (std::env::consts::OS, std::env::consts::ARCH);
    let name = mac.map(|version| format!("macOS {version}"));
    let name = name.or_else(distribution).unwrap_or_else(|| os.to_owned());
    let memory = memory.map_or(String::new(), |bytes| format!(", {}", gigabytes(bytes)));
    let revision = revision.unwrap_or_else(|| "without git history".to_owned());
    let about = vec![
        format!("workshop {} ({revision})", env!("CARGO_PKG_VERSION")),
        format!(
            "system: {name}, {os} {architecture}, {} cores{memory}",
            cores()
        ),
    ];
    (findings, about)
}

fn disk(workspace: &Workspace) -> Finding {
    match files::free_bytes(workspace.root()) {
        Ok(free) => judge_disk(free, workspace.cargo_target().join("debug").is_dir()),
        Err(error) => Finding::note("disk", format!("cannot find out how much is free: {error}")),
    }
}

fn judge_disk(free: u64, built: bool) -> Finding {
    let left = free.saturating_sub(if built { 0 } else { BUILDS });
    let sets = [DataSet::Small, DataSet::Pi, DataSet::Full];
    let fitting = sets.iter().filter(|set| left >= needed(**set)).count();
    let names = |sets: &[DataSet]| {
        let names: Vec<_> = sets.iter().map(DataSet::to_string).collect();
        names.join(", ")
    };
    let free = gigabytes(free);
    if fitting == 0 {
        let detail = format!("{free} free; the builds and the smallest data set do not fit");
        let fix = Fix::yourself("just clean, or a checkout on a bigger disk");
        return Finding::fault("low", "disk", detail, fix);
    }
    let (fit, lack) = sets.split_at(fitting);
    let builds = if built { "" } else { "the builds and " };
    let detail = format!(
        "{free} free: enough for {builds}the data sets {}",
        names(fit)
    );
    match lack {
        [] => Finding::ok("disk", detail),
        lack => Finding::note("disk", format!("{detail}; not for {}", names(lack))),
    }
}

/// Says what helps where memory is small; `by_laptop` where another machine can build for this one.
fn judge_memory(memory: u64, swap: Option<u64>, by_laptop: bool) -> Finding {
    let size = gigabytes(memory);
    if memory >= MEMORY {
        return Finding::ok("memory", size);
    }
    let mut fix = Fix::yourself("export CARGO_BUILD_JOBS=1");
    let mut detail = format!("{size}: one compiler at a time fits, and more of them are killed");
    if swap.is_some_and(|swap| memory + swap < WITH_SWAP) {
        detail.push_str("; 2 GB of swap help");
        let swap = "sh -c 'fallocate -l 2G /swapfile && chmod 600 /swapfile && mkswap /swapfile && swapon /swapfile'";
        fix.commands
            .extend(System::here().as_administrator(swap).commands);
    }
    if by_laptop {
        detail.push_str("; a laptop can build for it");
        fix.commands.push((None, FOR_PI.to_owned()));
    }
    Finding::note("memory", detail).with(fix)
}

fn judge_watches(limit: u64) -> Finding {
    if limit >= WATCHES {
        return Finding::ok("file watching", format!("{limit} files"));
    }
    let detail = format!("{limit} files only; just watch reads the files once per second instead");
    let fix = System::here().as_administrator("sysctl fs.inotify.max_user_watches=65536");
    Finding::note("file watching", detail).with(fix)
}

/// What is particular about a Raspberry Pi: its memory cgroup, its page size.
fn raspberry_pi(model: &str) -> Vec<Finding> {
    let mut findings = vec![if cfg!(target_pointer_width = "64") {
        Finding::ok("Raspberry Pi", model)
    } else {
        let detail = format!(
            "{model} with a 32-bit system; the workshop's binaries and images are for 64 bits"
        );
        let fix = Fix::yourself("write the 64-bit Raspberry Pi OS to the card");
        Finding::fault("broken", "Raspberry Pi", detail, fix)
    }];
    let controllers = read_to_string("/sys/fs/cgroup/cgroup.controllers");
    if controllers.is_ok_and(|controllers| !has_memory_controller(&controllers)) {
        let detail = "off: memory limits of containers have no effect";
        let append = "sed -i 's/$/ cgroup_enable=memory cgroup_memory=1/' /boot/firmware/cmdline.txt, then reboot";
        findings.push(
            Finding::note("memory cgroup", detail).with(System::here().as_administrator(append)),
        );
    }
    let page_size = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE);
    if let Ok(Some(size @ 4097..)) = page_size {
        let detail = "programs with a jemalloc built for 4 kB pages die at their start";
        findings.push(Finding::note(
            "page size",
            format!("{} kB: {detail}", size / 1024),
        ));
    }
    findings
}

fn has_memory_controller(controllers: &str) -> bool {
    controllers.split_whitespace().any(|name| name == "memory")
}

/// What the firmware answers about its power supply and its heat.
fn throttling(answer: &str) -> Option<Finding> {
    let bits = u32::from_str_radix(answer.trim().strip_prefix("throttled=0x")?, 16).ok()?;
    let named = |bits: u32| {
        let meanings = THROTTLING.iter().enumerate();
        let set = meanings.filter(|(bit, _)| bits >> bit & 1 == 1);
        set.map(|(_, words)| *words).collect::<Vec<_>>().join(", ")
    };
    let (now, since) = (named(bits & 0xffff), named(bits >> 16));
    Some(if !now.is_empty() {
        Finding::note(
            "throttling",
            format!("now: {now}; figures measured like this mean little"),
        )
        .with(Fix::yourself(
            "a stronger power supply, or a fan, then reboot",
        ))
    } else if !since.is_empty() {
        Finding::note("throttling", format!("since the start, not now: {since}"))
    } else {
        Finding::ok("throttling", "none")
    })
}

fn distribution() -> Option<String> {
    let text = read_to_string("/etc/os-release").ok()?;
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_is_judged_by_what_still_fits() {
        assert_eq!(judge_disk(50_000_000, true).state.word(), "low");
        assert_eq!(judge_disk(1_000_000_000, false).state.word(), "low");
        let some = judge_disk(1_000_000_000, true);
        assert_eq!(some.state.word(), "note");
        assert!(
            some.detail.ends_with("small, pi; not for full"),
            "{}",
            some.detail
        );
        assert_eq!(judge_disk(50_000_000_000, false).state.word(), "ok");
    }

    #[test]
    fn a_machine_of_one_gigabyte_is_told_to_build_with_one_job_and_about_swap() {
        let commands = |swap| {
            let finding = judge_memory(1_000_000_000, swap, false);
            assert_eq!(finding.state.word(), "note");
            finding.fix.map(|fix| fix.in_words()).unwrap_or_default()
        };
        assert!(commands(Some(0)).starts_with("export CARGO_BUILD_JOBS=1; or "));
        assert!(commands(Some(0)).contains("swapon /swapfile"));
        assert_eq!(commands(Some(2_000_000_000)), "export CARGO_BUILD_JOBS=1");
        let big = judge_memory(4_000_000_000, Some(0), true);
        assert_eq!((big.state.word(), big.detail.as_str()), ("ok", "4.0 GB"));
    }

    #[test]
    fn a_small_board_is_told_that_a_laptop_can_build_for_it() {
        let board = |memory| judge_memory(memory, Some(0), true);
        let small = board(1_000_000_000);
        assert!(small.detail.ends_with("a laptop can build for it"));
        let fix = small.fix.map(|fix| fix.in_words()).unwrap_or_default();
        assert!(
            fix.ends_with("just build exercise-3 --for pi, on the laptop"),
            "{fix}"
        );
        assert_eq!(board(4_000_000_000).fix, None);
    }

    #[test]
    fn the_firmware_s_bits_are_told_in_words() {
        let detail = |answer: &str| throttling(answer).map(|finding| finding.detail);
        let says = |answer: &str| detail(answer).unwrap_or_default();
        assert_eq!(says("throttled=0x0"), "none");
        assert!(
            says("throttled=0x50005")
                .starts_with("now: the voltage too low, the processor throttled;")
        );
        assert_eq!(
            says("throttled=0x80000"),
            "since the start, not now: the temperature limited"
        );
        assert_eq!(detail("VCHI initialization failed"), None);
    }

    #[test]
    fn a_fresh_pi_has_no_controller_of_memory() {
        assert!(!has_memory_controller("cpuset cpu io pids"));
        assert!(has_memory_controller("cpuset cpu io memory pids"));
    }
}
