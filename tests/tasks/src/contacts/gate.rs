//! The gate before the load: every service gets a database and the same contacts, by its own `PUT`, and has to answer the same to what will
//! be asked of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use futures_util::future::try_join_all;

use crate::contacts::book::{self, CONNECTIONS};
use workshop_base::wait;
use workshop_carddav::client::{AddressBook, etag, expect_one_of};
use workshop_carddav::multistatus::Multistatus;
use workshop_harness::contract::{Answer, Failure, TestError, TestResult};
use workshop_measure::protocol::experiment::Experiment;
use workshop_measure::protocol::gates::{self, Stage, not_the_same};
use workshop_postgres::datasets::RunDatabase;
use workshop_results::key::ROUND_TRIPS;

/// How long a service may take from its first answer to its first contact.
const READY_LIMIT: Duration = Duration::from_secs(15);
/// A tag that no contact has.
const OTHER_TAG: &str = "\"0123456789abcdef\"";
/// The variable by which a service that keeps its contacts in files is told where.
const STORAGE: &str = "STORAGE";

/// Where a service keeps its contacts, and what the load has to know of it.
#[derive(Debug)]
pub struct Site {
    /// Its database; one that uses none has an empty one.
    pub database: RunDatabase,
    /// Its book.
    pub book: String,
    /// The tag of the contact that is written.
    pub etag: String,
    /// The status with which it answers that contact's replacement.
    pub replaced: u16,
    /// The file with the contact that is written.
    pub card: PathBuf,
    /// The file with the report that asks for many.
    pub multiget: PathBuf,
}

/// Gives every service its contacts, and compares their answers with those of the first.
pub async fn open(experiment: &mut Experiment<'_>) -> anyhow::Result<BTreeMap<String, Site>> {
    let (mut sites, lab) = (BTreeMap::new(), experiment.lab);
    for subject in &mut experiment.subjects {
        let id = subject.id().to_owned();
        let part = format!("{id}: {} contacts, and the same work?", book::CONTACTS);
        experiment.session.progress.part(&part);
        let database = RunDatabase::durable(&lab.server).await?;
        let book = book::path(subject);
        subject.database_url = Some(database.url().to_owned());
        subject.first_path = Some(book::contact(&book, book::WRITTEN));
        let storage = lab.scratch().join(format!("{id}-storage"));
        for (name, value) in &mut subject.launch.env {
            if name == STORAGE {
                *value = storage.display().to_string();
            }
        }
        let in_files = book::is_in_files(subject);
        let judge = async |stages: &[Stage]| {
            let stage = &stages[0];
            let known = AddressBook::known_as(&stage.client, &book::credentials());
            judge(stage, &known.at(&book), in_files).await
        };
        let judged = gates::on_stages(lab.workspace, [&*subject], database.url(), judge).await?;
        let round_trips = judged.round_trips;
        subject
            .constants
            .extend(round_trips.map(|count| (ROUND_TRIPS, count)));
        let file = |name: &str, text: &str| kept(lab.scratch(), &format!("{id}-{name}"), text);
        let site = Site {
            card: file("contact.vcf", &book::changed_card())?,
            multiget: file("multiget.xml", &book::multiget(&book))?,
            etag: judged.etag,
            replaced: judged.replaced,
            database,
            book,
        };
        sites.insert(id, site);
    }
    Ok(sites)
}

fn kept(folder: &Path, name: &str, text: &str) -> anyhow::Result<PathBuf> {
    let path = folder.join(name);
    std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// What a service that does the work has answered.
struct Judged {
    etag: String,
    replaced: u16,
    round_trips: Option<f64>,
}

/// Fills the empty book of a service, and asks what the load will ask. Every answer is compared with what is known to be right, so
/// it is the same for all.
async fn judge(stage: &Stage, book: &AddressBook, in_files: bool) -> anyhow::Result<Judged> {
    let wrong = |error| match error {
        TestError::CouldNotJudge(error) => error,
        TestError::Failed(failure) => not_the_same(&stage.id, format!("{}:\n{failure}", stage.id)),
    };
    let (etag, replaced) = answers_right(book).await.map_err(wrong)?;
    // Per contact that is read.
    let reads = async || {
        for number in 0..book::MANY {
            let answer = book.get(&book::name(number)).await;
            answer.map_err(|failure| wrong(failure.into()))?;
        }
        Ok(())
    };
    Ok(Judged {
        round_trips: match in_files {
            true => None,
            false => Some(stage.round_trips(book::MANY, reads).await?),
        },
        etag,
        replaced,
    })
}

/// The tag of the contact that is written, and the status of its replacement.
async fn answers_right(book: &AddressBook) -> Result<(String, u16), TestError> {
    fill(book).await?;
    for number in (0..book::CONTACTS).step_by(7) {
        let answer = book.get(&book::name(number)).await?;
        let same = answer.body() == book::new_card(number).as_bytes();
        let answer = answer.expect_status(200)?;
        answer.expect(same, "the contact byte for byte", answer.text())?;
    }
    book.expect(404, &book::name(book::CONTACTS)).await?;
    let stranger = book.client.with("Authorization", None);
    let stranger = stranger.get(&book::contact(&book.path, 0)).await?;
    stranger.expect_status(401)?;
    has_many(book).await?;
    writes_under_a_condition(book).await
}

async fn fill(book: &AddressBook) -> TestResult {
    let put = async |number| book.put(&book::name(number), &book::new_card(number)).await;
    // A service answers before it has its tables.
    let taken = |answer: &Result<Answer, Failure>| {
        let answer = answer.as_ref();
        answer.is_ok_and(|answer| [201, 204].contains(&answer.status()))
    };
    let first = wait::last_within(READY_LIMIT, async || put(0).await, taken).await?;
    expect_one_of(&first, [201, 204])?;
    let numbers: Vec<usize> = (1..book::CONTACTS).collect();
    for some in numbers.chunks(CONNECTIONS as usize) {
        for answer in try_join_all(some.iter().copied().map(put)).await? {
            answer.expect_status(201)?;
        }
    }
    Ok(())
}

async fn has_many(book: &AddressBook) -> TestResult {
    let answer = book.report(&book::multiget(&book.path)).await?;
    let told = Multistatus::of(&answer)?;
    for number in 0..book::MANY {
        let contact = told.at(&book::contact(&book.path, number))?;
        // Who writes XML may write a carriage return as a reference, as itself, or not at all.
        let text = contact.text("C:address-data")?.replace('\r', "");
        let whole = text.trim() == book::new_card(number).replace('\r', "").trim();
        answer.expect(whole, format!("contact {number} as it was put"), text)?;
    }
    Ok(())
}

async fn writes_under_a_condition(book: &AddressBook) -> Result<(String, u16), TestError> {
    let (written, card) = (book::name(book::WRITTEN), book::changed_card());
    let put = async |tag| book.if_match(tag).put(&written, &card).await;
    put(OTHER_TAG).await?.expect_status(412)?;
    let before = etag(&book.get(&written).await?)?;
    let replaced = put(&before).await?;
    expect_one_of(&replaced, [201, 204])?;
    let after = book.get(&written).await?;
    let tag = etag(&after)?;
    let changed = after.body() == card.as_bytes() && tag != before;
    after.expect(changed, "the new text with another tag", after.text())?;
    // The load writes the same text again and again: its tag must not change then.
    put(&tag).await?.expect_status(replaced.status())?;
    let same = book.get(&written).await?;
    same.expect_header("ETag", &tag)?;
    Ok((tag, replaced.status()))
}
