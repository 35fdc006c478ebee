//! Contacts (exercise 16): an address book under the published load, 4 requests at a time. One contact is read, many are read at once, and
//! one is written. How far do response times spread, what is left of the CPU's work when the load ends, and how much of it is the database's?
//!
//! Many are read by `addressbook-multiget`, as clients do after a sync. Every address book answers it, with exactly the contacts that were
//! asked for; a search would compare filters, and a `PROPFIND` has no contact in it.

mod book;
mod course;
mod gate;

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use async_trait::async_trait;

use crate::tables::contacts as tables;
use book::CONNECTIONS;
use course::AFTERWARDS;
use gate::Site;
use workshop_harness::service::Service;
use workshop_measure::protocol::block::{self, Loads, Observed, Reading};
use workshop_measure::protocol::experiment::{Asked, Experiment, Pair, ids, pairs};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::Subject;
use workshop_measure::protocol::warmup;
use workshop_measure::tools::oha::{Call, Load, Order};
use workshop_results::file::{Mode, ResultFile};
use workshop_results::key::{
    At, CPU, CPU_PER_REQUEST, DATABASE_CPU, DATABASE_SHARE, Key, MEAN, MEMORY, P10, P25, P50, P75,
    P90, P95, P99, P99_9, PSS, ROUND_TRIPS, SIZE, START_UP, START_UP_CPU, THREADS, THROUGHPUT,
    UNSTEADY,
};
use workshop_results::metrics::Definition;

/// The published load: so many requests in all.
const REQUESTS: u64 = 500_000;
/// The longest that those may take; then the service hangs.
const LONGEST: Duration = Duration::from_mins(30);

/// The loads of a block, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    ReadOne,
    ReadMany,
    Write,
}

/// What their metrics' keys end in, and how that is said.
const KINDS: [(Kind, At); 3] = [
    (Kind::ReadOne, tables::READ_ONE),
    (Kind::ReadMany, At::Load("read_many", "reading a hundred")),
    (Kind::Write, At::Load("write", "writing one")),
];
/// What is read off each of them.
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
    let mut experiment = Experiment::begin(lab, asked, &asked.task).await?;
    experiment.session.header = format!("Authorization: {}", book::basic());
    experiment.connections = CONNECTIONS;
    let mut loads = Books {
        sites: gate::open(&mut experiment).await?,
        published: (asked.mode == Mode::Thorough)
            .then(|| REQUESTS.div_ceil(experiment.session.plan.rounds as u64)),
        length: Duration::from_secs_f64(experiment.session.plan.saturation),
        database: lab.first_process().await,
        courses: BTreeMap::new(),
    };
    let subjects = experiment.subjects.clone();
    loads.show(&experiment.session, &subjects[0])?;

    let records = experiment.rounds(&subjects, &mut loads).await?;
    let pairs = pairs(&subjects);
    let path = book::any(&book::path(&subjects[0]));
    experiment
        .duets(&of_duets(&pairs, &subjects), &path)
        .await?;
    experiment.judge(&definitions()?, &records, &pairs);
    // A service beside the port that breaks a gate has no value; the claims do not hang on it.
    let decisive = subjects.iter().filter(|subject| !subject.side.peer);
    let decisive: Vec<Subject> = decisive.cloned().collect();
    experiment.decide(&THROUGHPUT.at(tables::READ_ONE), &ids(&decisive));
    experiment.notes.extend(notes(&loads, &subjects));

    let mut result = experiment.finish().await?;
    result.manifest.data_set = "contacts".to_owned();
    result.manifest.rows = book::CONTACTS as u64;
    result.manifest.fingerprint = book::fingerprint();
    result.tables.extend(tables::beside_published(&result));
    result.charts.push(tables::spread(&result));
    result
        .charts
        .push(tables::course(&result, &course::labels(), &loads.courses));
    for site in loads.sites.into_values() {
        site.database.remove().await?;
    }
    Ok(result)
}

/// The metrics, those of the loads first.
fn definitions() -> anyhow::Result<Vec<Definition>> {
    let mut definitions = of_loads()?;
    definitions.extend(metrics::closed_with("load", &BESIDES)?);
    Ok(definitions)
}

fn of_loads() -> anyhow::Result<Vec<Definition>> {
    let mut definitions = metrics::of("contacts", KINDS.map(|(_, at)| at))?;
    definitions.extend(metrics::of("contacts-spread", [tables::READ_ONE])?);
    Ok(definitions)
}

/// What is read off a load.
fn readings(kind: Kind) -> Vec<(Reading, Key)> {
    let spread = SPREAD.into_iter().filter(|_| kind == Kind::ReadOne);
    READINGS.into_iter().chain(spread).collect()
}

