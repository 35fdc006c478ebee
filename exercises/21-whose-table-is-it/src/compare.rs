//! Compares what this service would answer with what Kotlin answers, and bounds what waits for that.

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
        todo!("take {id}, or count it; never wait")
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
    let record = kotlin.record(id).await?;
    let is_under_way = is_under_way(theirs, ours, id).await?;
    let ours = read::find(ours, id).await?.map(to_value).transpose()?;
    todo!("{record:?} and {ours:?}: what can be said? Under way: {is_under_way}")
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
