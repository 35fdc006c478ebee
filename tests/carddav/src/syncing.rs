//! Tests: a client that asks what has changed hears of every change, whatever happens in between.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::try_join_all;
use sqlx::Connection;

use crate::cards::card;
use crate::client::{AddressBook, BOOK, path, sync_collection};
use crate::multistatus::{DAV, Multistatus, expect_rule};
use crate::writing::until_waiting;
use workshop_harness::contract::{Context, Failure, TestResult, expect};

/// How many write at the same time while a client syncs, and how often each.
const WRITERS: usize = 6;
const WRITES: usize = 15;
/// The longest that a request may take while another one holds the book.
const GRACE: std::time::Duration = std::time::Duration::from_millis(300);

/// What a client knows: each path with its tag.
type Known = BTreeMap<String, String>;

/// Takes over what has changed. What is told to be gone is gone; all else has a tag.
fn take_over(known: &mut Known, changes: &Multistatus) -> Result<(), Failure> {
    for change in changes
        .responses
        .iter()
        .filter(|change| change.path != BOOK)
    {
        match change.status {
            Some(404) => {
                known.remove(&change.path);
            }
            _ => {
                let etag = change.property(DAV, "getetag")?.text.clone();
                known.insert(change.path.clone(), etag);
            }
        }
    }
    Ok(())
}

/// The paths that a sync tells of.
fn told(changes: &Multistatus) -> BTreeSet<&str> {
    changes.paths().collect()
}

fn expect_told(changes: &Multistatus, expected: &[&str]) -> Result<(), Failure> {
    let names = expected.iter().map(|name| path(name));
    let expected: BTreeSet<String> = names.collect();
    let told: BTreeSet<String> = told(changes).into_iter().map(str::to_owned).collect();
    if told == expected {
        return Ok(());
    }
    Err(Failure::new(
        format!("changes of {expected:?}"),
        format!("{told:?}"),
    ))
}