/// The keys of all loads.
fn keys() -> Vec<Key> {
    let of_kind = |(kind, at)| readings(kind).into_iter().map(move |(_, key)| key.at(at));
    KINDS.into_iter().flat_map(of_kind).collect()
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

fn notes(loads: &Books, subjects: &[Subject]) -> Vec<String> {
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
    notes.extend(loads.published.map(|requests| {
        format!("the published number of requests: {requests} in each round that read one contact")
    }));
    notes
}

/// The address books, and the loads that are put on them.
struct Books {
    sites: BTreeMap<String, Site>,
    /// The requests of a round that read one contact, where there is a number of them.
    published: Option<u64>,
    length: Duration,
    /// The first process of PostgreSQL, where it is known.
    database: Option<u32>,
    /// What each side took of the CPU around the end of the load that read one contact, a line for each block.
    courses: BTreeMap<String, Vec<Vec<Option<f64>>>>,
}

impl Books {
    fn site(&self, subject: &Subject) -> anyhow::Result<&Site> {
        let site = self.sites.get(subject.id());
        site.with_context(|| format!("{} has no address book", subject.id()))
    }

    /// The path of a load, and what it asks.
    fn call(&self, site: &Site, kind: Kind) -> (String, Call) {
        match kind {
            Kind::ReadOne => (book::any(&site.book), Call::default()),
            Kind::ReadMany => {
                let call = Call {
                    method: "REPORT",
                    headers: vec!["Content-Type: application/xml; charset=utf-8".to_owned()],
                    body: Some(site.multiget.clone()),
                    status: 207,
                };
                (site.book.clone(), call)
            }
            Kind::Write => {
                let call = Call {
                    method: "PUT",
                    headers: vec![
                        "Content-Type: text/vcard; charset=utf-8".to_owned(),
                        format!("If-Match: {}", site.etag),
                    ],
                    body: Some(site.card.clone()),
                    status: site.replaced,
                };
                (book::contact(&site.book, book::WRITTEN), call)
            }
        }
    }

    fn order(&self, session: &Session<'_>, site: &Site, base_url: &str, kind: Kind) -> Order {
        let (path, call) = self.call(site, kind);
        let (load, duration) = match self.published.filter(|_| kind == Kind::ReadOne) {
            Some(requests) => (Load::Counted(requests), LONGEST),
            None => (Load::Closed, self.length),
        };
        Order {
            url: format!("{base_url}{path}"),
            header: session.header.clone(),
            call,
            connections: CONNECTIONS,
            duration,
            load,
        }
    }

    /// Shows the raw commands.
    fn show(&self, session: &Session<'_>, subject: &Subject) -> anyhow::Result<()> {
        let site = self.site(subject)?;
        for (kind, _) in KINDS {
            let order = self.order(session, site, "http://127.0.0.1:PORT", kind);
            println!("the load:  {}", order.typed());
        }
        Ok(())
    }

    /// A JVM has compiled what it needs for reading one contact, and nothing of the other loads.
    async fn warm_up_for(
        session: &Session<'_>,
        subject: &Subject,
        pids: &[u32],
        order: &Order,
        observed: &mut Observed,
    ) -> anyhow::Result<()> {
        let limits = session.plan.short_warm_up_of(subject.runs_as);
        // A warm-up that breaks a gate is followed by a load that does.
        let warmed_up = warmup::run(&session.oha, order, pids, &limits).await?;
        let unsteady = warmed_up.is_ok_and(|warmed_up| warmed_up.steady_after_s.is_none());
        if unsteady && subject.runs_as.compiles_under_load() {
            observed.value(UNSTEADY, Some(1.0));
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl Loads for Books {
    fn path(&self) -> &str {
        "/"
    }

    fn warm_up(
        &self,
        session: &Session<'_>,
        subject: &Subject,
        service: &Service,
        window: Duration,
    ) -> Order {
        Order {
            connections: CONNECTIONS,
            ..session.order(
                &book::any(&book::path(subject)),
                service,
                window,
                Load::Closed,
            )
        }
    }

    fn keys(&self, _subject: &Subject) -> Vec<Key> {
        keys()
    }

    async fn put_on(
        &mut self,
        session: &mut Session<'_>,
        subject: &Subject,
        service: &Service,
        observed: &mut Observed,
        title: &str,
    ) -> anyhow::Result<()> {
        let pids = service.pids();
        for (kind, at) in KINDS {
            let (site, words) = (self.site(subject)?, at.words());
            let order = self.order(session, site, service.base_url(), kind);
            let afterwards = match kind {
                Kind::ReadOne => AFTERWARDS,
                Kind::ReadMany | Kind::Write => {
                    session
                        .progress
                        .phase(&format!("{title}: warming up for {words}"));
                    Books::warm_up_for(session, subject, &pids, &order, observed).await?;
                    Duration::ZERO
                }
            };
            session
                .progress
                .phase(&format!("{title}: {words}, {}", order.load));
            let load = block::watched(session, &order, &pids, false);
            let (seen, course) = course::watched(&pids, self.database, load, afterwards).await;
            let mut seen = seen?;
            if !book::is_in_files(subject) {
                // Else what the database does meanwhile is housekeeping.
                seen.database = course.by_database();
            }
            if !seen.note(&order, &readings(kind), Some(at), observed) {
                continue;
            }
            observed.most(THREADS, seen.of(Reading::Threads));
            if kind == Kind::ReadOne {
                let courses = self.courses.entry(subject.id().to_owned()).or_default();
                courses.push(course.windows());
            }
        }
        // What the writes have left behind is nothing for the next block.
        let mut connection = self.site(subject)?.database.connect().await?;
        sqlx::query("VACUUM").execute(&mut connection).await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_definition() {
        let defined = definitions().unwrap();
        for key in keys().into_iter().chain(BESIDES) {
            assert!(defined.iter().any(|known| known.key == key), "{key}");
        }
    }

    #[test]
    fn only_those_with_the_same_paths_play_a_duet() {
        let pair = |side: &str| (side.to_owned(), "solution-16".to_owned());
        let radicale = Subject {
            row: workshop_measure::protocol::rows::Row {
                of: "radicale".to_owned(),
                ..Default::default()
            },
            ..subject("radicale")
        };
        let subjects = [subject("solution-16"), subject("python-contacts"), radicale];
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
