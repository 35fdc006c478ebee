//! The export (exercise 7): memory and time of all rows at once, at a tenth of the data and at all of it; then what a page
//! costs by key and by OFFSET.
//!
//! curl is the client: it reads as fast as it gets, and keeps nothing. That both sides export the same is found out before,
//! and an export counts only when it has as many bytes as the database says that its rows have.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use anyhow::Context;
use sha2::{Digest, Sha256};
use sqlx::{Connection, PgConnection};

use crate::paging;
use workshop_base::process::{self, since};
use workshop_harness::service::Service;
use workshop_measure::protocol::block::{self, Block, memory, turns};
use workshop_measure::protocol::gates::not_the_same;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::{self, Session};
use workshop_measure::protocol::subject::Subject;
use workshop_measure::protocol::{ids, metrics};
use workshop_measure::tools::curl::{Curl, CurlDownload};
use workshop_postgres::datasets::{self, DataSet};
use workshop_results::file::{Mode, ResultFile};
use workshop_results::key::{At, CPU_PER_ROW, EXPORT_TIME, FIRST_BYTE, FIRST_EXPORT_TIME};

/// What is asked for.
const PATH: &str = "/records/export";

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

impl Size {
    fn at(&self) -> At {
        At::Rows(self.set.rows())
    }

    /// A subject that reads these rows.
    fn read_by(&self, subject: &Subject) -> Subject {
        let rows = self.set.rows();
        Subject {
            database_url: Some(self.database_url.clone()),
            first_path: Some(format!("/read/{}", ids::of(self.set).first)),
            at: Some(self.at()),
            detail: format!(": {rows} rows"),
            ..subject.clone()
        }
    }
}

/// Measures a target beside Kotlin.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let curl = Curl::find(lab.workspace)?;
    let sizes = sizes(lab, asked.mode).await?;
    let (mut session, subjects) = Session::begin(lab, asked, &asked.task).await?;
    println!("the load:  curl -o /dev/null http://127.0.0.1:PORT{PATH}");
    let subjects = session.same_work(subjects).await?;
    same_export(&session, &subjects, &sizes[0], &curl).await?;
    let of_sizes = subjects
        .iter()
        .flat_map(|subject| sizes.iter().map(|size| size.read_by(subject)));
    let of_sizes: Vec<Subject> = of_sizes.collect();
    let mut rounds = Vec::new();
    for turn in turns(&session.plan, &of_sizes) {
        let is_read = |size: &&Size| turn.subject.at == Some(size.at());
        let size = sizes.iter().find(is_read).context("a size without rows")?;
        let mut block = Block::start(&session, &turn).await?;
        export(&mut block, size, &curl).await?;
        rounds.push(block.end(&mut session).await?);
    }
    session
        .progress
        .part("a page by key and by OFFSET, first and far");
    let mut connection = PgConnection::connect(&lab.database_url).await?;
    let pages = paging::measure(&mut connection, lab.seeded.set.rows(), asked.mode).await?;
    connection.close().await?;

    session.connections = 1;
    session.notes.extend(notes_on(&sizes));
    let definitions = metrics::of("export", sizes.iter().map(Size::at))?;
    let most = sizes.last().context("nothing to export")?.at();
    let found = session
        .judged(&definitions, &subjects, rounds, None)
        .decided_by(&EXPORT_TIME.at(most), &subjects);
    let mut result = session.finish(&subjects, found).await?;
    result.tables.push(pages);
    Ok(result)
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

/// All export the same, byte for byte.
async fn same_export(
    session: &Session<'_>,
    subjects: &[Subject],
    size: &Size,
    curl: &Curl,
) -> anyhow::Result<()> {
    session.progress.part("the same export, byte for byte?");
    let scratch = session.lab.scratch().join("export");
    let mut oracle = None;
    for subject in subjects {
        let id = subject.id();
        let sum = sum(session, subject, size, curl, &scratch).await?;
        let (first, expected) = oracle.get_or_insert_with(|| (id, sum.clone()));
        if sum != *expected {
            let reason = format!(
                "they do not do the same work: {first} exported a file with sum {expected}, but {id} one with {sum}"
            );
            return Err(not_the_same(id, reason));
        }
    }
    Ok(())
}

