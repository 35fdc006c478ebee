//! The kernel that accounts for what is measured: this machine's, or that of another machine on which the services run. Elsewhere a
//! shell reads files of `/proc` for us, one `grep` for each look, over the connection that is there; what they say is understood
//! here. Services there are processes without children.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use workshop_base::process::{self, Memory, Process};
use workshop_harness::remote::Host;
use workshop_harness::service::Service;

/// Reads the files that each line of its input names, patterns included. Every line of them begins with its file's name, and an
/// empty line ends the answer.
const READER: &str = "while read -r files; do grep -Hs '' $files; echo; done";
/// Between two looks at the number of threads: on this machine, and on another one, where a look is a process.
const SAMPLE: Duration = Duration::from_millis(200);
const SAMPLE_THERE: Duration = Duration::from_secs(1);
/// What a process's own count of its CPU time may fall short of that of its threads by: it is cut to ticks, twice.
const CUT: Duration = Duration::from_millis(20);

/// The time between two readings.
pub fn since(before: Option<Duration>, after: Option<Duration>) -> Option<Duration> {
    Some(after?.saturating_sub(before?))
}

/// Where readings come from.
pub enum Kernel {
    /// This machine.
    Here,
    /// Another one.
    Elsewhere(Box<Elsewhere>),
}

impl Kernel {
    /// That of a host, else this machine's.
    pub fn of(host: Option<&Host>) -> Kernel {
        host.map_or(Kernel::Here, |host| {
            Kernel::Elsewhere(Box::new(Elsewhere {
                host: host.clone(),
                shell: Mutex::default(),
            }))
        })
    }

    /// The processes of a service, its own first, by the ids that they have where they run.
    pub fn pids(&self, service: &Service) -> Vec<u32> {
        match self {
            Kernel::Here => service.pids(),
            Kernel::Elsewhere(there) => there.pid(service).into_iter().collect(),
        }
    }

    /// Between two looks while a load runs.
    pub fn sample(&self) -> Duration {
        match self {
            Kernel::Here => SAMPLE,
            Kernel::Elsewhere(_) => SAMPLE_THERE,
        }
    }

    /// CPU time of these processes; none when one of them is gone.
    pub fn cpu(&self, pids: &[u32]) -> Option<Duration> {
        match self {
            Kernel::Here => process::cpu(pids),
            Kernel::Elsewhere(there) => there.of_all(pids, Elsewhere::cpu),
        }
    }

    /// CPU time that the compilers of JVMs took among these; zero where none is one.
    pub fn compilers_cpu(&self, pids: &[u32]) -> Option<Duration> {
        match self {
            Kernel::Here => pids.iter().map(|pid| process::compilers_cpu(*pid)).sum(),
            Kernel::Elsewhere(there) => there.of_all(pids, Elsewhere::compilers_cpu),
        }
    }

    /// These processes and all that they have started.
    pub fn tree(&self, pids: &[u32]) -> Vec<u32> {
        match self {
            Kernel::Here => process::tree(pids),
            Kernel::Elsewhere(_) => pids.to_vec(),
        }
    }

    /// Threads of these processes.
    pub fn threads(&self, pids: &[u32]) -> Option<usize> {
        match self {
            Kernel::Here => pids.iter().map(|pid| process::threads(*pid)).sum(),
            Kernel::Elsewhere(there) => there.of_all(pids, Elsewhere::threads),
        }
    }

    /// The proportional share of these processes and their children in memory, in kB.
    pub fn pss_kb(&self, pids: &[u32]) -> Option<u64> {
        match self {
            Kernel::Here => process::tree_pss_kb(pids),
            Kernel::Elsewhere(there) => there.of_all(pids, |there, pid| there.memory(pid)?.pss_kb),
        }
    }

    /// Memory of the first of these processes with its children.
    pub fn memory(&self, pids: &[u32]) -> Option<Memory> {
        let first = *pids.first()?;
        match self {
            Kernel::Here => process::tree_memory(first),
            Kernel::Elsewhere(there) => there.memory(first),
        }
    }
}

