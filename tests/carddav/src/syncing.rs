//! Tests: a client that syncs learns of every change, whatever happens in between.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::future::try_join_all;
use sqlx::Connection;

use crate::book::{BOOK, path};
use crate::cards::card;
use crate::client::{AddressBook, sync_collection};
use crate::discovery::{OF_GRACE, grace};
use crate::multistatus::{Multistatus, Response, expect_rule};
use workshop_harness::contract::{
    Context, Failure, TestError, TestResult, expect, expect_eq, expect_none,
};
use workshop_harness::silence::wait_for_waiting;

/// The number of concurrent writers while a client syncs, and of the writes of each.
const WRITERS: usize = 6;
const WRITES: usize = 15;
/// The maximum time that a request may take while another one holds the book.
const GRACE: Duration = Duration::from_millis(300);

/// A client that keeps in step: each path that it knows with its tag, and its token.
#[derive(Debug, Default)]
struct Follower {
    known: BTreeMap<String, String>,
    token: String,
}

impl Follower {
    /// A follower that knows all contacts.
    async fn of(ada: &AddressBook) -> Result<Follower, Failure> {
        let mut follower = Follower::default();
        follower.sync(ada, None).await?;
        Ok(follower)
    }

    /// Asks for changes, at most this many of them, and applies them.
    async fn sync(
        &mut self,
        ada: &AddressBook,
        limit: Option<usize>,
    ) -> Result<Multistatus, Failure> {
        let changes = ada.sync(&self.token, limit).await?;
        self.take_over(&changes)?;
        self.token = changes.token()?;
        Ok(changes)
    }

    /// Applies the changes: removed contacts go, all others have a tag.
    fn take_over(&mut self, changes: &Multistatus) -> Result<(), Failure> {
        let of_contacts = |change: &&Response| change.path != BOOK;
        for change in changes.responses.iter().filter(of_contacts) {
            match change.status {
                Some(404) => self.known.remove(&change.path),
                _ => {
                    let etag = change.text("D:getetag")?.to_owned();
                    self.known.insert(change.path.clone(), etag)
                }
            };
        }
        Ok(())
    }

    /// Syncs page by page until there is no more.
    async fn sync_in_pages(&mut self, ada: &AddressBook, limit: usize) -> TestResult {
        let mut before = BTreeSet::new();
        loop {
            let page = self.sync(ada, Some(limit)).await?;
            let more = page.has_more();
            let told: Vec<&str> = page.paths().filter(|path| *path != BOOK).collect();
            expect(
                told.len() == limit || !more && told.len() < limit,
                format!("pages of {limit} changes, but the last"),
                format!("{} changes", told.len()),
            )?;
            let again = told.iter().find(|path| before.contains(**path));
            expect_none(
                "each change once",
                again.map(|path| format!("{path} twice")),
            )?;
            before.extend(told.into_iter().map(str::to_owned));
            if !more {
                return Ok(());
            }
        }
    }
}

pub async fn a_sync_tells_what_has_changed(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    for name in ["sync-a", "sync-b", "sync-c"] {
        ada.keep(&format!("{name}.vcf"), &card(name, "1")).await?;
    }
    ada.delete("sync-c.vcf").await?.expect_status(204)?;

    // A client that knows nothing gets the existing contacts, and not the deleted ones.
    let mut told = Follower::default();
    let all = told.sync(&ada, None).await?;
    let mut there = Follower::default();
    there.take_over(&ada.properties(BOOK, "1", "D:getetag").await?)?;
    expect_eq("contacts", &told.known, &there.known)?;
    let mut responses = all.responses.iter();
    let gone = responses.find(|response| response.status == Some(404));
    let gone = gone.map(|gone| format!("{gone:?}"));
    expect_none("no deleted contacts in a first sync", gone)?;

    let first = told.token;
    let none = ada.sync(&first, None).await?;
    none.expect_contacts(&[])?;
    expect_eq("the same token", &none.token()?, &first)?;

    let tag = ada.keep("sync-a.vcf", &card("sync-a", "2")).await?;
    ada.delete("sync-b.vcf").await?.expect_status(204)?;
    ada.keep("sync-c.vcf", &card("sync-c", "2")).await?;
    // A refused request changes nothing.
    let before = ada.token().await?;
    let other = ada.if_match(r#""other""#);
    let refused = other.put("sync-a.vcf", &card("sync-a", "3")).await?;
    refused.expect_status(412)?;
    other.delete("sync-a.vcf").await?.expect_status(412)?;
    expect_eq("the token after two refusals", ada.token().await?, before)?;

    let changes = ada.sync(&first, None).await?;
    let changed = ["sync-a.vcf", "sync-b.vcf", "sync-c.vcf"];
    changes.expect_contacts(&changed)?;
    let replaced = changes.contact("sync-a.vcf")?;
    replaced.expect_text("D:getetag", &tag)?;
    changes.contact("sync-b.vcf")?.expect_status(404)?;
    let second = changes.token()?;
    expect(second != first, "another token after changes", &*second)?;
    ada.sync(&second, None).await?.expect_contacts(&[])?;
    // An old token stays valid, and the book's token stays the same.
    ada.sync(&first, None).await?.expect_contacts(&changed)?;
    let of_the_book = ada.property(BOOK, "D:sync-token").await?;
    expect_eq("the sync-token", of_the_book, second)
}

pub async fn a_sync_in_pages_tells_everything_once(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let token = ada.token().await?;
    let uids: Vec<String> = (0..7).map(|number| format!("page-{number}")).collect();
    for uid in &uids {
        ada.keep(&format!("{uid}.vcf"), &card(uid, "1")).await?;
    }
    ada.delete("page-3.vcf").await?.expect_status(204)?;
    for limit in [1, 3, 7, 100] {
        let mut follower = Follower {
            known: BTreeMap::from([(path("page-3.vcf"), "old".to_owned())]),
            token: token.clone(),
        };
        follower.sync_in_pages(&ada, limit).await?;
        let there = [0, 1, 2, 4, 5, 6].map(|number| path(&format!("page-{number}.vcf")));
        let got: Vec<&String> = follower.known.keys().collect();
        let there: Vec<&String> = there.iter().collect();
        expect_eq(&format!("contacts in pages of {limit}"), got, there)?;
        let now = ada.token().await?;
        expect_eq("the token after the last page", follower.token, now)?;
    }
    let mut follower = Follower::default();
    follower.sync_in_pages(&ada, 5).await?;
    let (in_pages, at_once) = (follower.known, Follower::of(&ada).await?.known);
    let got = format!("{} of {}", in_pages.len(), at_once.len());
    let expected = "the same contacts in pages as at once";
    expect(in_pages == at_once, expected, got)
}

pub async fn a_token_that_was_never_given_is_refused(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    ada.keep("token.vcf", &card("token", "1")).await?;
    let token = ada.token().await?;
    let (life, revision) = token.rsplit_once(':').unwrap_or_default();
    let (_, uuid) = life.rsplit_once(':').unwrap_or_default();
    let another_life = token.replace(uuid, "00000000-0000-4000-8000-000000000000");
    let future: i64 = revision.parse().unwrap_or_default();
    let of_grace = grace(context).property(OF_GRACE, "D:sync-token").await?;
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
        expect_rule(&answer, 403, "D:valid-sync-token")?;
    }
    ada.sync(&token, None).await?;
    Ok(())
}

