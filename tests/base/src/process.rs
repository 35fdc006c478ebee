//! A process as the kernel accounts for it: CPU time, memory, threads, from `/proc`.
//!
//! Other systems have no `/proc`: there [`available`] is false and every reading is none.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// What is said where `/proc` is missing.
pub const NO_PROC: &str = "this system has no /proc: CPU, memory and threads were not measured (measure on Linux for these)";

/// The unit of CPU times in `/proc` (`USER_HZ`): 100 a second on every Linux that Rust's standard library runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// True where `/proc` tells about processes.
pub fn available() -> bool {
    fs::metadata("/proc/self/stat").is_ok()
}

/// Logical cores that this process may use.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Memory of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// The most that was ever resident (`VmHWM`), in kB.
    pub peak_kb: u64,
    /// The proportional share of what is mapped now (`Pss`), in kB; none where the kernel hides it.
    pub pss_kb: Option<u64>,
}

/// CPU time of processes and their descendants, in nanoseconds by the clock of each process; of descendants that ended and
/// were waited for as well, in ticks of 10 ms. None when one of the processes is gone, and of no process.
pub fn cpu(pids: &[u32]) -> Option<Duration> {
    let processes = all();
    if pids.is_empty() || !pids.iter().all(|pid| processes.contains_key(pid)) {
        return None;
    }
    let tree = descendants(pids, &processes);
    let times = tree.iter().filter_map(|pid| {
        let process = processes.get(pid)?;
        let own = clock(*pid).unwrap_or_else(|| in_ticks(process.own_ticks));
        Some(own + in_ticks(process.children_ticks))
    });
    Some(times.sum())
}

/// The time between two readings.
pub fn since(before: Option<Duration>, after: Option<Duration>) -> Option<Duration> {
    Some(after?.saturating_sub(before?))
}

/// The clock of a process's CPU time, which counts in nanoseconds and knows the threads that have ended.
#[cfg(target_os = "linux")]
fn clock(pid: u32) -> Option<Duration> {
    let pid = nix::unistd::Pid::from_raw(pid.cast_signed());
    let clock = nix::time::clock_getcpuclockid(pid).ok()?;
    Some(nix::time::clock_gettime(clock).ok()?.into())
}

#[cfg(not(target_os = "linux"))]
fn clock(_pid: u32) -> Option<Duration> {
    None
}

/// So many of the units that `/proc` counts in.
pub fn in_ticks(ticks: u64) -> Duration {
    Duration::from_secs_f64(ticks as f64 / TICKS_PER_SECOND)
}

/// True when a process has ended, whether or not its parent has taken notice.
pub fn is_gone(pid: u32) -> bool {
    match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(line) => line
            .rsplit_once(')')
            .is_some_and(|(_, rest)| rest.trim_start().starts_with(['Z', 'X'])),
        // Without /proc the kernel is asked by a signal that is none.
        Err(_) => {
            nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid.cast_signed()), None).is_err()
        }
    }
}

/// The most memory that a process ever had resident (`VmHWM`), in kB.
pub fn peak_kb(pid: u32) -> Option<u64> {
    kilobytes(
        &fs::read_to_string(format!("/proc/{pid}/status")).ok()?,
        "VmHWM:",
    )
}

/// Memory of a process.
pub fn memory(pid: u32) -> Option<Memory> {
    let peak_kb = peak_kb(pid)?;
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    Some(Memory {
        peak_kb,
        pss_kb: kilobytes(&rollup, "Pss:"),
    })
}

/// The proportional share of processes and their descendants (`Pss`), in kB. Descendants that end meanwhile count as nothing.
pub fn tree_pss_kb(pids: &[u32]) -> Option<u64> {
    let pss_kb = |pid: u32| memory(pid)?.pss_kb;
    let own: u64 = pids.iter().map(|pid| pss_kb(*pid)).sum::<Option<u64>>()?;
    let others = tree(pids).into_iter().filter(|pid| !pids.contains(pid));
    Some(own + others.filter_map(pss_kb).sum::<u64>())
}

/// Processes and all that they have started.
pub fn tree(pids: &[u32]) -> Vec<u32> {
    descendants(pids, &all()).into_iter().collect()
}

/// Memory of a process and of everything it has started, added up. Of descendants the kernel may hide, or lose, some.
pub fn tree_memory(pid: u32) -> Option<Memory> {
    let mut sum = memory(pid)?;
    for below in tree(&[pid]).into_iter().filter(|below| *below != pid) {
        let Some(more) = memory(below) else { continue };
        sum.peak_kb += more.peak_kb;
        sum.pss_kb = sum.pss_kb.zip(more.pss_kb).map(|(sum, more)| sum + more);
    }
    Some(sum)
}

/// A line of the kernel's table of memory, such as `MemTotal:`, in bytes.
pub fn meminfo(name: &str) -> Option<u64> {
    let table = fs::read_to_string("/proc/meminfo").ok()?;
    Some(kilobytes(&table, name)? * 1024)
}

/// Memory that this process may have, in bytes: the machine's, or less where a control group (cgroup) limits it.
pub fn memory_limit() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limits = groups.lines().filter_map(group_limit);
    meminfo("MemTotal:").into_iter().chain(limits).min()
}

/// The limit of a group, or of one that it is in, by its line in `/proc/self/cgroup`: `0::/a/b`, or `9:memory:/a/b` in version 1.
fn group_limit(line: &str) -> Option<u64> {
    let (_, group) = line.split_once(':')?;
    let (folder, file) = match group.split_once(':')?.0 {
        "" => ("/sys/fs/cgroup", "memory.max"),
        "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
        _ => return None,
    };
    let path = Path::new(group.split_once(":/")?.1);
    let limit = |group| fs::read_to_string(Path::new(folder).join(group).join(file)).ok();
    let limits = path.ancestors().filter_map(limit);
    limits.filter_map(|text| text.trim().parse().ok()).min()
}

