//! The gate before the load: every service gets the same contacts, by its own `PUT`, and has to answer the same to what will be asked of it.

use std::path::Path;
use std::time::Duration;

use futures_util::future::try_join_all;

use crate::contacts::book::{self, CONNECTIONS};
use workshop_base::wait;
use workshop_carddav::client::{AddressBook, etag, expect_one_of};
use workshop_carddav::multistatus::Multistatus;
use workshop_harness::contract::{Answer, Failure, TestError, TestResult};
use workshop_measure::protocol::gates::{Stage, not_the_same};
use workshop_measure::protocol::subject::Subject;

/// How long a service may take from its first answer to its first contact.
const READY_LIMIT: Duration = Duration::from_secs(15);
/// A tag that no contact has.
const OTHER_TAG: &str = "\"0123456789abcdef\"";
/// The variable by which a service that keeps its contacts in files is told where.
const STORAGE: &str = "STORAGE";

/// Says where the service keeps its contacts, and what ends its start.
pub fn prepare(subject: &mut Subject, scratch: &Path) {
    let book = book::path(subject);
    subject.first_path = Some(book::contact(&book, book::WRITTEN));
    let storage = scratch.join(format!("{}-storage", subject.id()));
    for (name, value) in &mut subject.launch.env {
        if name == STORAGE {
            *value = storage.display().to_string();
        }
    }
}

/// What a service that does the work has answered.
pub struct JudgedService {
    /// The tag of the contact that is written.
    pub etag: String,
    /// The status with which it answers that contact's replacement.
    pub replaced: u16,
    /// The round trips to the database per contact that is read; none where contacts are in files.
    pub round_trips: Option<f64>,
}

/// Fills the empty book of a service, and asks what the load will ask. Every answer is compared with what is known to be right, so
/// it is the same for all.
pub async fn judge(stage: &Stage, subject: &Subject) -> anyhow::Result<JudgedService> {
    let known = AddressBook::known_as(&stage.client, book::credentials());
    let book = known.at(&book::path(subject));
    let wrong = |error| match error {
        TestError::CouldNotJudge(error) => error,
        TestError::Failed(failure) => not_the_same(&stage.id, format!("{}:\n{failure}", stage.id)),
    };
    let (etag, replaced) = answers_right(&book).await.map_err(wrong)?;
    let reads = async || {
        for number in 0..book::MANY {
            let answer = book.get(&book::name(number)).await;
            answer.map_err(|failure| wrong(failure.into()))?;
        }
        Ok(())
    };
    Ok(JudgedService {
        round_trips: match book::is_in_files(subject) {
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