pub async fn a_sync_tells_what_has_changed(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    for name in ["sync-a", "sync-b", "sync-c"] {
        ada.keep(&format!("{name}.vcf"), &card(name, "1")).await?;
    }
    ada.delete("sync-c.vcf").await?.expect_status(204)?;

    // A client that knows nothing is told what is there, and not what is gone.
    let all = ada.sync("", None).await?;
    let listed = ada.properties(BOOK, "1", &["D:getetag"]).await?;
    let mut known = Known::new();
    take_over(&mut known, &all)?;
    let mut there = Known::new();
    take_over(&mut there, &listed)?;
    expect(known == there, format!("{there:?}"), format!("{known:?}"))?;
    let gone = all
        .responses
        .iter()
        .find(|response| response.status == Some(404));
    expect(
        gone.is_none(),
        "no deleted contacts in a first sync",
        format!("{gone:?}"),
    )?;

    let first = all.token()?;
    let none = ada.sync(&first, None).await?;
    expect_told(&none, &[])?;
    expect(
        none.token()? == first,
        format!("the same token {first}"),
        none.token()?,
    )?;

    let tag = ada.keep("sync-a.vcf", &card("sync-a", "2")).await?;
    ada.delete("sync-b.vcf").await?.expect_status(204)?;
    ada.keep("sync-c.vcf", &card("sync-c", "2")).await?;
    // What is refused is no change.
    let before = ada.token().await?;
    let other = ada.with("If-Match", r#""other""#);
    other
        .put("sync-a.vcf", &card("sync-a", "3"))
        .await?
        .expect_status(412)?;
    other.delete("sync-a.vcf").await?.expect_status(412)?;
    let after = ada.token().await?;
    expect(
        after == before,
        format!("the token {before} after two refusals"),
        after,
    )?;
    let changes = ada.sync(&first, None).await?;
    expect_told(&changes, &["sync-a.vcf", "sync-b.vcf", "sync-c.vcf"])?;
    let etag = &changes
        .at(&path("sync-a.vcf"))?
        .property(DAV, "getetag")?
        .text;
    expect(*etag == tag, format!("getetag {tag}"), &**etag)?;
    let removed = changes.at(&path("sync-b.vcf"))?.status;
    expect(
        removed == Some(404),
        "404 for a contact that was deleted",
        format!("{removed:?}"),
    )?;
    let second = changes.token()?;
    expect(
        second != first,
        "another token after changes",
        "the same token",
    )?;
    expect_told(&ada.sync(&second, None).await?, &[])?;
    // An old token goes on being good, and the book says the same token.
    expect_told(
        &ada.sync(&first, None).await?,
        &["sync-a.vcf", "sync-b.vcf", "sync-c.vcf"],
    )?;
    let book = ada.properties(BOOK, "0", &["D:sync-token"]).await?;
    let of_the_book = &book.at(BOOK)?.property(DAV, "sync-token")?.text;
    expect(
        *of_the_book == second,
        format!("the sync-token {second}"),
        &**of_the_book,
    )
}

/// Syncs page by page until there is no more, and gives the last token.
async fn in_pages(
    ada: &AddressBook,
    mut token: String,
    limit: usize,
    known: &mut Known,
) -> Result<String, Failure> {
    let mut before = BTreeSet::new();
    loop {
        let page = ada.sync(&token, Some(limit)).await?;
        take_over(known, &page)?;
        let more = page.at(BOOK).is_ok_and(|book| book.status == Some(507));
        let told: Vec<&str> = page.paths().filter(|path| *path != BOOK).collect();
        let right = if more {
            told.len() == limit
        } else {
            told.len() <= limit
        };
        if !right {
            let expected = format!("pages of {limit} changes, but the last");
            return Err(Failure::new(expected, format!("{} changes", told.len())));
        }
        if let Some(again) = told.iter().find(|path| before.contains(**path)) {
            return Err(Failure::new("each change once", format!("{again} twice")));
        }
        before.extend(told.into_iter().map(str::to_owned));
        token = page.token()?;
        if !more {
            return Ok(token);
        }
    }
}

pub async fn a_sync_in_pages_tells_everything_once(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let start = ada.token().await?;
    for number in 0..7 {
        ada.keep(
            &format!("page-{number}.vcf"),
            &card(&format!("page-{number}"), "1"),
        )
        .await?;
    }
    ada.delete("page-3.vcf").await?.expect_status(204)?;
    for limit in [1, 3, 7, 100] {
        let mut known = Known::from([(path("page-3.vcf"), "old".to_owned())]);
        let token = in_pages(&ada, start.clone(), limit, &mut known).await?;
        let names = [0, 1, 2, 4, 5, 6].map(|number| path(&format!("page-{number}.vcf")));
        let got: Vec<&String> = known.keys().collect();
        expect(
            known.keys().eq(&names),
            format!("{names:?} in pages of {limit}"),
            format!("{got:?}"),
        )?;
        let now = ada.token().await?;
        expect(
            token == now,
            format!("the token {now} after the last page"),
            token,
        )?;
    }
    let mut known = Known::new();
    in_pages(&ada, String::new(), 5, &mut known).await?;
    let mut all = Known::new();
    take_over(&mut all, &ada.sync("", None).await?)?;
    expect(
        known == all,
        "the same contacts in pages as at once",
        format!("{} of {}", known.len(), all.len()),
    )
}

pub async fn a_token_that_was_never_given_is_refused(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    ada.keep("token.vcf", &card("token", "1")).await?;
    let token = ada.token().await?;
    let (life, revision) = token.rsplit_once(':').unwrap_or_default();
    let (_, uuid) = life.rsplit_once(':').unwrap_or_default();
    let another_life = token.replace(uuid, "00000000-0000-4000-8000-000000000000");
    let future: i64 = revision.parse().unwrap_or_default();
    let graces = workshop_harness::contract::Client::clone(&context.client);
    let graces = crate::client::known_as(&graces, "grace:secret2");
    let graces = AddressBook { client: graces };
    let of_grace = graces
        .properties("/addressbooks/grace/contacts/", "0", &["D:sync-token"])
        .await?;
    let of_grace = of_grace
        .at("/addressbooks/grace/contacts/")?
        .property(DAV, "sync-token")?
        .text
        .clone();
    let tokens = [
        "nonsense".to_owned(),
        revision.to_owned(),
        format!("{life}:"),
        format!("{life}:-1"),
        format!("{life}:{}", future + 1000),
        format!("{life}:99999999999999999999"),
        format!("{life}:1 OR 1=1"),
        format!("{token}:"),
        another_life,
        of_grace,
    ];
    for token in tokens {
        let answer = ada.report(&sync_collection(&token, None)).await?;
        expect_rule(&answer, 403, DAV, "valid-sync-token")?;
    }
    ada.sync(&token, None).await?;
    Ok(())
}

pub async fn a_change_that_is_committed_late_is_not_missed(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    ada.keep("early.vcf", &card("early", "1")).await?;
    let mut known = Known::new();
    let start = ada.sync("", None).await?;
    take_over(&mut known, &start)?;

    // A row with the same UID that is not committed makes the first request wait in the middle of its transaction.
    let mut database = context.database.lock().await;
    let mut lock = database.begin().await?;
    sqlx::query(
        "INSERT INTO contacts (owner, name, uid, etag, revision, changed, vcard)
         VALUES ('ada', 'in-the-way.vcf', 'late', 'none', 0, now(), 'none')",
    )
    .execute(&mut *lock)
    .await?;
    let text = card("late", "Late");
    let late = ada.put("late.vcf", &text);
    let meanwhile = async {
        let waits = until_waiting(&mut lock, 1).await;
        // The second one may be quick, or have to wait for the first.
        let text = card("quick", "Quick");
        let mut quick = std::pin::pin!(ada.put("quick.vcf", &text));
        let answered = tokio::time::timeout(GRACE, &mut quick).await;
        let seen = ada.sync(&start.token()?, None).await;
        let released = lock.rollback().await;
        let quick = match answered {
            Ok(answer) => answer,
            Err(_) => quick.await,
        };
        quick?.expect_status(201)?;
        waits?;
        released?;
        Ok::<Multistatus, workshop_harness::contract::TestError>(seen?)
    };
    let (late, seen) = tokio::join!(late, meanwhile);
    let seen = seen?;
    late?.expect_status(201)?;
    take_over(&mut known, &seen)?;
    take_over(&mut known, &ada.sync(&seen.token()?, None).await?)?;
    let missed: Vec<String> = ["late.vcf", "quick.vcf"]
        .map(path)
        .into_iter()
        .filter(|path| !known.contains_key(path))
        .collect();
    expect(
        missed.is_empty(),
        "both contacts known to a client that has synced before, between and after two puts",
        format!("{missed:?} never told"),
    )
}

pub async fn a_client_that_syncs_all_the_time_misses_nothing(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let mut known = Known::new();
    let start = ada.sync("", None).await?;
    take_over(&mut known, &start)?;
    let (done, is_done) = tokio::sync::watch::channel(false);
    let writers = (0..WRITERS).map(async |writer| {
        for write in 0..WRITES {
            let name = format!("busy-{writer}-{}.vcf", write % 5);
            if write % 7 == 6 {
                ada.delete(&name).await?;
                continue;
            }
            let uid = format!("busy-{writer}-{}", write % 5);
            ada.keep(&name, &card(&uid, &format!("Version {write}")))
                .await?;
        }
        Ok::<(), Failure>(())
    });
    let writing = async {
        let written = try_join_all(writers).await;
        done.send_replace(true);
        written
    };
    let syncing = async {
        let mut token = start.token()?;
        loop {
            let last = *is_done.borrow();
            let changes = ada.sync(&token, None).await?;
            take_over(&mut known, &changes)?;
            token = changes.token()?;
            if last {
                return Ok::<(), Failure>(());
            }
        }
    };
    let (written, synced) = tokio::join!(writing, syncing);
    written?;
    synced?;
    let mut all = Known::new();
    take_over(&mut all, &ada.sync("", None).await?)?;
    let missed = |one: &Known, other: &Known| -> Vec<String> {
        let missed = one
            .iter()
            .filter(|(path, tag)| other.get(*path) != Some(tag));
        missed.map(|(path, _)| path.clone()).collect()
    };
    let (lost, doubled) = (missed(&all, &known), missed(&known, &all));
    expect(
        lost.is_empty() && doubled.is_empty(),
        "a client that knows what is there",
        format!("changes missed: {lost:?}; contacts that are gone: {doubled:?}"),
    )
}
