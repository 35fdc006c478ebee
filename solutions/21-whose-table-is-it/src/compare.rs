//! Compares this service's answer with Kotlin's, and bounds the reads that wait for that.

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
        if self.ids.try_send(id).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
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
    let before = kotlin.record(id).await?;
    // Before ours is read: our answer may lack what is applied afterwards.
    let waited = is_under_way(theirs, ours, id).await?;
    let record = read::find(ours, id).await?;
    let mine = record.map(to_value).transpose()?;
    // And after it: Kotlin may not have yet what was written here meanwhile.
    let waits = is_under_way(theirs, ours, id).await?;
    let after = kotlin.record(id).await?;
    Ok(if before != after {
        Verdict::Moving
    } else if mine == after {
        Verdict::Same
    } else if waited || waits {
        Verdict::Late
    } else {
        Verdict::Different(differing(after.as_ref(), mine.as_ref()))
    })
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
