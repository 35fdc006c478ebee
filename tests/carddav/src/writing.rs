//! Tests: contacts are written and deleted under the conditions that clients name, and nobody overwrites what they have not seen.

use std::time::Duration;

use sqlx::{Connection, PgConnection, Row};

use crate::cards::card;
use crate::client::{AddressBook, card_element, etag, path, prop};
use crate::multistatus::{CARDDAV, Multistatus, expect_rule};
use workshop_base::wait;
use workshop_harness::contract::{
    Answer, Context, Failure, TestError, TestResult, expect, has_status,
};

/// How often two write at once.
const ROUNDS: usize = 100;
/// The longest that a request may take to get to the database's lock.
const ARRIVES_WITHIN: Duration = Duration::from_secs(1);

pub async fn a_put_creates_and_replaces(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let created = ada.put("put.vcf", &card("put", "First")).await?;
    let first = etag(created.expect_status(201)?)?;
    let replaced = ada.put("put.vcf", &card("put", "Second")).await?;
    let second = etag(replaced.expect_status(204)?)?;
    expect(first != second, "another ETag for another text", &*second)?;
    let answer = ada.get("put.vcf").await?;
    answer.expect_status(200)?.expect_header("ETag", &second)?;
    Ok(())
}

/// Puts a text under a condition that does not hold, and sees that nothing has changed.
async fn expect_refused(
    ada: &AddressBook,
    header: &'static str,
    value: &str,
    name: &str,
) -> TestResult {
    let before = ada.get(name).await?;
    let refused = ada
        .with(header, value)
        .put(name, &card("refused", "Refused"))
        .await?;
    refused.expect_status(412)?;
    let after = ada.get(name).await?;
    after.expect(
        after.status() == before.status() && after.body() == before.body(),
        format!("status {} as before, and the same body", before.status()),
        format!("status {}, body {}", after.status(), after.text()),
    )?;
    Ok(())
}

