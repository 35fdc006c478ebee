//! Tests: contacts are written and deleted under the conditions that clients name, and no client overwrites what it hasn't seen.

use std::collections::BTreeSet;

use sqlx::Connection;

use crate::book::{moved_by, path};
use crate::cards::card;
use crate::client::{AddressBook, etag};
use crate::multistatus::expect_rule;
use workshop_harness::contract::{Answer, Context, Failure, TestResult, expect, expect_eq};
use workshop_harness::silence::wait_for_waiting;

/// How often two clients write at once.
const ROUNDS: usize = 100;

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

/// Puts a text under a condition that does not hold, and checks that nothing has changed.
async fn expect_refused(
    ada: &AddressBook,
    header: &'static str,
    value: &str,
    name: &str,
) -> TestResult {
    let before = ada.get(name).await?;
    let card = card(name.trim_end_matches(".vcf"), "Refused");
    let refused = ada.with(header, value).put(name, &card).await?;
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
    for value in ["*", r#""other""#] {
        expect_refused(&ada, "If-Match", value, name).await?;
    }
    let if_new = ada.if_none_match("*");
    let created = if_new.put(name, &card("tagged", "1")).await?;
    let first = etag(created.expect_status(201)?)?;
    for (header, value) in [
        ("If-None-Match", "*"),
        ("If-None-Match", &*first),
        ("If-Match", r#""other""#),
        // No tag is a star.
        ("If-Match", r#""*""#),
    ] {
        expect_refused(&ada, header, value, name).await?;
    }
    let mut tag = first.clone();
    // A proxy that compresses makes a tag weak (koreader #15707, nextcloud/server #7793). It still names one text.
    for condition in ["{}", r#""other", {}"#, r#""a,b",W/"c" ,{}"#, "W/{}", "*"] {
        let text = card("tagged", &format!("Version after {tag}"));
        let if_same = ada.if_match(&condition.replace("{}", &tag));
        let replaced = if_same.put(name, &text).await?;
        tag = etag(replaced.expect_status(204)?)?;
    }
    expect_refused(&ada, "If-Match", &first, name).await?;
    let malformed = ada.if_match("no quotes");
    let malformed = malformed.put(name, &card("tagged", "2")).await?;
    malformed.expect_status(400)?;
    Ok(())
}

pub async fn a_put_can_name_the_tag_as_webdav_does(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let name = "listed.vcf";
    let lock = "<opaquelocktoken:e71d4fae-5dec-22d6-fea5-00a0c91e6be4>";
    expect_refused(&ada, "If", r#"(["other"])"#, name).await?;
    let mut tag = ada.keep(name, &card("listed", "1")).await?;
    for condition in [
        r#"(["other"])"#,
        "({lock})",
        "({lock} [{tag}])",
        "({lock} [{tag}]) ({lock})",
        "</elsewhere> ([{tag}])",
        // A condition that isn't understood doesn't hold.
        "([{tag}",
        "([*])",
        "{tag}",
    ] {
        let condition = condition.replace("{lock}", lock).replace("{tag}", &tag);
        expect_refused(&ada, "If", &condition, name).await?;
    }
    for condition in [
        "([{tag}])",
        r#"(["other"]) ([{tag}])"#,
        "({lock})( [W/{tag}] )",
    ] {
        let condition = condition.replace("{lock}", lock).replace("{tag}", &tag);
        let text = card("listed", &format!("Version after {tag}"));
        let replaced = ada.with("If", &condition).put(name, &text).await?;
        tag = etag(replaced.expect_status(204)?)?;
    }
    // Both headers apply.
    let same = format!("([{tag}])");
    expect_refused(&ada.with("If", &same), "If-Match", r#""other""#, name).await?;
    let refused = ada.with("If", r#"(["other"])"#).delete(name).await?;
    refused.expect_status(412)?;
    let deleted = ada.if_match("*").with("If", &same).delete(name).await?;
    deleted.expect_status(204)?;
    Ok(())
}

/// Puts two texts at the same time, under the same condition.
async fn put_both(
    ada: &AddressBook,
    name: &str,
    uid: &str,
    round: usize,
) -> Result<[Answer; 2], Failure> {
    let [left, right] = ["left", "right"].map(|side| card(uid, &format!("{side} {round}")));
    let (left, right) = tokio::join!(ada.put(name, &left), ada.put(name, &right));
    Ok([left?, right?])
}

/// Expects that one of two requests succeeded with this status, and that its text is stored. Returns its tag.
async fn expect_one_winner(
    ada: &AddressBook,
    name: &str,
    answers: [Answer; 2],
    winner: u16,
) -> Result<String, Failure> {
    let statuses = answers.each_ref().map(Answer::status);
    let [first, second] = &answers;
    let won = match statuses {
        [status, 412] if status == winner => first,
        [412, status] if status == winner => second,
        _ => {
            let expected =
                format!("one {winner} and one 412 for two requests with the same condition");
            return Err(Failure::new(expected, format!("{statuses:?}")));
        }
    };
    let tag = etag(won)?;
    let there = ada.get(name).await?;
    there.expect_status(200)?.expect_header("ETag", &tag)?;
    Ok(tag)
}

pub async fn of_two_writers_with_the_same_tag_one_wins(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let name = "raced.vcf";
    let mut tag = ada.keep(name, &card("raced", "Start")).await?;
    for round in 0..ROUNDS {
        let answers = put_both(&ada.if_match(&tag), name, "raced", round).await?;
        tag = expect_one_winner(&ada, name, answers, 204).await?;
    }
    Ok(())
}

pub async fn of_two_that_create_one_does(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    for round in 0..ROUNDS / 4 {
        let name = format!("created-{round}.vcf");
        let answers = put_both(&ada.if_none_match("*"), &name, &name, round).await?;
        expect_one_winner(&ada, &name, answers, 201).await?;
    }
    Ok(())
}

pub async fn two_writers_that_wait_for_each_other_lose_nothing(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let name = "waited-for.vcf";
    let tag = ada.keep(name, &card("waited-for", "Start")).await?;
    let mut database = context.database.lock().await;
    // While the row is locked, both get as far as they can: neither can have written when the other one reads.
    let mut lock = database.begin().await?;
    sqlx::query("SELECT FROM contacts WHERE owner = 'ada' AND name = $1 FOR UPDATE")
        .bind(name)
        .execute(&mut *lock)
        .await?;
    let release = async {
        wait_for_waiting(&mut lock, 2..).await?;
        lock.rollback().await
    };
    let if_same = ada.if_match(&tag);
    let (written, released) = tokio::join!(put_both(&if_same, name, "waited-for", 0), release);
    released?;
    expect_one_winner(&ada, name, written?, 204).await?;
    Ok(())
}

pub async fn a_delete_can_name_the_tag(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let name = "deleted.vcf";
    let old = ada.keep(name, &card("deleted", "1")).await?;
    let tag = ada.keep(name, &card("deleted", "2")).await?;
    for other in [&*old, r#""other""#] {
        let refused = ada.if_match(other).delete(name).await?;
        refused.expect_status(412)?;
        ada.expect(200, name).await?;
    }
    let deleted = ada.if_match(&tag).delete(name).await?;
    deleted.expect_status(204)?;
    ada.expect(404, name).await?;
    ada.delete(name).await?.expect_status(404)?;
    ada.keep(name, &card("deleted", "3")).await?;
    let deleted = ada.if_match("*").delete(name).await?;
    deleted.expect_status(204)?;
    ada.keep(name, &card("deleted", "4")).await?;
    ada.delete(name).await?.expect_status(204)?;
    Ok(())
}

pub async fn a_deleted_contact_can_be_created_again(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let name = "again.vcf";
    let tag = ada.keep(name, &card("again", "1")).await?;
    ada.delete(name).await?.expect_status(204)?;
    // A client that requests many contacts learns that this one doesn't exist.
    let missing = ada.multiget("D:getetag", &[&path(name)]).await?;
    missing.contact(name)?.expect_status(404)?;
    // A deleted contact no longer has a tag, and its UID is free.
    for gone in [&*tag, "*"] {
        let refused = ada.if_match(gone).put(name, &card("again", "2")).await?;
        refused.expect_status(412)?;
    }
    let elsewhere = ada.put("again-elsewhere.vcf", &card("again", "3")).await?;
    elsewhere.expect_status(201)?;
    let if_new = ada.if_none_match("*");
    let again = if_new.put(name, &card("again-2", "4")).await?;
    again.expect_status(201)?;
    ada.expect(200, name).await
}

pub async fn a_uid_belongs_to_one_contact(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    ada.keep("uid-1.vcf", &card("shared", "First")).await?;
    ada.keep("uid-2.vcf", &card("own", "Second")).await?;
    let third = card("shared", "Third");
    for name in ["uid-2.vcf", "uid-3.vcf"] {
        let answer = ada.put(name, &third).await?;
        let (text, holder) = (answer.text(), path("uid-1.vcf"));
        expect_rule(&answer, 409, "C:no-uid-conflict")?.expect(
            text.contains(&holder),
            format!("the path {holder}"),
            format!("body {text}"),
        )?;
    }
    ada.expect(404, "uid-3.vcf").await?;
    ada.expect_unchanged("uid-2.vcf", "Second").await?;
    // The condition is checked first.
    let refused = ada.if_none_match("*").put("uid-2.vcf", &third).await?;
    refused.expect_status(412)?;
    // A contact keeps its UID: with another one it would be another person (RFC 6352, section 6.3.2.1).
    let answer = ada.put("uid-2.vcf", &card("another", "Second")).await?;
    let text = answer.text();
    expect_rule(&answer, 409, "C:no-uid-conflict")?.expect(
        text.contains(&path("uid-2.vcf")),
        "the path of the contact itself",
        format!("body {text}"),
    )?;
    let other = ada.if_match(r#""other""#);
    let refused = other.put("uid-2.vcf", &card("another", "Second")).await?;
    refused.expect_status(412)?;
    ada.expect_unchanged("uid-2.vcf", "Second").await
}

pub async fn a_put_can_name_a_date(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let name = "dated.vcf";
    let long_ago = ada.with("If-Unmodified-Since", "Sat, 29 Oct 1994 19:43:31 GMT");
    let created = long_ago.put(name, &card("dated", "1")).await?;
    created.expect_status(201)?;
    long_ago
        .put(name, &card("dated", "2"))
        .await?
        .expect_status(412)?;
    long_ago.delete(name).await?.expect_status(412)?;
    ada.expect_unchanged(name, "FN:1").await?;
    moved_by(context, name, "-1 hour").await?;
    let got = ada.get(name).await?;
    let tag = etag(&got)?;
    let changed = got.header("Last-Modified").unwrap_or_default();
    let since = ada.with("If-Unmodified-Since", &changed);
    since
        .put(name, &card("dated", "3"))
        .await?
        .expect_status(204)?;
    // Beside a tag, a date is ignored.
    let stale = since.if_match(&tag).put(name, &card("dated", "4")).await?;
    stale.expect_status(412)?;
    // A condition is optional: a client without one overwrites the contact.
    ada.put(name, &card("dated", "5"))
        .await?
        .expect_status(204)?;
    Ok(())
}

/// The date of this contact's last change in the database, in HTTP's format.
async fn date_of(context: &Context, name: &str) -> sqlx::Result<String> {
    sqlx::query_scalar(
        "SELECT to_char(changed AT TIME ZONE 'UTC', 'Dy, DD Mon YYYY HH24:MI:SS \"GMT\"') FROM contacts WHERE name = $1",
    )
    .bind(name)
    .fetch_one(&mut *context.database.lock().await)
    .await
}

pub async fn a_date_names_one_version(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let name = "one-second.vcf";
    let put_since = async |date: &str, text: &str| {
        let since = ada.with("If-Unmodified-Since", date);
        since.put(name, &card("one-second", text)).await
    };
    // Within one second: Ada writes, another client writes, and Ada writes again with the date of what she has seen.
    ada.keep(name, &card("one-second", "1")).await?;
    let seen = date_of(context, name).await?;
    ada.keep(name, &card("one-second", "2")).await?;
    put_since(&seen, "3").await?.expect_status(412)?;
    ada.expect_unchanged(name, "FN:2").await?;

    // While a second lasts, there may be another version of the same date. So no client gets the date, or can rely on it.
    moved_by(context, name, "1 hour").await?;
    let early = date_of(context, name).await?;
    let got = ada.get(name).await?;
    let told = got.header("Last-Modified");
    got.expect(told.is_none(), "no Last-Modified yet", format!("{told:?}"))?;
    let known = ada.with("If-Modified-Since", &early);
    known.expect(200, name).await?;
    let told = ada
        .properties(&path(name), "0", "D:getlastmodified")
        .await?;
    told.contact(name)?.expect_missing("D:getlastmodified")?;
    put_since(&early, "4").await?.expect_status(412)?;
    // The clock was set back, or another request has waited: another version has another date all the same.
    let mut dates = vec![early];
    for text in ["5", "6"] {
        ada.keep(name, &card("one-second", text)).await?;
        dates.push(date_of(context, name).await?);
    }
    ada.delete(name).await?.expect_status(204)?;
    ada.keep(name, &card("one-second", "7")).await?;
    dates.push(date_of(context, name).await?);
    for date in &dates[..3] {
        put_since(date, "8").await?.expect_status(412)?;
    }
    let different = BTreeSet::from_iter(&dates).len();
    expect_eq("different dates of four versions", different, 4)?;
    // An hour later each is in the past, and only the last one is the contact's.
    moved_by(context, name, "-2 hours").await?;
    let now = date_of(context, name).await?;
    put_since(&now, "9").await?.expect_status(204)?;
    Ok(())
}
