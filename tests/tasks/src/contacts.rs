//! Contacts (exercise 22): an address book under the published load, 4 requests at a time. One contact is read, many are read at once, and
//! one is written. How far do response times spread, what is left of the CPU's work when the load ends, and how much of it is the database's?
//!
//! Many are read by `addressbook-multiget`, as clients do after a sync. Every address book answers it, with exactly the contacts that were
//! asked for; a search would compare filters, and a `PROPFIND` has no contact in it.

mod book;
mod course;
mod gate;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::sites::{self, Made, SiteRequest};
use crate::tables::contacts::{self as tables, READ_ONE};
use book::CONNECTIONS;
use course::AFTERWARDS;
use gate::JudgedService;
use workshop_measure::protocol::block::{Block, turns};
use workshop_measure::protocol::gates::Stage;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::load::{self, Reading};
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::{Pair, Subject, pairs};
use workshop_measure::tools::oha::{Call, Load, Order};
use workshop_results::file::{Mode, ResultFile};
use workshop_results::key::{
    At, CPU, CPU_PER_REQUEST, DATABASE_CPU, DATABASE_SHARE, Key, MEAN, MEMORY, P10, P25, P50, P75,
    P90, P95, P99, P99_9, PSS, ROUND_TRIPS, SIZE, START_UP, START_UP_CPU, THREADS, THROUGHPUT,
};
use workshop_results::metrics::Definition;

/// The published load: so many requests in all.
const REQUESTS: u64 = 500_000;
/// The longest that those may take; then the service hangs.
const LONGEST: Duration = Duration::from_mins(30);

/// The loads of a block besides the published one.
const READ_MANY: At = At::Load("read_many", "reading a hundred");
const WRITE: At = At::Load("write", "writing one");
/// What is read off each load.
const READINGS: [(Reading, Key); 7] = [
    (Reading::Rate, THROUGHPUT),
    (Reading::Percentile("p99"), P99),
    (Reading::Mean, MEAN),
    (Reading::Percentile("p50"), P50),
    (Reading::Cpu, CPU),
    (Reading::Database, DATABASE_CPU),
    (Reading::DatabaseShare, DATABASE_SHARE),
];
/// How far the latencies of the published one spread.
const SPREAD: [(Reading, Key); 6] = [
    (Reading::Percentile("p10"), P10),
    (Reading::Percentile("p25"), P25),
    (Reading::Percentile("p75"), P75),
    (Reading::Percentile("p90"), P90),
    (Reading::Percentile("p95"), P95),
    (Reading::Percentile("p99.9"), P99_9),
];
/// What is noted of a block as of other services.
const BESIDES: [Key; 8] = [
    START_UP,
    MEMORY,
    CPU_PER_REQUEST,
    THREADS,
    SIZE,
    ROUND_TRIPS,
    PSS,
    START_UP_CPU,
];

/// Measures a target beside the service in Kotlin.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let (mut session, mut subjects) = Session::begin(lab, asked, &asked.task).await?;
    session.header = format!("Authorization: {}", book::basic());
    session.connections = CONNECTIONS;
    let published =
        (asked.mode == Mode::Thorough).then(|| REQUESTS.div_ceil(session.plan.rounds as u64));
    subjects
        .iter_mut()
        .for_each(|subject| gate::prepare(subject, lab.scratch()));
    let make = async |stage: &Stage, subject: &Subject| {
        let judged = gate::judge(stage, subject).await?;
        Ok(Made {
            requests: requests(&session, subject, &judged, published)?,
            round_trips: judged.round_trips,
        })
    };
    let what = format!("{} contacts", book::CONTACTS);
    let sites = sites::open(&session, &mut subjects, &what, make).await?;
    for request in sites.values().take(1).flat_map(|site| &site.requests) {
        let order = request.order(&session, "http://127.0.0.1:PORT");
        println!("the load:  {}", order.typed());
    }

    let database = lab.first_process;
    let mut courses: BTreeMap<String, Vec<Vec<Option<f64>>>> = BTreeMap::new();
    let mut rounds = Vec::new();
    for turn in turns(&session.plan, &subjects) {
        let subject = turn.subject;
        let watch = async |session: &Session<'_>, block: &Block<'_>, order: &Order, at| {
            let pids = block.service().pids();
            let load = load::watched(session, order, &pids, false);
            let afterwards = match at == READ_ONE {
                true => AFTERWARDS,
                false => Duration::ZERO,
            };
            let (seen, course) = course::watched(&pids, database, load, afterwards).await;
            let mut seen = seen?;
            if !book::is_in_files(subject) {
                // Else what the database does meanwhile is housekeeping.
                seen.database = course.by_database();
            }
            if at == READ_ONE && seen.run.gate(order).is_ok() {
                let of_side = courses.entry(subject.id().to_owned()).or_default();
                of_side.push(course.windows());
            }
            Ok(seen)
        };
        let site = &sites[subject.id()];
        rounds.push(sites::block(&mut session, &turn, site, watch).await?);
    }
    let of_duets = of_duets(&pairs(&subjects), &subjects);
    let path = book::any(&book::path(&subjects[0]));
    let duets = session.duets(&subjects, &of_duets, &path).await?;
    session.notes.extend(notes(published, &subjects));
    // A service beside the port that breaks a gate has no value; the claims do not hang on it.
    let decisive = subjects.iter().filter(|subject| !subject.side.peer);
    let found = session
        .judged(&definitions()?, &subjects, rounds, Some(duets))
        .decided_by(&THROUGHPUT.at(READ_ONE), decisive);

    let mut result = session.finish(&subjects, found).await?;
    result.manifest.data_set = "contacts".to_owned();
    result.manifest.rows = book::CONTACTS as u64;
    result.manifest.fingerprint = book::fingerprint();
    result.tables.extend(tables::beside_published(&result));
    result.charts.push(tables::spread(&result));
    let course = tables::course(&result, &course::labels(), &courses);
    result.charts.push(course);
    sites::close(sites).await?;
    Ok(result)
}

