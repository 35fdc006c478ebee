//! The export (exercise 7): memory and time of all rows at once, at a tenth of the data and at all of it; then what a page
//! costs by key and by OFFSET.
//!
//! curl is the client: it reads as fast as it gets, and keeps nothing. That both sides export the same is found out before,
//! and an export counts only when it has as many bytes as the database says that its rows have.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use futures_util::StreamExt;
use rand::seq::SliceRandom;
use sha2::{Digest, Sha256};
use sqlx::{Connection, PgConnection};

use crate::protocol::block;

use crate::protocol::block::Observed;
use crate::protocol::lab;
use crate::protocol::lab::Lab;
use crate::protocol::plan::Plan;
use crate::protocol::progress::Progress;
use crate::protocol::session::Blocks;
use crate::protocol::session::Session;
use crate::protocol::subject::Subject;
use crate::tables;
use crate::tasks::load;
use crate::tasks::load::Wanted;
use crate::tasks::paging;
use crate::tools;
use crate::tools::oha::Oha;
use workshop_base::outcome::Trouble;
use workshop_base::process;
use workshop_harness::service::Service;
use workshop_harness::service::Stopped;
use workshop_postgres::datasets;
use workshop_postgres::datasets::DataSet;
use workshop_results::file::BlockRecord;
use workshop_results::file::Mode;
use workshop_results::file::ResultFile;
use workshop_results::metrics;

/// What is asked for.
const PATH: &str = "/records/export";
/// What a million rows take on a slow side, roughly: for the estimate of what is left.
const A_MILLION_ROWS: Duration = Duration::from_secs(2);
/// What a block needs besides its exports: start and stop.
const BLOCK_OVERHEAD: Duration = Duration::from_secs(3);

/// A number of rows to export.
#[derive(Debug, Clone)]
struct Size {
    set: DataSet,
    database_url: String,
    /// Bytes of all lines, as the database counts them.
    bytes: u64,
    /// How often a process exports. The last time counts: the first one warms up what is short.
    times: usize,
}

/// Measures the subjects, Kotlin first.
///
/// # Errors
/// When the subjects do not export the same (the outcome is *failed*, and says where they differ), a service does not start,
/// or a tool is missing.
pub async fn measure(
    lab: &Lab<'_>,
    subjects: &[Subject],
    wanted: &Wanted,
) -> anyhow::Result<ResultFile> {
    let oha = Oha::find(lab.workspace)?;
    let curl = curl(lab)?;
    let sizes = sizes(lab, wanted.mode).await?;
    let plan = Plan::export(wanted.mode);
    let expected = expected(&plan, &sizes, subjects.len());
    load::announce(subjects, plan.rounds, expected);
    println!("the load:  curl -o /dev/null http://127.0.0.1:PORT{PATH}");

    let progress = Progress::begin(expected);
    progress.part("the same work? 200 records, failures, round trips");
    let same = load::same_work(lab, subjects, wanted.exercise).await?;
    let mut session = Session::new(lab, &oha, plan, progress);
    session.progress.part("the same export, byte for byte?");
    same_export(&mut session, subjects, &sizes[0]).await?;

    let blocks = rounds(&mut session, subjects, &sizes, &curl).await?;
    session
        .progress
        .part("a page by key and by OFFSET, first and far");
    let mut connection = PgConnection::connect(&lab.database_url).await?;
    let paging = paging::measure(&mut connection, lab.seeded.set.rows(), wanted.mode).await?;
    connection.close().await?;

    let sides: Vec<String> = subjects
        .iter()
        .map(|subject| subject.id().to_owned())
        .collect();
    let rows: Vec<u32> = sizes.iter().map(|size| size.set.rows()).collect();
    let metrics = metrics::from_blocks(
        &metrics::of_export(&rows),
        &blocks.records,
        &sides,
        &load::against_the_first(subjects),
        session.plan.rounds_needed(),
    );
    let mut notes = load::standing_notes(subjects, wanted.mode, &same);
    notes.extend(notes_on(&sizes));
    let mut manifest = lab.manifest(subjects);
    manifest.connections = 1;
    manifest.round_trips = same.round_trips;
    lab::complete(&mut manifest, &blocks.records, session.progress.gone());
    let most = rows.last().copied().unwrap_or_default();
    let decides = metrics::at_rows("export_time", most);
    let invalid = load::invalid(&metrics, &decides, &sides);
    let result = load::assembled(subjects, wanted, manifest, metrics, blocks, notes);
    Ok(ResultFile {
        invalid,
        tables: vec![tables::export::paging(&paging)],
        ..result
    })
}

