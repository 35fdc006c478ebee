//! The machine: disk, memory, the limit of file watching; and what a Raspberry Pi adds.

use std::path::Path;

use crate::doctor::finding::Finding;

use crate::doctor::finding::State;
use crate::doctor::pi;
use crate::doctor::pi::Board;
use workshop_base::mend::Mend;
use workshop_base::mend::System;
use workshop_base::probe;
use workshop_base::probe::Answer;
use workshop_base::probe::QUICK;
use workshop_base::workspace::Workspace;
use workshop_postgres::datasets::DataSet;
use workshop_postgres::datasets::needed;

/// Bytes that the builds of tool, service and crates take.
const BUILDS: u64 = 4_000_000_000;

/// Below this much memory (bytes) Maven, cargo and PostgreSQL do not fit side by side.
const MEMORY: u64 = 2_000_000_000;

/// Watches that an editor, the book's server and `just watch` take together.
const WATCHES: u64 = 8_192;

/// Examines the machine; the second part are lines about it for the block to paste.
pub(super) async fn examine(workspace: &Workspace, system: &System) -> (Vec<Finding>, Vec<String>) {
    let root = workspace.root();
    let (revision, memory, mac, throttled) = tokio::join!(
        probe::ask("git", &["rev-parse", "--short", "HEAD"], root, QUICK),
        memory(),
        probe::ask("sw_vers", &["-productVersion"], root, QUICK),
        probe::ask("vcgencmd", &["get_throttled"], root, QUICK),
    );
    let mut findings = vec![disk(workspace)];
    findings.extend(memory.map(judge_memory));
    findings.extend(
        read_number("/proc/sys/fs/inotify/max_user_watches")
            .map(|limit| judge_watches(system, limit)),
    );
    if let Some(board) = board(throttled) {
        findings.extend(pi::findings(&board, system));
    }

    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let name = match mac {
        Answer::Said(version) => format!("macOS {version}"),
        _ => distribution().unwrap_or_else(|| std::env::consts::OS.to_owned()),
    };
    let memory = memory.map_or(String::new(), |bytes| format!(", {}", gigabytes(bytes)));
    let revision = match revision {
        Answer::Said(revision) => revision,
        _ => "without git history".to_owned(),
    };
    let about = vec![
        format!("workshop {} ({revision})", env!("CARGO_PKG_VERSION")),
        format!(
            "system: {name}, {} {}, {cores} cores{memory}",
            std::env::consts::OS,
            std::env::consts::ARCH
        ),
    ];
    (findings, about)
}

// The types of these numbers differ from system to system.
#[allow(clippy::unnecessary_cast)]
fn disk(workspace: &Workspace) -> Finding {
    let name = "disk";
    let free = match nix::sys::statvfs::statvfs(workspace.root()) {
        Ok(disk) => disk.blocks_available() as u64 * disk.fragment_size() as u64,
        Err(error) => {
            return Finding::note(name, format!("cannot be asked how much is free: {error}"));
        }
    };
    judge_disk(free, workspace.cargo_target().join("debug").is_dir())
}

fn judge_disk(free: u64, built: bool) -> Finding {
    let left = free.saturating_sub(if built { 0 } else { BUILDS });
    let (fit, lack): (Vec<_>, Vec<_>) = [DataSet::Small, DataSet::Pi, DataSet::Full]
        .into_iter()
        .partition(|set| left >= needed(*set));
    let names = |sets: &[DataSet]| {
        sets.iter()
            .map(DataSet::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let free = gigabytes(free);
    if fit.is_empty() {
        let detail = format!("{free} free; the builds and the smallest data set do not fit");
        return Finding::fault(
            State::LOW,
            "disk",
            detail,
            Mend::yourself("just clean, or a checkout on a bigger disk"),
        );
    }
    let builds = if built { "" } else { "the builds and " };
    let detail = format!(
        "{free} free: enough for {builds}the data sets {}",
        names(&fit)
    );
    match lack.as_slice() {
        [] => Finding::ok("disk", detail),
        lack => Finding::note("disk", format!("{detail}; not for {}", names(lack))),
    }
}

async fn memory() -> Option<u64> {
    if let Ok(text) = std::fs::read_to_string("/proc/meminfo") {
        return total_memory(&text);
    }
    match probe::ask("sysctl", &["-n", "hw.memsize"], Path::new("/"), QUICK).await {
        Answer::Said(bytes) => bytes.parse().ok(),
        _ => None,
    }
}

fn total_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()
        .map(|kilobytes| kilobytes * 1024)
}

fn judge_memory(bytes: u64) -> Finding {
    if bytes >= MEMORY {
        return Finding::ok("memory", gigabytes(bytes));
    }
    Finding::note(
        "memory",
        format!(
            "{}: builds may be stopped for the want of it",
            gigabytes(bytes)
        ),
    )
    .with(Mend::yourself("CARGO_BUILD_JOBS=1 just check exercise-2"))
}

fn judge_watches(system: &System, limit: u64) -> Finding {
    if limit >= WATCHES {
        return Finding::ok("file watching", format!("{limit} files"));
    }
    Finding::note(
        "file watching",
        format!("{limit} files only; just watch falls back to looking every second"),
    )
    .with(system.as_administrator("sysctl fs.inotify.max_user_watches=65536"))
}

fn board(throttled: Answer) -> Option<Board> {
    let model = std::fs::read_to_string("/proc/device-tree/model").ok()?;
    let model = model.trim_end_matches('\0').to_owned();
    model.contains("Raspberry Pi").then(|| Board {
        model,
        controllers: std::fs::read_to_string("/sys/fs/cgroup/cgroup.controllers").ok(),
        page_size: nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE)
            .ok()
            .flatten(),
        throttled: match throttled {
            Answer::Said(text) => Some(text),
            _ => None,
        },
        wide: cfg!(target_pointer_width = "64"),
    })
}

fn distribution() -> Option<String> {
    let text = std::fs::read_to_string("/etc/os-release").ok()?;
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

fn read_number(path: &str) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
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
        assert_eq!(
            (
                some.state.word(),
                some.detail.ends_with("small, pi; not for full")
            ),
            ("note", true)
        );
        assert_eq!(judge_disk(50_000_000_000, false).state.word(), "ok");
    }

    #[test]
    fn memory_is_read_from_the_kernel_s_table() {
        assert_eq!(
            total_memory("MemTotal:        1000 kB\nMemFree: 1 kB\n"),
            Some(1_024_000)
        );
    }
}
