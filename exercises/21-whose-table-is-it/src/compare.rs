//! Compares this service's answer with Kotlin's, and bounds the reads that wait for that.

#![expect(
    dead_code,
    reason = "delete this line once `offer` and `look` are written"
)]

use std::sync::atomic::{AtomicI64, Ordering};

use rocket::{
    serde::json::{Value, to_value},
    tokio::sync::mpsc::{Receiver, Sender, channel},
};
use sqlx::PgConnection;

use crate::{error::Error, kotlin::Kotlin, outbox::is_under_way, read};

/// The maximum number of reads that wait to be compared.
pub const WAITING: usize = 64;

// ANCHOR: inbox
/// The reads that wait to be compared.
pub struct Inbox {
    ids: Sender<i32>,
    /// The number of reads that were dropped since it was last taken.
    dropped: AtomicI64,
}

impl Inbox {
    /// An inbox for `WAITING` reads, and its other end.
    pub fn new() -> (Inbox, Receiver<i32>) {
        let (ids, waiting) = channel(WAITING);
        let dropped = AtomicI64::new(0);
        (Inbox { ids, dropped }, waiting)
    }

    /// Takes a read, or counts it as dropped if there is no room. Never waits: the client's answer
    /// doesn't depend on this.
    pub fn offer(&self, id: i32) {
        todo!("take {id}, or count it; never wait")
    }

    /// Returns how many were dropped since the last call.
    pub fn take_dropped(&self) -> i64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }
}
// ANCHOR_END: inbox

// ANCHOR: verdict
/// The outcome of a comparison.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// Both answer the same.
    Same,
    /// Kotlin's own answer has changed meanwhile: there is no verdict.
    Moving,
    /// The two differ, and an event for the record is still under way.
    Late,
    /// The two differ, in these members.
    Different(Vec<String>),
}

/// Asks Kotlin, then this database, then Kotlin again.
///
/// # Errors
/// One of them doesn't answer.
pub async fn look(
    kotlin: &Kotlin,
    theirs: &mut PgConnection,
    ours: &mut PgConnection,
    id: i32,
) -> Result<Verdict, Error> {
    let record = kotlin.record(id).await?;
    let is_under_way = is_under_way(theirs, ours, id).await?;
    let ours = read::find(ours, id).await?.map(to_value).transpose()?;
    todo!("{record:?} and {ours:?}: what can be said? Under way: {is_under_way}")
}

/// The names of the members that differ: their values don't belong in a log.
fn differing(theirs: Option<&Value>, ours: Option<&Value>) -> Vec<String> {
    let (Some(Value::Object(theirs)), Some(Value::Object(ours))) = (theirs, ours) else {
        return vec!["the record itself".to_owned()];
    };
    let mut names: Vec<&String> = theirs.keys().chain(ours.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let differ = |name: &&String| theirs.get(*name) != ours.get(*name);
    names.into_iter().filter(differ).cloned().collect()
}
// ANCHOR_END: verdict