/// Readings from another machine.
pub struct Elsewhere {
    host: Host,
    shell: Mutex<Shell>,
}

#[derive(Default)]
struct Shell {
    reader: Option<Reader>,
    spent: HashMap<u32, Spent>,
}

/// The shell that reads, and our ends of its input and output. It ends with its input.
struct Reader {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// The lines of files, by the files' names.
type Files = HashMap<String, String>;

/// CPU time of a process by that of its threads, which is counted in nanoseconds; those that have ended keep their last count.
#[derive(Default)]
struct Spent {
    before: Duration,
    by_thread: HashMap<String, Duration>,
}

impl Elsewhere {
    /// The process that listens on the service's port. From now on its CPU time is counted by its threads.
    fn pid(&self, service: &Service) -> Option<u32> {
        let file = self.host.pid_file(service.address().port());
        let pid = self.read(&file)?.get(&file)?.trim().parse().ok()?;
        self.shell().spent.remove(&pid);
        Some(pid)
    }

    /// The sum of a reading; none where one of the processes has none.
    fn of_all<T: std::iter::Sum>(
        &self,
        pids: &[u32],
        reading: impl Fn(&Elsewhere, u32) -> Option<T>,
    ) -> Option<T> {
        let all = pids.iter().map(|pid| reading(self, *pid));
        if pids.is_empty() { None } else { all.sum() }
    }

    fn cpu(&self, pid: u32) -> Option<Duration> {
        let process = format!("/proc/{pid}");
        let files = self.read(&format!("{process}/stat {process}/task/*/schedstat"))?;
        let in_all = Process::parse(files.get(&format!("{process}/stat"))?)?.cpu();
        let mut shell = self.shell();
        Some(shell.spent.entry(pid).or_default().now(in_all, &files))
    }

    fn compilers_cpu(&self, pid: u32) -> Option<Duration> {
        let task = format!("/proc/{pid}/task");
        let files = self.read(&format!("{task}/*/comm {task}/*/schedstat"))?;
        Some(of_compilers(&files))
    }

    fn threads(&self, pid: u32) -> Option<usize> {
        let file = format!("/proc/{pid}/status");
        let files = self.read(&file)?;
        let mut lines = files.get(&file)?.lines();
        lines.find_map(|line| line.strip_prefix("Threads:")?.trim().parse().ok())
    }

    fn memory(&self, pid: u32) -> Option<Memory> {
        let [status, rollup] = ["status", "smaps_rollup"].map(|file| format!("/proc/{pid}/{file}"));
        let files = self.read(&format!("{status} {rollup}"))?;
        let rollup = files.get(&rollup);
        Some(Memory {
            peak_kb: process::kilobytes(files.get(&status)?, "VmHWM:")?,
            pss_kb: rollup.and_then(|rollup| process::kilobytes(rollup, "Pss:")),
        })
    }

