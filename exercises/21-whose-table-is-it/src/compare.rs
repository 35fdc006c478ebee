//! Compares this service's response with Kotlin's, and limits the queue of reads to compare.

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
/// The bounded queue of reads that wait to be compared.
pub struct Inbox {
    ids: Sender<i32>,
    /// The number of reads that were dropped since the last `take_dropped`.
    dropped: AtomicI64,
}

impl Inbox {
    /// Creates an inbox for `WAITING` reads, and its receiving end.
    pub fn new() -> (Inbox, Receiver<i32>) {
        let (ids, waiting) = channel(WAITING);
        let dropped = AtomicI64::new(0);
        (Inbox { ids, dropped }, waiting)
    }

    /// Enqueues a read, or counts it as dropped if the queue is full. Never waits, so it doesn't
    /// delay the client's response.
    pub fn offer(&self, id: i32) {
        todo!("take {id}, or count it; never wait")
    }

    /// Returns how many reads were dropped since the last call, and resets the count.
    pub fn take_dropped(&self) -> i64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }
}
// ANCHOR_END: inbox

// ANCHOR: verdict
/// The outcome of a comparison.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// Both responses are the same.
    Same,
    /// Kotlin's own response changed during the comparison, so the comparison is inconclusive.
    Moving,
    /// The responses differ, but an event for the record was still waiting to be applied.
    Late,
    /// The responses differ in these JSON members.
    Different(Vec<String>),
}

/// Reads the record from Kotlin, from this database, and from Kotlin again, to detect changes.
///
/// # Errors
/// Kotlin or one of the databases doesn't answer.
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

/// The names of the members that differ. Their values are left out: they don't belong in a log.
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