/// The metrics, those of the loads first.
fn definitions() -> anyhow::Result<Vec<Definition>> {
    let mut definitions = metrics::of("contacts", [READ_ONE, READ_MANY, WRITE])?;
    definitions.extend(metrics::of("contacts-spread", [READ_ONE])?);
    definitions.extend(metrics::closed_with("load", &BESIDES)?);
    Ok(definitions)
}

/// The pairs whose sides are asked for the same paths.
fn of_duets(pairs: &[Pair], subjects: &[Subject]) -> Vec<Pair> {
    let in_files = |id: &String| {
        let mut subjects = subjects.iter();
        subjects.any(|subject| subject.id() == id && book::is_in_files(subject))
    };
    let pairs = pairs.iter();
    pairs
        .filter(|(side, against)| !in_files(side) && !in_files(against))
        .cloned()
        .collect()
}

fn notes(published: Option<u64>, subjects: &[Subject]) -> Vec<String> {
    let mut notes = vec![
        format!(
            "{} contacts, read at random; a hundred of them by addressbook-multiget; one of them written again and again, with the tag \
             that it has",
            book::CONTACTS
        ),
        "each service has a database of its own on the same PostgreSQL, whose commits wait for the disk"
            .to_owned(),
    ];
    let in_files = subjects.iter().find(|subject| book::is_in_files(subject));
    notes.extend(in_files.map(|subject| {
        format!(
            "{} has files instead, waits for the disk as well, and closes each connection",
            subject.side.label
        )
    }));
    notes.extend(published.map(|requests| {
        format!("the published number of requests: {requests} in each round that read one contact")
    }));
    notes
}

/// What a service is asked in a block, in this order; `published` is the number of requests that read one contact, where there is one.
fn requests(
    session: &Session<'_>,
    subject: &Subject,
    judged: &JudgedService,
    published: Option<u64>,
) -> anyhow::Result<Vec<SiteRequest>> {
    let book = &book::path(subject);
    let length = Duration::from_secs_f64(session.plan.saturation);
    let file = |name: &str, text: &str| {
        let name = format!("{}-{name}", subject.id());
        sites::kept(session.lab.scratch(), &name, text)
    };
    let (load, longest) = match published {
        Some(requests) => (Load::Counted(requests), LONGEST),
        None => (Load::Closed, length),
    };
    let read_one = SiteRequest {
        at: READ_ONE,
        path: book::any(book),
        call: Call::default(),
        load,
        length: longest,
        readings: READINGS.into_iter().chain(SPREAD).collect(),
    };
    let read_many = SiteRequest {
        at: READ_MANY,
        path: book.clone(),
        call: Call {
            method: "REPORT",
            headers: vec!["Content-Type: application/xml; charset=utf-8".to_owned()],
            body: Some(file("multiget.xml", &book::multiget(book))?),
            status: 207,
        },
        load: Load::Closed,
        length,
        readings: READINGS.to_vec(),
    };
    let write = SiteRequest {
        at: WRITE,
        path: book::contact(book, book::WRITTEN),
        call: Call {
            method: "PUT",
            headers: vec![
                "Content-Type: text/vcard; charset=utf-8".to_owned(),
                format!("If-Match: {}", judged.etag),
            ],
            body: Some(file("contact.vcf", &book::changed_card())?),
            status: judged.replaced,
        },
        ..read_many.clone()
    };
    Ok(vec![read_one, read_many, write])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_definition() {
        let defined = definitions().unwrap();
        let loads = [READ_ONE, READ_MANY, WRITE];
        let of_loads = loads.map(|at| READINGS.map(|(_, key)| key.at(at))).concat();
        let spread = SPREAD.map(|(_, key)| key.at(READ_ONE));
        for key in of_loads.into_iter().chain(spread).chain(BESIDES) {
            assert!(defined.iter().any(|known| known.key == key), "{key}");
        }
    }

    #[test]
    fn only_those_with_the_same_paths_play_a_duet() {
        let pair = |side: &str| (side.to_owned(), "solution-22".to_owned());
        let radicale = Subject {
            row: workshop_measure::protocol::rows::Row {
                of: "radicale".to_owned(),
                ..Default::default()
            },
            ..subject("radicale")
        };
        let subjects = [subject("solution-22"), subject("python-contacts"), radicale];
        let pairs = [pair("python-contacts"), pair("radicale")];
        assert_eq!(of_duets(&pairs, &subjects), [pair("python-contacts")]);
    }

    fn subject(id: &str) -> Subject {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        std::fs::write(&program, "").unwrap();
        let language = workshop_base::target::Language::Python;
        let launch = workshop_harness::build::Launch::of(language, id, folder.path(), program);
        Subject::named(id, id, launch, folder.path()).unwrap()
    }
}