fn curl(lab: &Lab<'_>) -> anyhow::Result<PathBuf> {
    tools::look(lab.workspace, "curl").ok_or_else(|| {
        Trouble::new("curl is not on PATH")
            .expected("curl, which reads the exports")
            .next("install curl with the system's packages")
            .into()
    })
}

/// A tenth of the lab's rows and all of them; in a quick run the tenth alone.
async fn sizes(lab: &Lab<'_>, mode: Mode) -> anyhow::Result<Vec<Size>> {
    let all = lab.seeded.set;
    let tenth = match all {
        DataSet::Full => Some(DataSet::Pi),
        DataSet::Pi | DataSet::Small => None,
    };
    let sets: Vec<DataSet> = match (mode, tenth) {
        (Mode::Quick, Some(tenth)) => vec![tenth],
        _ => tenth.into_iter().chain([all]).collect(),
    };
    let mut sizes = Vec::new();
    for set in sets {
        datasets::seed(&lab.server, lab.workspace, set).await?;
        datasets::forget_migrations(&lab.server, set).await?;
        let database_url = datasets::shared_url(&lab.server, set);
        let bytes = expected_bytes(&database_url).await?;
        sizes.push(Size {
            set,
            database_url,
            bytes,
            times: if set == DataSet::Full { 1 } else { 2 },
        });
    }
    Ok(sizes)
}

/// What the export must be long: PostgreSQL writes a row as the same compact JSON.
async fn expected_bytes(database_url: &str) -> anyhow::Result<u64> {
    let mut connection = PgConnection::connect(database_url).await?;
    let bytes: i64 = sqlx::query_scalar(
        "SELECT coalesce(sum(octet_length(row_to_json(r)::text) + 1), 0)::int8 \
         FROM (SELECT id, value, odd, divisible_by_3, visited FROM records) r",
    )
    .fetch_one(&mut connection)
    .await?;
    connection.close().await?;
    Ok(bytes.unsigned_abs())
}

fn expected(plan: &Plan, sizes: &[Size], subjects: usize) -> Duration {
    let a_round: Duration = sizes.iter().map(block_time).sum();
    a_round * (plan.rounds * subjects) as u32 + Duration::from_secs(20)
}

fn block_time(size: &Size) -> Duration {
    BLOCK_OVERHEAD + A_MILLION_ROWS.mul_f64(size.times as f64 * f64::from(size.set.rows()) / 1e6)
}

/// The content of an export, reduced to what can be compared.
#[derive(Debug, PartialEq, Eq)]
struct Content {
    status: u16,
    bytes: u64,
    lines: u64,
    sha256: String,
}

/// Holds one export of each subject against the first one's.
async fn same_export(
    session: &mut Session<'_>,
    subjects: &[Subject],
    size: &Size,
) -> anyhow::Result<()> {
    session.database_url.clone_from(&size.database_url);
    session.data_set = size.set;
    let mut oracle: Option<(&str, Content)> = None;
    for subject in subjects {
        let started = block::start(session, subject).await?;
        let content = content(&started.service).await?;
        started.service.stop().await;
        let wrong = match &oracle {
            _ if content.lines != u64::from(size.set.rows()) => Some(format!(
                "{} exported {} lines of {} rows",
                subject.id(),
                content.lines,
                size.set.rows()
            )),
            Some((first, expected)) if content != *expected => Some(format!(
                "they do not do the same work: {first} exported {expected:?}, but {} {content:?}",
                subject.id()
            )),
            _ => None,
        };
        if let Some(reason) = wrong {
            return Err(Trouble::new(format!("invalid: {reason}"))
                .expected("the same export from both; a comparison of anything else says nothing")
                .next(format!("just check {}", subject.id()))
                .failed()
                .into());
        }
        oracle.get_or_insert((subject.id(), content));
    }
    Ok(())
}