pub async fn a_put_can_name_the_tag(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let name = "tagged.vcf";
    for (header, value) in [("If-Match", "*"), ("If-Match", r#""other""#)] {
        expect_refused(&ada, header, value, name).await?;
    }
    let created = ada
        .with("If-None-Match", "*")
        .put(name, &card("tagged", "1"))
        .await?;
    let first = etag(created.expect_status(201)?)?;
    let weak = format!("W/{first}");
    for (header, value) in [
        ("If-None-Match", "*"),
        ("If-None-Match", &first),
        ("If-Match", r#""other""#),
        ("If-Match", &weak),
        // Nothing is called a star.
        ("If-Match", r#""*""#),
    ] {
        expect_refused(&ada, header, value, name).await?;
    }
    let mut tag = first.clone();
    for (number, condition) in ["{}", r#""other", {}"#, r#""a,b",W/"c" ,{}"#, "*"]
        .iter()
        .enumerate()
    {
        let condition = condition.replace("{}", &tag);
        let text = card("tagged", &format!("Version {number}"));
        let replaced = ada.with("If-Match", &condition).put(name, &text).await?;
        tag = etag(replaced.expect_status(204)?)?;
    }
    expect_refused(&ada, "If-Match", &first, name).await?;
    let malformed = ada
        .with("If-Match", "no quotes")
        .put(name, &card("tagged", "2"))
        .await?;
    malformed.expect_status(400)?;
    Ok(())
}

/// Sends two requests at the same time, and gives their statuses, the smaller one first.
async fn both(
    one: impl Future<Output = Result<Answer, Failure>>,
    two: impl Future<Output = Result<Answer, Failure>>,
) -> Result<([Answer; 2], [u16; 2]), Failure> {
    let (one, two) = tokio::join!(one, two);
    let answers = [one?, two?];
    let mut statuses = [answers[0].status(), answers[1].status()];
    statuses.sort_unstable();
    Ok((answers, statuses))
}

/// One of two has got through with this status, and what it has written is what is there.
async fn expect_one_winner(
    ada: &AddressBook,
    name: &str,
    answers: &[Answer; 2],
    statuses: [u16; 2],
    winner: u16,
) -> Result<String, Failure> {
    let expected = format!("one {winner} and one 412 for two requests with the same condition");
    if statuses != [winner, 412] {
        return Err(Failure::new(expected, format!("{statuses:?}")));
    }
    let tags = answers
        .iter()
        .filter(|answer| answer.status() == winner)
        .map(etag);
    let tag = tags.collect::<Result<Vec<String>, Failure>>()?.concat();
    let there = ada.get(name).await?;
    there.expect_status(200)?.expect_header("ETag", &tag)?;
    Ok(tag)
}

pub async fn of_two_writers_with_the_same_tag_one_wins(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let name = "raced.vcf";
    let mut tag = ada.keep(name, &card("raced", "Start")).await?;
    for round in 0..ROUNDS {
        let with_tag = ada.with("If-Match", &tag);
        let texts = ["left", "right"].map(|side| card("raced", &format!("{side} {round}")));
        let (answers, statuses) =
            both(with_tag.put(name, &texts[0]), with_tag.put(name, &texts[1])).await?;
        tag = expect_one_winner(&ada, name, &answers, statuses, 204).await?;
    }
    Ok(())
}

pub async fn of_two_that_create_one_does(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let if_new = ada.with("If-None-Match", "*");
    for round in 0..ROUNDS / 4 {
        let name = format!("created-{round}.vcf");
        let texts = ["left", "right"].map(|side| card(&name, &format!("{side} {round}")));
        let (answers, statuses) =
            both(if_new.put(&name, &texts[0]), if_new.put(&name, &texts[1])).await?;
        expect_one_winner(&ada, &name, &answers, statuses, 201).await?;
    }
    Ok(())
}

/// How many of the service's sessions wait for a lock.
async fn waiting(database: &mut PgConnection) -> sqlx::Result<i64> {
    sqlx::query(
        "SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
    .fetch_one(database)
    .await?
    .try_get(0)
}

/// Waits until so many requests wait for a lock; or until they had time enough, since each service locks in its own way.
pub async fn until_waiting(database: &mut PgConnection, wanted: i64) -> sqlx::Result<i64> {
    let look = async || waiting(database).await;
    let is_so = |seen: &sqlx::Result<i64>| !matches!(seen, Ok(number) if *number < wanted);
    wait::last_within(ARRIVES_WITHIN, look, is_so).await
}

pub async fn two_writers_that_wait_for_each_other_lose_nothing(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let name = "waited-for.vcf";
    let tag = ada.keep(name, &card("waited-for", "Start")).await?;
    let with_tag = ada.with("If-Match", &tag);
    let texts = ["left", "right"].map(|side| card("waited-for", side));
    let mut database = context.database.lock().await;
    // While the row is locked, both come as far as they get: none of them can have written when the other one asks.
    let mut lock = database.begin().await?;
    sqlx::query("SELECT FROM contacts WHERE owner = 'ada' AND name = $1 FOR UPDATE")
        .bind(name)
        .execute(&mut *lock)
        .await?;
    let release = async {
        until_waiting(&mut lock, 2).await?;
        lock.rollback().await
    };
    let writing = both(with_tag.put(name, &texts[0]), with_tag.put(name, &texts[1]));
    let (written, released) = tokio::join!(writing, release);
    released?;
    let (answers, statuses) = written?;
    expect_one_winner(&ada, name, &answers, statuses, 204).await?;
    Ok::<(), TestError>(())
}

pub async fn a_delete_can_name_the_tag(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let name = "deleted.vcf";
    let old = ada.keep(name, &card("deleted", "1")).await?;
    let tag = ada.keep(name, &card("deleted", "2")).await?;
    for condition in [&*old, r#""other""#] {
        ada.with("If-Match", condition)
            .delete(name)
            .await?
            .expect_status(412)?;
        has_status(200)(&ada.get(name).await?)?;
    }
    ada.with("If-Match", &tag)
        .delete(name)
        .await?
        .expect_status(204)?;
    has_status(404)(&ada.get(name).await?)?;
    has_status(404)(&ada.delete(name).await?)?;
    ada.keep(name, &card("deleted", "3")).await?;
    ada.with("If-Match", "*")
        .delete(name)
        .await?
        .expect_status(204)?;
    ada.keep(name, &card("deleted", "4")).await?;
    ada.delete(name).await?.expect_status(204)?;
    Ok(())
}

/// A client that asks for many contacts is told that this one is not there.
async fn expect_missing(ada: &AddressBook, name: &str) -> TestResult {
    let path = path(name);
    let href = format!("{}<D:href>{path}</D:href>", prop(&["D:getetag"]));
    let answer = ada
        .report(&card_element("addressbook-multiget", &href))
        .await?;
    let status = Multistatus::of(&answer)?.at(&path)?.status;
    expect(
        status == Some(404),
        format!("404 for {path}"),
        format!("{status:?}"),
    )
}

pub async fn a_deleted_contact_can_be_created_again(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let name = "again.vcf";
    let tag = ada.keep(name, &card("again", "1")).await?;
    ada.delete(name).await?.expect_status(204)?;
    expect_missing(&ada, name).await?;
    // What is gone has no tag any more, and its UID is free.
    ada.with("If-Match", &tag)
        .put(name, &card("again", "2"))
        .await?
        .expect_status(412)?;
    ada.with("If-Match", "*")
        .put(name, &card("again", "2"))
        .await?
        .expect_status(412)?;
    let elsewhere = ada.put("again-elsewhere.vcf", &card("again", "3")).await?;
    elsewhere.expect_status(201)?;
    let if_new = ada.with("If-None-Match", "*");
    if_new
        .put(name, &card("again-2", "4"))
        .await?
        .expect_status(201)?;
    has_status(200)(&ada.get(name).await?)?;
    Ok(())
}

pub async fn a_uid_belongs_to_one_contact(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    ada.keep("uid-1.vcf", &card("shared", "First")).await?;
    ada.keep("uid-2.vcf", &card("own", "Second")).await?;
    for name in ["uid-2.vcf", "uid-3.vcf"] {
        let answer = ada.put(name, &card("shared", "Third")).await?;
        expect_rule(&answer, 409, CARDDAV, "no-uid-conflict")?;
        let text = answer.text();
        let holder = path("uid-1.vcf");
        answer.expect(
            text.contains(&holder),
            format!("the path {holder}"),
            format!("body {text}"),
        )?;
    }
    has_status(404)(&ada.get("uid-3.vcf").await?)?;
    let second = ada.get("uid-2.vcf").await?;
    second.expect(
        second.text().contains("Second"),
        "the contact as it was",
        second.text(),
    )?;
    // The condition is judged first, and a contact may get another UID.
    let refused = ada
        .with("If-None-Match", "*")
        .put("uid-2.vcf", &card("shared", "Third"))
        .await?;
    refused.expect_status(412)?;
    ada.put("uid-2.vcf", &card("another", "Second"))
        .await?
        .expect_status(204)?;
    // Grace has a book of her own.
    Ok(())
}