pub async fn a_change_that_is_committed_late_is_not_missed(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    ada.keep("early.vcf", &card("early", "1")).await?;
    let mut follower = Follower::of(&ada).await?;

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
    let meanwhile = async {
        let waits = wait_for_waiting(&mut lock, 1..).await;
        // The second one may be quick, or have to wait for the first.
        let text = card("quick", "Quick");
        let mut quick = std::pin::pin!(ada.put("quick.vcf", &text));
        let answered = tokio::time::timeout(GRACE, &mut quick).await;
        let seen = follower.sync(&ada, None).await;
        let released = lock.rollback().await;
        let quick = match answered {
            Ok(answer) => answer,
            Err(_) => quick.await,
        };
        quick?.expect_status(201)?;
        waits?;
        released?;
        seen?;
        Ok::<(), TestError>(())
    };
    let (late, seen) = tokio::join!(ada.put("late.vcf", &text), meanwhile);
    seen?;
    late?.expect_status(201)?;
    follower.sync(&ada, None).await?;
    let missed = ["late.vcf", "quick.vcf"]
        .into_iter()
        .find(|name| !follower.known.contains_key(&path(name)));
    expect_none(
        "both contacts known to a client that has synced before, between and after two puts",
        missed.map(|name| format!("{name} never told")),
    )
}

pub async fn a_client_that_syncs_all_the_time_misses_nothing(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let mut follower = Follower::of(&ada).await?;
    let (done, is_done) = tokio::sync::watch::channel(false);
    let writers = (0..WRITERS).map(async |writer| {
        for write in 0..WRITES {
            let uid = format!("busy-{writer}-{}", write % 5);
            let name = format!("{uid}.vcf");
            if write % 7 == 6 {
                ada.delete(&name).await?;
            } else {
                let version = format!("Version {write}");
                ada.keep(&name, &card(&uid, &version)).await?;
            }
        }
        Ok::<(), Failure>(())
    });
    let writing = async {
        let written = try_join_all(writers).await;
        done.send_replace(true);
        written
    };
    let syncing = async {
        loop {
            let last = *is_done.borrow();
            follower.sync(&ada, None).await?;
            if last {
                return Ok::<(), Failure>(());
            }
        }
    };
    let (written, synced) = tokio::join!(writing, syncing);
    written?;
    synced?;
    let (known, there) = (follower.known, Follower::of(&ada).await?.known);
    let only_in = |one: &BTreeMap<String, String>, other: &BTreeMap<String, String>| {
        let missed = one
            .iter()
            .filter(|(path, tag)| other.get(*path) != Some(tag));
        Vec::from_iter(missed.map(|(path, _)| path.clone()))
    };
    let (lost, doubled) = (only_in(&there, &known), only_in(&known, &there));
    expect(
        lost.is_empty() && doubled.is_empty(),
        "a client that knows what is there",
        format!("changes missed: {lost:?}; contacts that are gone: {doubled:?}"),
    )
}