    fn shell(&self) -> std::sync::MutexGuard<'_, Shell> {
        self.shell.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is in these files, by their names; none when the machine does not answer anymore. This blocks for one way there and
    /// back, and when the line falls silent, until ssh gives it up.
    fn read(&self, files: &str) -> Option<Files> {
        let mut shell = self.shell();
        if shell.reader.is_none() {
            shell.reader = Some(Reader::start(&self.host)?);
        }
        shell.reader.as_mut()?.read(files)
    }
}

impl Reader {
    fn start(host: &Host) -> Option<Reader> {
        let mut command = host.script(READER, "reader", &[]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().ok()?;
        let (questions, answers) = (child.stdin.take()?, child.stdout.take()?);
        Some(Reader {
            child,
            questions,
            answers: BufReader::new(answers),
        })
    }

    fn read(&mut self, files: &str) -> Option<Files> {
        self.questions
            .write_all(format!("{files}\n").as_bytes())
            .ok()?;
        let mut found = Files::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            // A line without an end is the last that came.
            self.answers.read_until(b'\n', &mut line).ok()?;
            if line.pop() != Some(b'\n') {
                return None;
            }
            let text = String::from_utf8_lossy(&line);
            let Some((file, text)) = text.split_once(':') else {
                return Some(found);
            };
            let file = found.entry(file.to_owned()).or_default();
            file.push_str(text);
            file.push('\n');
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // It has nothing to put in order.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Spent {
    /// CPU time now, of a process that has spent so much in all by its own, coarse count.
    fn now(&mut self, in_all: Duration, files: &Files) -> Duration {
        let threads: Vec<(String, Duration)> = by_thread(files).collect();
        if threads.is_empty() {
            // A kernel that does not count threads.
            return in_all;
        }
        if self.by_thread.is_empty() {
            let living: Duration = threads.iter().map(|(_, spent)| *spent).sum();
            let ended = in_all.saturating_sub(living);
            self.before = if ended > CUT { ended } else { Duration::ZERO };
        }
        self.by_thread.extend(threads);
        self.before + self.by_thread.values().sum::<Duration>()
    }
}

/// The CPU time of each thread among these files, by its folder.
fn by_thread(files: &Files) -> impl Iterator<Item = (String, Duration)> {
    files.iter().filter_map(|(file, text)| {
        let thread = file.strip_suffix("/schedstat")?;
        let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
        Some((thread.to_owned(), Duration::from_nanos(nanoseconds)))
    })
}

fn of_compilers(files: &Files) -> Duration {
    let compiles = |thread: &str| {
        let name = files.get(&format!("{thread}/comm"));
        name.is_some_and(|name| process::is_compiler(name))
    };
    let threads = by_thread(files).filter(|(thread, _)| compiles(thread));
    threads.map(|(_, spent)| spent).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(threads: &[(&str, &str, u64)]) -> Files {
        let both = |(thread, name, nanoseconds): &(&str, &str, u64)| {
            let folder = format!("/proc/7/task/{thread}");
            [
                (format!("{folder}/comm"), format!("{name}\n")),
                (
                    format!("{folder}/schedstat"),
                    format!("{nanoseconds} 5 6\n"),
                ),
            ]
        };
        threads.iter().flat_map(both).collect()
    }

    #[test]
    fn a_thread_that_has_ended_keeps_what_it_has_spent() {
        let seconds = Duration::from_secs;
        let mut spent = Spent::default();
        // Two seconds are of threads that ended before anybody looked.
        let both = files(&[("7", "java", 3_000_000_000), ("8", "worker", 1_000_000_000)]);
        assert_eq!(spent.now(seconds(6), &both), seconds(6));
        let one = files(&[("7", "java", 4_000_000_000)]);
        assert_eq!(spent.now(seconds(7), &one), seconds(7));
        // The process's own count is coarse, so it does not matter from then on.
        assert_eq!(spent.now(seconds(9), &one), seconds(7));
        assert_eq!(Spent::default().now(seconds(5), &Files::new()), seconds(5));
    }

    #[test]
    fn what_a_count_in_ticks_is_short_of_is_no_thread_that_has_ended() {
        let in_all = Duration::from_millis(1010);
        let living = files(&[("7", "service", 1_000_000_000)]);
        let now = Spent::default().now(in_all, &living);
        assert_eq!(now, Duration::from_secs(1));
    }

    #[test]
    fn the_compilers_of_a_jvm_are_told_from_its_other_threads() {
        let threads = files(&[
            ("7", "java", 3_000_000_000),
            ("8", "C2 CompilerThre", 2_000_000_000),
        ]);
        assert_eq!(of_compilers(&threads), Duration::from_secs(2));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_shell_reads_what_is_asked_for_and_says_nothing_of_what_is_not_there() {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", READER]);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (questions, answers) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut reader = Reader {
            child,
            questions,
            answers: BufReader::new(answers),
        };
        let own = format!("/proc/{}", std::process::id());
        let found = reader.read(&format!("{own}/stat {own}/task/*/schedstat"));
        let found = found.unwrap();
        assert!(Process::parse(&found[&format!("{own}/stat")]).is_some());
        assert!(by_thread(&found).count() >= 1, "{found:?}");
        assert_eq!(reader.read("/proc/nothing"), Some(Files::new()));
    }
}
