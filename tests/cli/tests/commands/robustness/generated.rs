//! Sends generated requests to two services and collects what is wrong with the answers.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::path::Path;

use anyhow::Context;
use futures_util::future::try_join_all;
use workshop_base::process;

use super::contract::Operation;
use super::generator::Generator;
use super::ingredients::GARBAGE;
use super::judge;
use super::request::{self, Request};
use super::site::Site;
use super::wire::{Answer, Connection, send_garbage};

/// How many requests are sent at the same time.
const AT_ONCE: usize = 8;
/// Requests of one round. Those that only read are sent side by side, then one by one those that may write: so both services
/// change their records in the same order.
const ROUND: usize = 100;
/// How many complaints are shown in full.
const SHOWN: usize = 10;

/// The services, with connections to them.
pub struct Trial<'a> {
    sites: [&'a Site; 2],
    pairs: Vec<[Connection; 2]>,
    generator: Generator,
    folder: &'a Path,
    report: Report,
}

/// What came of it.
#[derive(Default)]
pub struct Report {
    pub requests: usize,
    statuses: BTreeMap<u16, usize>,
    garbage: usize,
    /// What was done to the requests at fault, and what is wrong with the answers.
    pub complaints: Vec<(String, String)>,
}

impl<'a> Trial<'a> {
    /// A trial of the Kotlin service and of a reference, in this order. Requests at fault are written into `folder`.
    pub fn new(sites: [&'a Site; 2], generator: Generator, folder: &'a Path) -> Self {
        let connections = || sites.map(|site| Connection::new(site.address));
        Trial {
            sites,
            pairs: (0..AT_ONCE).map(|_| connections()).collect(),
            generator,
            folder,
            report: Report::default(),
        }
    }

    /// Sends requests until there were this many.
    pub async fn send_until(&mut self, requests: usize) -> anyhow::Result<()> {
        while self.report.requests < requests {
            let mut readers = Vec::new();
            let mut writers = Vec::new();
            for _ in 0..ROUND.min(requests - self.report.requests) {
                self.report.requests += 1;
                let (operation, request) = self.generator.next_request();
                let task = (self.report.requests, operation, request);
                // What began as a read may have become a write.
                if task.1.changes_state() || task.2.method == "POST" {
                    writers.push(task);
                } else {
                    readers.push(task);
                }
            }
            let share = readers.len().div_ceil(AT_ONCE).max(1);
            let shares = self.pairs.iter_mut().zip(readers.chunks(share));
            let answered = shares.map(|(pair, tasks)| exchange_all(pair, tasks));
            for (task, answers) in try_join_all(answered).await?.into_iter().flatten() {
                self.report.judge(task, &answers, self.folder)?;
            }
            for (task, answers) in exchange_all(&mut self.pairs[0], &writers).await? {
                self.report.judge(task, &answers, self.folder)?;
            }
        }
        Ok(())
    }

    /// Sends what is no request: it must be refused, or the connection closed.
    pub async fn send_garbage(&mut self) -> anyhow::Result<()> {
        let mut all: Vec<Vec<u8>> = GARBAGE.iter().map(|bytes| bytes.to_vec()).collect();
        all.push(header_of(b'h', 1_000_000));
        all.push(header_of(0xff, 1_000_000));
        for bytes in &all {
            self.report.garbage += 1;
            for site in self.sites {
                let status = send_garbage(site.address, bytes).await?;
                if status.is_some_and(|status| !(400..500).contains(&status)) {
                    let what = format!("{} answers {status:?}", site.service.label());
                    self.report.complaints.push((what, request::shown(bytes)));
                }
            }
        }
        Ok(())
    }

    /// The memory of both, in kB; none where the system does not tell.
    pub fn memory(&self) -> [Option<u64>; 2] {
        self.sites
            .map(|site| process::memory(site.service.pid())?.pss_kb)
    }

    /// Ends the trial.
    pub fn into_report(self) -> Report {
        self.report
    }
}

/// A request that never ends within any limit.
fn header_of(byte: u8, length: usize) -> Vec<u8> {
    let mut bytes = b"GET /health HTTP/1.1\r\nHost: x\r\nX-Endless: ".to_vec();
    bytes.resize(bytes.len() + length, byte);
    bytes
}

type Task = (usize, Operation, Request);

/// Sends these requests one by one to both.
async fn exchange_all<'t>(
    pair: &mut [Connection; 2],
    tasks: &'t [Task],
) -> anyhow::Result<Vec<(&'t Task, [Answer; 2])>> {
    let mut answered = Vec::new();
    for task in tasks {
        let (number, _, request) = task;
        let bytes = request.bytes();
        let to_head = request.method == "HEAD";
        let [kotlin, rust] = pair;
        let (kotlin, rust) = tokio::join!(
            kotlin.exchange(&bytes, to_head),
            rust.exchange(&bytes, to_head)
        );
        let unanswered = |name| {
            format!(
                "{name} gave no answer to request {number}: {}",
                request::shown(&bytes)
            )
        };
        let answers = [
            kotlin.with_context(|| unanswered("Kotlin"))?,
            rust.with_context(|| unanswered("Rust"))?,
        ];
        answered.push((task, answers));
    }
    Ok(answered)
}

impl Report {
    fn judge(
        &mut self,
        (number, operation, request): &Task,
        [kotlin, rust]: &[Answer; 2],
        folder: &Path,
    ) -> anyhow::Result<()> {
        *self.statuses.entry(rust.status).or_default() += 1;
        let Some(complaint) = judge::complaint(operation, request, kotlin, rust) else {
            return Ok(());
        };
        let changes = request.changes.join(", ");
        let again = request::to_send_again(&request.bytes(), *number, folder)?;
        let told = format!(
            "request {number} ({changes}): {complaint}\n{again}\n{}",
            judge::shown(kotlin, rust)
        );
        self.complaints
            .push((format!("{complaint} ({changes})"), told));
        Ok(())
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statuses: Vec<String> = self
            .statuses
            .iter()
            .map(|(status, count)| format!("{status}: {count}"))
            .collect();
        writeln!(
            f,
            "{} requests, answered {}",
            self.requests,
            statuses.join(", ")
        )?;
        writeln!(f, "{} times bytes that are no request", self.garbage)?;
        // One of each kind says more than many of one.
        let mut kinds = HashSet::new();
        let of_a_kind = self
            .complaints
            .iter()
            .filter(|(kind, _)| kinds.insert(kind));
        for (_, told) in of_a_kind.take(SHOWN) {
            writeln!(f, "\n{told}")?;
        }
        writeln!(f, "{} complaints in all", self.complaints.len())
    }
}
