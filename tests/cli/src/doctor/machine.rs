//! The machine: disk, memory, and a system of 64 bits.

use std::fs::read_to_string;
use std::path::Path;

use crate::doctor::report::Finding;
use workshop_base::files;
use workshop_base::fix::{Fix, System};
use workshop_base::mounts::{self, TEMPORARY};
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

/// Examines the machine; the second part are lines about it for the block to paste.
pub(super) async fn examine(workspace: &Workspace) -> (Vec<Finding>, Vec<String>) {
    let ask = async |program: &str, args: &[&str]| {
        let answer = probe::ask(program, args, workspace.root(), QUICK).await;
        answer.line().map(str::to_owned)
    };
    let (revision, mac, mac_memory) = tokio::join!(
        ask("git", &["rev-parse", "--short", "HEAD"]),
        ask("sw_vers", &["-productVersion"]),
        ask("sysctl", &["-n", "hw.memsize"]),
    );
    let memory = memory_limit().or_else(|| mac_memory?.parse().ok());
    let swap = meminfo("SwapTotal:");

    let mut findings = vec![disk(workspace)];
    findings.extend(mounts::without_programs(workspace.root()).map(|mount| {
        let detail = "mounted noexec, so that nothing which is built here can run";
        let fix = runs_programs(&mount);
        Finding::fault("broken", &mount.display().to_string(), detail, fix)
    }));
    findings.extend(mounts::without_programs(Path::new(TEMPORARY)).map(|mount| {
        let detail = "mounted noexec, so Netty can't load its native transport: Kotlin is slower";
        Finding::note(&mount.display().to_string(), detail).with(runs_programs(&mount))
    }));
    findings.extend(memory.map(|memory| judge_memory(memory, swap)));
    if cfg!(target_pointer_width = "32") {
        let detail = "32 bits; the workshop's binaries and images are for 64 bits";
        let fix = Fix::yourself("write the 64-bit Raspberry Pi OS to the card");
        findings.push(Finding::fault("broken", "system", detail, fix));
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

fn runs_programs(mount: &Path) -> Fix {
    System::here().as_administrator(&format!("mount -o remount,exec '{}'", mount.display()))
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

/// Says what helps where memory is small.
fn judge_memory(memory: u64, swap: Option<u64>) -> Finding {
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
    Finding::note("memory", detail).with(fix)
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
            let finding = judge_memory(1_000_000_000, swap);
            assert_eq!(finding.state.word(), "note");
            finding.fix.map(|fix| fix.in_words()).unwrap_or_default()
        };
        assert!(commands(Some(0)).starts_with("export CARGO_BUILD_JOBS=1; or "));
        assert!(commands(Some(0)).contains("swapon /swapfile"));
        assert_eq!(commands(Some(2_000_000_000)), "export CARGO_BUILD_JOBS=1");
        let big = judge_memory(4_000_000_000, Some(0));
        assert_eq!((big.state.word(), big.detail.as_str()), ("ok", "4.0 GB"));
    }
}
