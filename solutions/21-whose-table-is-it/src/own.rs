//! `service own rust` and `service own kotlin`: move ownership of visits to the named service.

use std::time::{Duration, Instant};

use rocket::tokio::time::sleep;
use sqlx::PgConnection;
use thiserror::Error;

use crate::{
    apply,
    outbox::counts,
    ownership::{NOBODY, Side, say, seen},
};

/// The time limit for draining the outbox. Visits wait meanwhile, but for at most 2 s.
const LIMIT: Duration = Duration::from_millis(1500);
/// The pause between two checks of an outbox that another worker is draining.
const PAUSE: Duration = Duration::from_millis(10);

/// The reason why ownership did not move.
#[derive(Debug, Error)]
pub enum Refusal {
    #[error("{0} events wait in the outbox after 1.5 s: the owner stays the same")]
    Waiting(i64),
    #[error("{0} events were put aside: look at their reasons first; the owner stays the same")]
    PutAside(i64),
    #[error("somebody else has switched meanwhile; look who owns visits now")]
    Overtaken,
    #[error("it did not end, and nobody may own visits now; run it again: {0}")]
    Database(#[from] sqlx::Error),
}

// ANCHOR: switch
/// Moves the ownership of visits: closes one side, drains its outbox, and opens the other side.
///
/// # Errors
/// If the outbox can't be drained, the owner stays the same, in a new epoch. If a database
/// does not answer, or another switch interferes, at most one side owns visits.
pub async fn switch(
    from: &mut PgConnection,
    to: &mut PgConnection,
    new: Side,
) -> Result<(), Refusal> {
    let (old_owner, old_epoch) = seen(from).await?;
    let (owner, epoch) = seen(to).await?;
    let epoch = epoch.max(old_epoch) + 1;
    if owner != new.name() {
        set(from, NOBODY, epoch).await?;
        if let Err(refusal) = drained(from, to).await {
            // `none` if an earlier switch crashed at this point: before the crash, `from` owned visits.
            let back = match old_owner.as_str() {
                NOBODY => new.other().name(),
                owner => owner,
            };
            set(from, back, epoch + 1).await?;
            return Err(refusal);
        }
        set(to, new.name(), epoch).await?;
    }
    set(from, new.name(), epoch + 1).await
}
// ANCHOR_END: switch

/// Sets the owner as of this epoch, after the visits in progress have ended.
async fn set(connection: &mut PgConnection, owner: &str, epoch: i64) -> Result<(), Refusal> {
    if say(connection, owner, epoch).await? {
        Ok(())
    } else {
        Err(Refusal::Overtaken)
    }
}

/// Drains an outbox that gets no new events.
async fn drained(from: &mut PgConnection, to: &mut PgConnection) -> Result<(), Refusal> {
    let began = Instant::now();
    loop {
        apply::batch(from, to).await?;
        let (waiting, put_aside) = counts(from).await?;
        match (waiting, put_aside) {
            (0, 0) => return Ok(()),
            (_, 1..) => return Err(Refusal::PutAside(put_aside)),
            _ if began.elapsed() > LIMIT => return Err(Refusal::Waiting(waiting)),
            _ => sleep(PAUSE).await,
        }
    }
}