async fn content(service: &Service) -> anyhow::Result<Content> {
    let key = block::settings("").api_keys.remove(0);
    let response = reqwest::Client::builder()
        .no_proxy()
        .build()?
        .get(format!("{}{PATH}", service.base_url()))
        .header("X-API-Key", key)
        .send()
        .await?;
    let status = response.status().as_u16();
    let (mut bytes, mut lines, mut hash) = (0, 0, Sha256::new());
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.with_context(|| format!("{} broke its export off", service.label()))?;
        bytes += chunk.len() as u64;
        lines += chunk.iter().filter(|byte| **byte == b'\n').count() as u64;
        hash.update(&chunk);
    }
    let sha256 = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(Content {
        status,
        bytes,
        lines,
        sha256,
    })
}

/// Every subject with every size, once a round, in random order.
async fn rounds(
    session: &mut Session<'_>,
    subjects: &[Subject],
    sizes: &[Size],
    curl: &PathBuf,
) -> anyhow::Result<Blocks> {
    let mut blocks = Blocks::default();
    for round in 1..=session.plan.rounds {
        let mut order: Vec<(&Subject, &Size)> = subjects
            .iter()
            .flat_map(|subject| sizes.iter().map(move |size| (subject, size)))
            .collect();
        order.shuffle(&mut rand::rng());
        for (subject, size) in order {
            session.progress.part(&format!(
                "round {round} of {}, {}: {} rows",
                session.plan.rounds,
                subject.id(),
                size.set.rows()
            ));
            let observed = run(session, subject, size, curl).await?;
            blocks
                .notes
                .extend(observed.invalid.iter().map(|(key, reason)| {
                    format!(
                        "round {round}, {}: {key} does not count: {reason}",
                        subject.id()
                    )
                }));
            blocks.records.push(BlockRecord {
                round,
                place: blocks.records.len() + 1,
                side: subject.id().to_owned(),
                values: observed.values,
                invalid: observed.invalid,
            });
        }
    }
    Ok(blocks)
}

/// One block: a fresh process that exports this size, as often as the size says.
async fn run(
    session: &mut Session<'_>,
    subject: &Subject,
    size: &Size,
    curl: &PathBuf,
) -> anyhow::Result<Observed> {
    session.database_url.clone_from(&size.database_url);
    session.data_set = size.set;
    let rows = size.set.rows();
    let key = |name: &str| metrics::at_rows(name, rows);
    let mut observed = Observed::default();
    let started = block::start(session, subject).await?;
    let pid = started.service.pid();
    for time in 1..=size.times {
        let cpu_before = process::cpu(&[pid]);
        let export = Export::by_curl(curl, &started.service).await?;
        let cpu = cpu_before
            .zip(process::cpu(&[pid]))
            .map(|(before, after)| after.saturating_sub(before));
        if let Err(reason) = export.gate(size.bytes) {
            let keys = ["export_time", "memory", "cpu_per_row", "first_byte", "pss"];
            observed.invalid(&keys.map(key), &reason);
            break;
        }
        if time < size.times {
            observed.value(key("first_export_time"), Some(export.seconds));
            continue;
        }
        observed.value(key("export_time"), Some(export.seconds));
        observed.value(key("first_byte"), Some(export.first_byte_s * 1e3));
        observed.value(
            key("cpu_per_row"),
            cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / f64::from(rows)),
        );
    }
    let memory = process::memory(pid).filter(|_| observed.invalid.is_empty());
    observed.value(
        key("memory"),
        memory.map(|memory| block::megabytes(memory.peak_kb)),
    );
    observed.value(
        key("pss"),
        memory
            .and_then(|memory| memory.pss_kb)
            .map(block::megabytes),
    );
    if started.service.stop().await == Stopped::Killed {
        observed.value(block::HUNG, Some(1.0));
    }
    Ok(observed)
}

