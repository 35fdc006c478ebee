//! What else keeps the machine busy while something is measured: programs that are no part of it.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::time::{Duration, Instant};

use workshop_base::process::{self, Process, in_ticks};

/// The share of the machine from which on other programs are worth a word.
const WORTH_A_WORD: f64 = 0.04;
/// The shortest time of which this can be said: the kernel counts in ticks of 10 ms, and two of them are most of a short start.
const SHORTEST: Duration = Duration::from_millis(500);
/// Programs that work for the services though the tool has not started them.
const OURS: [&str; 3] = ["postgres", "docker-proxy", "containerd-shim"];

/// The machine at one moment.
pub struct CpuTimes {
    at: Instant,
    busy: Duration,
    processes: HashMap<u32, Process>,
}

impl CpuTimes {
    /// Now; none where there is no `/proc`.
    pub fn now() -> Option<CpuTimes> {
        Some(CpuTimes {
            at: Instant::now(),
            busy: machine_cpu()?,
            processes: process::all(),
        })
    }

    /// The CPU time of what belongs to the measurement: the tool, everything it has started, and PostgreSQL.
    fn ours(&self) -> Duration {
        let tree = process::descendants(&[std::process::id()], &self.processes);
        let ours = self
            .processes
            .iter()
            .filter(|(pid, process)| tree.contains(pid) || OURS.contains(&process.name.as_str()));
        ours.map(|(_, process)| process.cpu()).sum()
    }
}

/// What was seen of other programs.
#[derive(Debug, Default)]
pub struct Neighbors {
    looks: usize,
    shares: Vec<f64>,
    by_name: BTreeMap<String, Duration>,
}

impl Neighbors {
    /// Takes note of what has happened since an earlier moment.
    pub fn since(&mut self, before: Option<CpuTimes>) {
        let Some((before, now)) = before.zip(CpuTimes::now()) else {
            return;
        };
        if now.at - before.at < SHORTEST {
            return;
        }
        let busy = now.busy.saturating_sub(before.busy);
        let ours = now.ours().saturating_sub(before.ours());
        let whole = (now.at - before.at).as_secs_f64() * process::cores() as f64;
        let share = busy.saturating_sub(ours).as_secs_f64() / whole.max(f64::MIN_POSITIVE);
        self.looks += 1;
        if share < WORTH_A_WORD {
            return;
        }
        self.shares.push(share);
        let tree = process::descendants(&[std::process::id()], &now.processes);
        for (pid, process) in now.processes.iter().filter(|(pid, _)| !tree.contains(pid)) {
            let earlier = before.processes.get(pid).map(Process::cpu);
            let spent = process.cpu().saturating_sub(earlier.unwrap_or_default());
            if !OURS.contains(&process.name.as_str()) {
                *self.by_name.entry(process.name.clone()).or_default() += spent;
            }
        }
    }

    /// The note that belongs to the result, when the machine was busy with something else.
    pub fn note(&self) -> Option<String> {
        let most = self.shares.iter().copied().reduce(f64::max)?;
        let largest = self.by_name.iter().max_by_key(|(_, spent)| **spent);
        let largest = largest.filter(|(_, spent)| !spent.is_zero());
        let who = largest.map_or_else(
            || "none of them stayed long enough to be named".to_owned(),
            |(name, _)| format!("most of all {name}"),
        );
        Some(format!(
            "the machine was busy with something else: other programs took up to {:.0} % of its CPU in {} of {} looks, {who}; measure again when it is quiet",
            most * 100.0,
            self.shares.len(),
            self.looks
        ))
    }
}

/// CPU time that the whole machine has spent since its start: all cores, everything but waiting, hypervisor included.
fn machine_cpu() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line.split_whitespace().flat_map(str::parse).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; what guests take is in user already.
    let busy = [0, 1, 2, 5, 6, 7]
        .iter()
        .filter_map(|place| ticks.get(*place));
    Some(in_ticks(busy.sum()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A process that is not below this one: its parent has ended.
    fn stranger() -> u32 {
        // With a limit of its own: where the test is ended by Ctrl-C, it goes on.
        let script = "ulimit -t 60; while :; do :; done >/dev/null 2>&1 & echo $!";
        let output = std::process::Command::new("sh")
            .args(["-c", script])
            .output();
        String::from_utf8(output.unwrap().stdout)
            .unwrap()
            .trim()
            .parse()
            .unwrap()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn of_a_look_as_short_as_a_tick_nothing_is_said() {
        let mut before = CpuTimes::now().unwrap();
        before.at = Instant::now();
        // As if another program had taken a tick.
        before.busy = before.busy.saturating_sub(Duration::from_millis(10));
        let mut neighbors = Neighbors::default();
        neighbors.since(Some(before));
        assert_eq!(neighbors.note(), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_busy_stranger_is_noticed_and_named() {
        let mut neighbors = Neighbors::default();
        let before = CpuTimes::now();
        let pid = stranger();
        let began = Instant::now();
        let spent = || process::cpu(&[pid]).unwrap_or_default();
        while spent() < Duration::from_millis(500) && began.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
        }
        neighbors.since(before);
        let pid = nix::unistd::Pid::from_raw(pid.cast_signed());
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
        // One busy core is little of a large machine.
        if process::cores() < 20 {
            let note = neighbors.note().unwrap();
            assert!(note.contains("busy with something else"), "{note}");
        }
        assert!(
            neighbors.by_name["sh"] >= Duration::from_millis(400),
            "{neighbors:?}"
        );
    }
}
