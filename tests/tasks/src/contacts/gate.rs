//! The gate before the load: every service gets a database and the same contacts, by its own `PUT`, and has to answer the same to what will
//! be asked of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use futures_util::future::try_join_all;
use reqwest::Method;

use crate::contacts::book::{self, CONNECTIONS};
use workshop_base::wait;
use workshop_harness::failure::Failure;
use workshop_harness::http::{Answer, Body, Client};
use workshop_measure::protocol::experiment::Experiment;
use workshop_measure::protocol::gates::{self, Stage, not_the_same};
use workshop_postgres::datasets::RunDatabase;
use workshop_results::metrics::ROUND_TRIPS;

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
        let judge = async |stages: &[Stage]| Book::of(&stages[0], &book).judge(in_files).await;
        let judged = gates::on_stages(lab.workspace, [&*subject], database.url(), judge).await?;
        let round_trips = judged.round_trips;
        subject
            .constants
            .extend(round_trips.map(|count| (ROUND_TRIPS.to_owned(), count)));
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

/// A service with an empty book.
struct Book<'a> {
    stage: &'a Stage,
    path: &'a str,
    client: Client,
}

/// What a service that does the work has answered.
struct Judged {
    etag: String,
    replaced: u16,
    round_trips: Option<f64>,
}

impl<'a> Book<'a> {
    fn of(stage: &'a Stage, path: &'a str) -> Book<'a> {
        let client = stage.client.without_key();
        let client = client.with("Authorization", Some(&book::basic()));
        Book {
            stage,
            path,
            client,
        }
    }

    /// Fills the book, and asks what the load will ask. Every answer is compared with what is known to be right, so it is the same for all.
    async fn judge(&self, in_files: bool) -> anyhow::Result<Judged> {
        self.fill().await?;
        for number in (0..book::CONTACTS).step_by(7) {
            let answer = self.get(number).await?;
            self.has_status(&answer, "a contact", &[200])?;
            self.is_right(answer.body() == book::new_card(number).as_bytes(), || {
                format!(
                    "contact {number} did not come back byte for byte: {}",
                    answer.text()
                )
            })?;
        }
        let missing = self.get(book::CONTACTS).await?;
        self.has_status(&missing, "a contact that is not there", &[404])?;
        let without = self.client.with("Authorization", None);
        let without = without.get(&book::contact(self.path, 0)).await;
        let without = self.answered(without)?;
        self.has_status(&without, "a request without a password", &[401])?;
        self.has_many().await?;
        let (etag, replaced) = self.writes_under_a_condition().await?;
        Ok(Judged {
            round_trips: match in_files {
                true => None,
                false => Some(self.round_trips().await?),
            },
            etag,
            replaced,
        })
    }

    async fn fill(&self) -> anyhow::Result<()> {
        // A service answers before it has its tables.
        let first = async || match self.put(0, &book::new_card(0), None).await {
            Ok(answer) => answer.status(),
            Err(_) => 0,
        };
        let last =
            wait::last_within(READY_LIMIT, first, |status| [201, 204].contains(status)).await;
        self.is_right([201, 204].contains(&last), || {
            format!(
                "no contact was taken within {} s; the last answer had status {last}",
                READY_LIMIT.as_secs()
            )
        })?;
        let numbers: Vec<usize> = (1..book::CONTACTS).collect();
        for some in numbers.chunks(CONNECTIONS as usize) {
            let puts = some.iter().map(async |number| {
                let answer = self.put(*number, &book::new_card(*number), None).await?;
                self.has_status(&answer, "a new contact", &[201])
            });
            try_join_all(puts).await?;
        }
        Ok(())
    }

    async fn has_many(&self) -> anyhow::Result<()> {
        let body = book::multiget(self.path);
        let body = Body {
            content_type: Some("application/xml; charset=utf-8"),
            bytes: body.as_bytes(),
        };
        let report = Method::from_bytes(b"REPORT")?;
        let answer = self.client.send_body(report, self.path, Some(body)).await;
        let answer = self.answered(answer)?;
        self.has_status(&answer, "a report", &[207])?;
        let cards = (0..book::MANY).map(book::new_card);
        let contained = book::contained(&answer.text(), cards);
        self.is_right(contained == book::MANY, || {
            format!("{contained} of {} contacts were in its report", book::MANY)
        })
    }

    /// The tag of the contact that is written, and the status of its replacement.
    async fn writes_under_a_condition(&self) -> anyhow::Result<(String, u16)> {
        let (written, card) = (book::WRITTEN, book::changed_card());
        let refused = self.put(written, &card, Some(OTHER_TAG)).await?;
        self.has_status(&refused, "a write with a tag out of date", &[412])?;
        let before = self.tag(&self.get(written).await?)?;
        let replaced = self.put(written, &card, Some(&before)).await?;
        self.has_status(&replaced, "a write with the right tag", &[201, 204])?;
        let after = self.get(written).await?;
        let tag = self.tag(&after)?;
        self.is_right(after.body() == card.as_bytes() && tag != before, || {
            format!(
                "the written contact did not come back with another tag: {}",
                after.text()
            )
        })?;
        // The load writes the same text again and again: its tag must not change then.
        let again = self.put(written, &card, Some(&tag)).await?;
        self.has_status(&again, "the same write again", &[replaced.status()])?;
        let same = self.tag(&self.get(written).await?)?;
        self.is_right(same == tag, || {
            format!("the same text got the tags {tag} and {same}")
        })?;
        Ok((tag, replaced.status()))
    }

    /// Per contact that is read.
    async fn round_trips(&self) -> anyhow::Result<f64> {
        let reads = async || {
            for number in 0..book::MANY {
                self.get(number).await?;
            }
            Ok(())
        };
        self.stage.round_trips(book::MANY, reads).await
    }

    async fn get(&self, number: usize) -> anyhow::Result<Answer> {
        let path = book::contact(self.path, number);
        self.answered(self.client.get(&path).await)
    }

    async fn put(
        &self,
        number: usize,
        card: &str,
        if_match: Option<&str>,
    ) -> anyhow::Result<Answer> {
        let body = Body {
            content_type: Some("text/vcard; charset=utf-8"),
            bytes: card.as_bytes(),
        };
        let client = self.client.with("If-Match", if_match);
        let path = book::contact(self.path, number);
        self.answered(client.send_body(Method::PUT, &path, Some(body)).await)
    }

    fn tag(&self, answer: &Answer) -> anyhow::Result<String> {
        let tag = answer.header("ETag");
        tag.map(|tag| tag.into_owned())
            .ok_or_else(|| self.is_wrong("a contact came without an ETag"))
    }

    fn has_status(&self, answer: &Answer, to: &str, right: &[u16]) -> anyhow::Result<()> {
        let status = answer.status();
        self.is_right(right.contains(&status), || {
            format!(
                "{to} was answered with status {status}, not {}: {}",
                right[0],
                answer.text()
            )
        })
    }

    fn is_right(&self, right: bool, else_said: impl FnOnce() -> String) -> anyhow::Result<()> {
        match right {
            true => Ok(()),
            false => Err(self.is_wrong(&else_said())),
        }
    }

    fn answered(&self, answer: Result<Answer, Failure>) -> anyhow::Result<Answer> {
        answer.map_err(|failure| self.is_wrong(&failure.actual))
    }

    fn is_wrong(&self, reason: &str) -> anyhow::Error {
        not_the_same(&self.stage.id, format!("{}: {reason}", self.stage.id))
    }
}