/// What curl saw of one export.
#[derive(Debug, Clone, PartialEq)]
struct Export {
    status: u16,
    bytes: u64,
    first_byte_s: f64,
    seconds: f64,
    /// What curl says when the connection broke.
    broke: Option<String>,
}

impl Export {
    const FORMAT: &str = "%{http_code} %{size_download} %{time_starttransfer} %{time_total}";

    async fn by_curl(curl: &PathBuf, service: &Service) -> anyhow::Result<Export> {
        let key = block::settings("").api_keys.remove(0);
        let output = tokio::process::Command::new(curl)
            .args(["--silent", "--show-error", "--noproxy", "*"])
            .args(["--output", "/dev/null", "--write-out", Export::FORMAT])
            .args(["--header", &format!("X-API-Key: {key}")])
            .arg(format!("{}{PATH}", service.base_url()))
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .context("curl cannot be run")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let said = String::from_utf8_lossy(&output.stderr);
        let broke = (!output.status.success()).then(|| said.trim().to_owned());
        Export::parse(&text, broke).with_context(|| format!("curl printed {text:?}"))
    }

    fn parse(text: &str, broke: Option<String>) -> Option<Export> {
        let mut words = text.split_whitespace();
        Some(Export {
            status: words.next()?.parse().ok()?,
            bytes: words.next()?.parse().ok()?,
            first_byte_s: words.next()?.parse().ok()?,
            seconds: words.next()?.parse().ok()?,
            broke,
        })
    }

    /// Why this export may not be believed.
    fn gate(&self, expected_bytes: u64) -> Result<(), String> {
        if let Some(said) = &self.broke {
            return Err(format!("the export broke off: {said}"));
        }
        if self.status != 200 {
            return Err(format!("the export had status {}, not 200", self.status));
        }
        if self.bytes != expected_bytes {
            return Err(format!(
                "the export had {} bytes; the rows have {expected_bytes}",
                self.bytes
            ));
        }
        Ok(())
    }
}

fn notes_on(sizes: &[Size]) -> Vec<String> {
    let times = sizes.iter().map(|size| {
        let which = if size.times == 1 {
            "exported once by a fresh process, which is long enough for a JVM to compile"
        } else {
            "exported twice by a fresh process; the second time counts, so that a JVM has compiled"
        };
        format!("{} rows are {which}", size.set.rows())
    });
    let mut notes: Vec<String> = times.collect();
    notes.push(
        "memory is the most that was ever resident; the JVM's default heap may grow to a quarter of the machine, and it takes what it may".to_owned(),
    );
    if sizes.len() == 1 {
        notes.push(format!(
            "only {} rows were exported: the standard run with the data set full exports all",
            sizes[0].set.rows()
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    const BYTES: u64 = 107_055_563;

    fn export(text: &str) -> Export {
        Export::parse(text, None).unwrap()
    }

    #[test]
    fn what_curl_prints_is_read() {
        let whole = export("200 107055563 0.014934 0.866172");
        assert_eq!((whole.seconds, whole.first_byte_s), (0.866_172, 0.014_934));
        assert_eq!(whole.gate(BYTES), Ok(()));
        assert_eq!(Export::parse("curl: no", None), None);
    }

    #[test]
    fn an_export_that_is_short_or_refused_or_broken_does_not_count() {
        let reason = |export: Export| export.gate(BYTES).unwrap_err();
        assert!(reason(export("200 107055562 0.1 0.8")).contains("107055562 bytes"));
        assert!(reason(export("503 80 0.1 0.1")).contains("status 503"));
        let broken = Export {
            broke: Some("curl: (18) transfer closed".to_owned()),
            ..export("200 107055563 0.1 0.8")
        };
        assert!(reason(broken).contains("transfer closed"));
    }
}