/// Threads of a process.
pub fn threads(pid: u32) -> Option<usize> {
    entries(pid, "task")
}

/// Open file descriptors of a process, sockets included.
pub fn open_files(pid: u32) -> Option<usize> {
    entries(pid, "fd")
}

fn entries(pid: u32, folder: &str) -> Option<usize> {
    let entries = fs::read_dir(format!("/proc/{pid}/{folder}")).ok()?;
    Some(entries.count())
}

/// The children of a process, those included that have ended and that it has not taken notice of.
pub fn children(pid: u32) -> Vec<u32> {
    let children = all().into_iter();
    children
        .filter(|(_, stat)| stat.parent == pid)
        .map(|(child, _)| child)
        .collect()
}

/// What `/proc/PID/stat` says of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The program's name, cut at 15 characters.
    pub name: String,
    /// The process that started it.
    pub parent: u32,
    /// User and system time.
    own_ticks: u64,
    /// That of its children that ended and were waited for.
    children_ticks: u64,
}

impl Process {
    /// One of this name and parent that has spent so much; for tests of what looks at many.
    pub fn of(name: &str, parent: u32, spent: Duration) -> Process {
        Process {
            name: name.to_owned(),
            parent,
            own_ticks: (spent.as_millis() / 10).try_into().unwrap_or(u64::MAX),
            children_ticks: 0,
        }
    }

    /// Parses the line of `/proc/PID/stat`. The program's name is in parentheses and may hold anything, so the fields
    /// are counted after the last one.
    fn parse(line: &str) -> Option<Process> {
        let (before, after) = line.rsplit_once(')')?;
        let fields: Vec<&str> = after.split_whitespace().collect();
        // Field 3 of proc(5), the state, is the first here: utime, stime, cutime, cstime are 14 to 17.
        let number = |place: usize| fields.get(place - 3)?.parse::<i64>().ok();
        Some(Process {
            name: before.split_once('(')?.1.to_owned(),
            parent: u32::try_from(number(4)?).ok()?,
            own_ticks: (number(14)? + number(15)?).unsigned_abs(),
            children_ticks: (number(16)? + number(17)?).unsigned_abs(),
        })
    }

    /// CPU time, that of its children that were waited for included.
    pub fn cpu(&self) -> Duration {
        in_ticks(self.own_ticks + self.children_ticks)
    }
}

/// All processes of the machine; none where there is no `/proc`.
pub fn all() -> HashMap<u32, Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return HashMap::new();
    };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            Some((pid, Process::parse(&stat)?))
        })
        .collect()
}

/// These processes and all that they have started, directly or not.
pub fn descendants(roots: &[u32], processes: &HashMap<u32, Process>) -> HashSet<u32> {
    let mut tree: HashSet<u32> = roots.iter().copied().collect();
    loop {
        let more: Vec<u32> = processes
            .iter()
            .filter(|(pid, process)| tree.contains(&process.parent) && !tree.contains(pid))
            .map(|(pid, _)| *pid)
            .collect();
        if more.is_empty() {
            return tree;
        }
        tree.extend(more);
    }
}

/// The value of a line such as `VmHWM:   5120 kB` in one of the kernel's tables.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line[name.len()..]
        .trim()
        .strip_suffix("kB")?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_program_may_hold_parentheses_and_spaces() {
        let line =
            "42 (a) b (c) S 7 42 42 0 -1 4194560 1000 0 0 0 120 30 5 1 20 0 9 0 12345 1000 10";
        assert_eq!(
            Process::parse(line),
            Some(Process {
                name: "a) b (c".to_owned(),
                parent: 7,
                own_ticks: 150,
                children_ticks: 6,
            })
        );
    }

    #[test]
    fn half_a_line_is_no_reading() {
        assert_eq!(Process::parse("42 (a) S 7 42"), None);
        assert_eq!(Process::parse(""), None);
    }

    #[test]
    fn the_tree_of_a_process_holds_its_grandchildren_and_nobody_else() {
        let stat = |parent| Process {
            name: String::new(),
            parent,
            own_ticks: 1,
            children_ticks: 0,
        };
        let stats = HashMap::from([
            (1, stat(0)),
            (5, stat(1)),
            (6, stat(5)),
            (7, stat(6)),
            (8, stat(1)),
        ]);
        assert_eq!(descendants(&[5], &stats), HashSet::from([5, 6, 7]));
        assert_eq!(descendants(&[6, 8], &stats), HashSet::from([6, 7, 8]));
    }

    #[test]
    fn peak_and_share_are_read_in_kilobytes() {
        assert_eq!(
            kilobytes("VmPeak:\t  100 kB\nVmHWM:\t    5120 kB\n", "VmHWM:"),
            Some(5120)
        );
        assert_eq!(
            kilobytes("Rss:  10 kB\nPss:     4711 kB\nPss_Anon: 1 kB\n", "Pss:"),
            Some(4711)
        );
        assert_eq!(kilobytes("", "Pss:"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_has_cpu_time_memory_and_a_thread() {
        let pid = std::process::id();
        assert!(cpu(&[pid]).is_some());
        assert!(memory(pid).is_some_and(|memory| memory.peak_kb > 500));
        assert!(threads(pid).is_some_and(|threads| threads >= 1));
        assert_eq!(cpu(&[pid, u32::MAX]), None);
        assert_eq!(cpu(&[]), None);
    }
}
