//! What else keeps the machine busy while something is measured: programs that are no part of it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::time::{Duration, Instant};

use crate::tools::database;
use workshop_base::process::{self, Process, in_ticks};

/// The share of the machine from which on other programs are worth a word.
const WORTH_A_WORD: f64 = 0.04;
/// The shortest time of which this can be said: the kernel counts in ticks of 10 ms, and two of them are most of a short start.
const SHORTEST: Duration = Duration::from_millis(500);
/// Programs that work for the services though the tool has not started them, beside PostgreSQL.
const OURS: [&str; 2] = ["docker-proxy", "containerd-shim"];
/// How much busier the machine has to be in the blocks of one side before that is worth a word.
const UNEVEN: f64 = 0.1;

/// The machine at one moment.
pub struct CpuTimes {
    at: Instant,
    busy: Duration,
    /// What the hypervisor has given to other machines; it is a part of what is busy.
    stolen: Duration,
    processes: HashMap<u32, Process>,
}

impl CpuTimes {
    /// Now; none where there is no `/proc`.
    pub fn now() -> Option<CpuTimes> {
        Some(CpuTimes {
            at: Instant::now(),
            busy: machine_cpu()?,
            stolen: stolen_cpu()?,
            processes: process::all(),
        })
    }
}

/// What was seen of other programs.
#[derive(Debug, Default)]
pub struct Neighbors {
    /// The first process of the PostgreSQL that is measured, where it is known. Another one is a neighbor.
    server: Option<u32>,
    looks: usize,
    shares: Vec<f64>,
    by_name: BTreeMap<String, Duration>,
    stolen: Duration,
    /// The share in the blocks of each side.
    by_side: BTreeMap<String, Vec<f64>>,
}

impl Neighbors {
    /// Those of a measurement with this PostgreSQL, by its first process.
    pub fn beside(server: Option<u32>) -> Self {
        Neighbors {
            server,
            ..Neighbors::default()
        }
    }

    /// Takes note of what has happened since an earlier moment, while these sides were measured.
    pub fn since(&mut self, before: Option<CpuTimes>, sides: &[&str]) {
        if let Some((before, now)) = before.zip(CpuTimes::now()) {
            self.between(&before, &now, sides);
        }
    }

    /// What belongs to the measurement: the tool, everything it has started, what works for them, and PostgreSQL.
    fn ours(&self, all: &HashMap<u32, Process>) -> HashSet<u32> {
        let mut ours = process::descendants(&[std::process::id()], all);
        ours.extend(database::processes(self.server, all));
        let named = all
            .iter()
            .filter(|(_, process)| OURS.contains(&process.name.as_str()));
        ours.extend(named.map(|(pid, _)| *pid));
        ours
    }

    fn between(&mut self, before: &CpuTimes, now: &CpuTimes, sides: &[&str]) {
        if now.at - before.at < SHORTEST {
            return;
        }
        let spent_by = |at: &CpuTimes| -> Duration {
            let ours = self.ours(&at.processes);
            let ours = ours.iter().filter_map(|pid| at.processes.get(pid));
            ours.map(Process::cpu).sum()
        };
        let busy = now.busy.saturating_sub(before.busy);
        let ours = spent_by(now).saturating_sub(spent_by(before));
        let whole = (now.at - before.at).as_secs_f64() * process::cores() as f64;
        let share = busy.saturating_sub(ours).as_secs_f64() / whole.max(f64::MIN_POSITIVE);
        self.looks += 1;
        for side in sides {
            let of_side = self.by_side.entry((*side).to_owned()).or_default();
            of_side.push(share);
        }
        if share < WORTH_A_WORD {
            return;
        }
        self.shares.push(share);
        self.stolen += now.stolen.saturating_sub(before.stolen);
        let ours = self.ours(&now.processes);
        for (pid, process) in now.processes.iter().filter(|(pid, _)| !ours.contains(pid)) {
            let earlier = before.processes.get(pid).map(Process::cpu);
            let spent = process.cpu().saturating_sub(earlier.unwrap_or_default());
            *self.by_name.entry(process.name.clone()).or_default() += spent;
        }
    }

    /// The note that belongs to the result, when the machine was busy with something else.
    pub fn note(&self) -> Option<String> {
        let most = self.shares.iter().copied().reduce(f64::max)?;
        Some(format!(
            "the machine was busy with something else: other programs took up to {:.0} % of its CPU in {} of {} looks, {}{}; measure again when it is quiet",
            most * 100.0,
            self.shares.len(),
            self.looks,
            self.who(),
            self.uneven().unwrap_or_default()
        ))
    }

    fn who(&self) -> String {
        let largest = self.by_name.iter().max_by_key(|(_, spent)| **spent);
        match largest.filter(|(_, spent)| !spent.is_zero()) {
            Some((_, spent)) if *spent < self.stolen => {
                "most of all other machines of the same hypervisor".to_owned()
            }
            None if !self.stolen.is_zero() => {
                "most of all other machines of the same hypervisor".to_owned()
            }
            None => "none of them stayed long enough to be named".to_owned(),
            Some((name, _)) if name == "postgres" => {
                "most of all another PostgreSQL than the measured one".to_owned()
            }
            Some((name, _)) => format!("most of all {name}"),
        }
    }

