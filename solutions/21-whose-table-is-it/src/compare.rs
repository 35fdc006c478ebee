//! Compares what this service would answer with what Kotlin answers, and bounds what waits for that.

use std::sync::atomic::{AtomicI64, Ordering};

use rocket::{
    serde::json::{Value, to_value},
    tokio::sync::mpsc::{Receiver, Sender, channel},
};
use sqlx::PgConnection;

use crate::{error::Error, kotlin::Kotlin, outbox::is_under_way, read};

/// The most reads that wait to be looked at.
pub const WAITING: usize = 64;

// ANCHOR: inbox
/// The reads that wait to be looked at.
pub struct Inbox {
    ids: Sender<i32>,
    /// How many were not taken since somebody has asked.
    dropped: AtomicI64,
}

impl Inbox {
    /// An inbox for `WAITING` reads, and its other end.
    pub fn new() -> (Inbox, Receiver<i32>) {
        let (ids, waiting) = channel(WAITING);
        let dropped = AtomicI64::new(0);
        (Inbox { ids, dropped }, waiting)
    }

    /// Takes a read, or counts it as dropped where there is no room. Never waits: the client's answer
    /// doesn't depend on this.
    pub fn offer(&self, id: i32) {
        if self.ids.try_send(id).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many were dropped since this was last asked.
    pub fn take_dropped(&self) -> i64 {
        self.dropped.swap(0, Ordering::Relaxed)
    }
}
// ANCHOR_END: inbox

// ANCHOR: verdict
/// What became of a look.
#[derive(Debug, PartialEq)]
pub enum Verdict {
    /// Both answer the same.
    Same,
    /// Kotlin's own answer has changed meanwhile: nothing can be said.
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
    // Before ours is read: what is applied afterwards, ours may not have.
    let waited = is_under_way(theirs, ours, id).await?;
    let record = read::find(ours, id).await?;
    let mine = record.map(to_value).transpose()?;
    // And after it: what was written here meanwhile, Kotlin may not have yet.
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

/// The members that differ, by their names: their values are nobody's business in a log.
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