/// What a subject exports, as the sum of its bytes.
async fn sum(
    session: &Session<'_>,
    subject: &Subject,
    size: &Size,
    curl: &Curl,
    scratch: &Path,
) -> anyhow::Result<String> {
    let started = block::start(session, &size.read_by(subject)).await?;
    let url = url(&started.service);
    let download = curl.download(&url, &session::key(), scratch).await?;
    started.stop().await?;
    gate(&download, size.bytes).map_err(|reason| not_the_same(subject.id(), reason))?;
    let (mut hash, mut file) = (Sha256::new(), BufReader::new(File::open(scratch)?));
    while let bytes = file.fill_buf()?
        && !bytes.is_empty()
    {
        hash.update(bytes);
        let read = bytes.len();
        file.consume(read);
    }
    Ok(hex::encode(hash.finalize()))
}

fn url(service: &Service) -> String {
    format!("{}{PATH}", service.base_url())
}

/// Exports this size from a fresh process, as often as the size says.
async fn export(block: &mut Block<'_>, size: &Size, curl: &Curl) -> anyhow::Result<()> {
    let (service, observed) = (&block.started.service, &mut block.observed);
    let (rows, at) = (f64::from(size.set.rows()), size.at());
    let (pid, url) = (service.pid(), url(service));
    for time in 1..=size.times {
        let cpu_before = process::cpu(&[pid]);
        let nowhere = Path::new("/dev/null");
        let export = curl.download(&url, &session::key(), nowhere).await?;
        let cpu = since(cpu_before, process::cpu(&[pid]));
        let gate = gate(&export, size.bytes);
        if time < size.times && gate.is_ok() {
            observed.value(FIRST_EXPORT_TIME.at(at), Some(export.seconds));
            continue;
        }
        let per_row_us = cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / rows);
        let values = [
            (EXPORT_TIME.at(at), Some(export.seconds)),
            (FIRST_BYTE.at(at), Some(export.first_byte_s * 1e3)),
            (CPU_PER_ROW.at(at), per_row_us),
        ];
        let memory = memory(process::tree_memory(pid), Some(at));
        observed.gated(gate, values.into_iter().chain(memory));
        break;
    }
    Ok(())
}

/// Why this export may not be believed.
fn gate(export: &CurlDownload, expected_bytes: u64) -> Result<(), String> {
    if let Some(said) = &export.broke {
        return Err(format!("the export broke off: {said}"));
    }
    if export.status != 200 {
        return Err(format!("the export had status {}, not 200", export.status));
    }
    if export.bytes != expected_bytes {
        let bytes = export.bytes;
        return Err(format!(
            "the export had {bytes} bytes; the rows have {expected_bytes}"
        ));
    }
    Ok(())
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

    #[test]
    fn an_export_that_is_short_or_refused_or_broken_does_not_count() {
        let whole = || CurlDownload {
            status: 200,
            bytes: 107_055_563,
            first_byte_s: 0.1,
            seconds: 0.8,
            broke: None,
        };
        let reason = |export: &CurlDownload| gate(export, 107_055_563).unwrap_err();
        assert_eq!(gate(&whole(), 107_055_563), Ok(()));
        let short = CurlDownload {
            bytes: 107_055_562,
            ..whole()
        };
        assert!(reason(&short).contains("107055562 bytes"));
        assert!(
            reason(&CurlDownload {
                status: 503,
                ..whole()
            })
            .contains("status 503")
        );
        let broken = CurlDownload {
            broke: Some("transfer closed".to_owned()),
            ..whole()
        };
        assert!(reason(&broken).contains("transfer closed"));
    }
}