    /// Sides that were measured at the same time share what disturbs them. Of others, one may have had the quieter machine.
    fn uneven(&self) -> Option<String> {
        let means = self.by_side.iter().map(|(side, shares)| {
            let mean = shares.iter().sum::<f64>() / shares.len().max(1) as f64;
            (side, mean)
        });
        let means: Vec<(&String, f64)> = means.collect();
        let by_share = |one: &&(&String, f64), other: &&(&String, f64)| one.1.total_cmp(&other.1);
        let (least, most) = (
            means.iter().min_by(by_share)?,
            means.iter().max_by(by_share)?,
        );
        (most.1 - least.1 >= UNEVEN).then(|| {
            format!(
                ", and not evenly: {:.0} % in the blocks of {}, {:.0} % in those of {}, which looks better by that",
                most.1 * 100.0,
                most.0,
                least.1 * 100.0,
                least.0
            )
        })
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

/// CPU time that the hypervisor has given to other machines since this one's start.
fn stolen_cpu() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let line = stat.lines().next()?.strip_prefix("cpu ")?;
    Some(in_ticks(line.split_whitespace().nth(7)?.parse().ok()?))
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
        neighbors.since(Some(before), &[]);
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
        neighbors.since(before, &[]);
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

    /// What a machine has done in ten seconds with these programs, by name, parent and the seconds that each has spent; so many more
    /// seconds went to other machines.
    fn ten_seconds(programs: &[(u32, &str, u32, u64)], stolen: u64) -> [CpuTimes; 2] {
        let now = Instant::now();
        let seconds: u64 = programs.iter().map(|(.., spent)| spent).sum();
        [0, 1].map(|at| CpuTimes {
            at: now + Duration::from_secs(10 * at),
            busy: Duration::from_secs((seconds + stolen) * at),
            stolen: Duration::from_secs(stolen * at),
            processes: programs
                .iter()
                .map(|(pid, name, parent, spent)| {
                    let spent = Duration::from_secs(spent * at);
                    (*pid, Process::of(name, *parent, spent))
                })
                .collect(),
        })
    }

    fn seen(server: Option<u32>, programs: &[(u32, &str, u32, u64)], stolen: u64) -> Neighbors {
        let mut neighbors = Neighbors::beside(server);
        let [before, now] = ten_seconds(programs, stolen);
        neighbors.between(&before, &now, &["kotlin"]);
        neighbors
    }

    /// So many seconds that nothing else hides them, whatever this machine has of cores.
    fn much() -> u64 {
        process::cores() as u64 * 5
    }

    #[test]
    fn another_postgresql_is_a_neighbor_and_the_measured_one_is_none() {
        let much = much();
        let native = [
            (10, "postgres", 1, 0),
            (11, "postgres", 10, much),
            (20, "postgres", 1, 0),
            (21, "postgres", 20, much),
            (30, "pgbench", 1, 0),
        ];
        let note = seen(Some(10), &native, 0).note().unwrap_or_default();
        assert!(note.contains("up to 50 %"), "{note}");
        assert!(note.contains("another PostgreSQL"), "{note}");
        assert_eq!(seen(Some(10), &native[..2], 0).note(), None);
        assert_eq!(seen(None, &native[..2], 0).note(), None);
        let in_a_container = [
            (5, "containerd-shim", 1, 0),
            (10, "postgres", 5, 0),
            (11, "postgres", 10, much),
            (20, "postgres", 1, 0),
            (21, "postgres", 20, much),
        ];
        let note = seen(None, &in_a_container, 0).note().unwrap_or_default();
        assert!(note.contains("up to 50 %"), "{note}");
        assert_eq!(seen(None, &in_a_container[..3], 0).note(), None);
    }

    #[test]
    fn a_container_that_eats_a_core_and_a_neighbor_of_the_hypervisor_are_named() {
        let container = [(5, "containerd-shim", 1, 0), (6, "stress-ng", 5, much())];
        let note = seen(None, &container, 0).note().unwrap_or_default();
        assert!(note.contains("most of all stress-ng"), "{note}");
        let note = seen(None, &[(7, "cron", 1, 1)], much()).note();
        let note = note.unwrap_or_default();
        assert!(
            note.contains("other machines of the same hypervisor"),
            "{note}"
        );
    }

    #[test]
    fn what_disturbs_one_side_more_than_the_other_is_said_with_both() {
        let mut neighbors = seen(None, &[(7, "yes", 1, much())], 0);
        let [before, now] = ten_seconds(&[], 0);
        neighbors.between(&before, &now, &["exercise-3"]);
        let note = neighbors.note().unwrap_or_default();
        let said = "50 % in the blocks of kotlin, 0 % in those of exercise-3, which looks better";
        assert!(note.contains(said), "{note}");
        let mut even = Neighbors::default();
        let [before, now] = ten_seconds(&[(7, "yes", 1, much())], 0);
        even.between(&before, &now, &["kotlin", "exercise-3"]);
        assert!(!even.note().unwrap_or_default().contains("evenly"));
    }
}
