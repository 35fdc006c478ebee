//! Compares reads one by one in the background, and saves daily counts in our own database.

use std::{sync::Arc, time::Duration};

use rocket::{
    fairing::AdHoc,
    tokio::{
        spawn,
        sync::mpsc::Receiver,
        time::{sleep, timeout},
    },
};
use sqlx::PgConnection;
use tracing::{info, warn};

use crate::{
    causes::with_causes,
    compare::{self, Inbox, Verdict},
    error::Error,
    kotlin::Kotlin,
    ownership::Side,
    settings::Settings,
    sharing::Databases,
};

/// The maximum duration of a comparison.
const LIMIT: Duration = Duration::from_secs(5);
/// The pause between two attempts to connect to the databases.
const PAUSE: Duration = Duration::from_millis(500);

/// The counts of results that aren't saved in the database yet.
#[derive(Default)]
struct Counts {
    same: i64,
    moving: i64,
    late: i64,
    different: i64,
    failed: i64,
    dropped: i64,
}

/// The inbox for reads, and a fairing that starts comparing them once the service listens.
pub fn looks(settings: &Settings) -> (Arc<Inbox>, AdHoc) {
    let (inbox, waiting) = Inbox::new();
    let inbox = Arc::new(inbox);
    let looking = Kotlin::new(settings).zip(Databases::new(settings));
    let dropping = Arc::clone(&inbox);
    let fairing = AdHoc::on_liftoff("looks", |_| {
        Box::pin(async move {
            if let Some((kotlin, databases)) = looking {
                spawn(always_look(kotlin, databases, waiting, dropping));
            }
        })
    });
    (inbox, fairing)
}

async fn always_look(
    kotlin: Kotlin,
    databases: Databases,
    mut waiting: Receiver<i32>,
    inbox: Arc<Inbox>,
) {
    let mut counts = Counts::default();
    loop {
        let result = look_on(&kotlin, &databases, &mut waiting, &inbox, &mut counts).await;
        match result {
            Ok(()) => return,
            Err(error) => warn!("nothing can be compared: {}", with_causes(&error)),
        }
        sleep(PAUSE).await;
    }
}

/// Compares incoming reads and saves the counts, until a comparison or a database fails.
async fn look_on(
    kotlin: &Kotlin,
    databases: &Databases,
    waiting: &mut Receiver<i32>,
    inbox: &Inbox,
    counts: &mut Counts,
) -> Result<(), Error> {
    let mut theirs = databases.connect(Side::Kotlin).await?;
    let mut ours = databases.connect(Side::Rust).await?;
    while let Some(id) = waiting.recv().await {
        let look = timeout(LIMIT, compare::look(kotlin, &mut theirs, &mut ours, id));
        let verdict = look
            .await
            .unwrap_or_else(|elapsed| Err(Error::Unavailable(Box::new(elapsed))));
        match &verdict {
            Ok(Verdict::Same) => counts.same += 1,
            Ok(Verdict::Moving) => counts.moving += 1,
            Ok(Verdict::Late) => {
                counts.late += 1;
                info!(id, "late: an event is under way");
            }
            Ok(Verdict::Different(members)) => {
                counts.different += 1;
                warn!(id, "the answers differ: {}", members.join(", "));
            }
            Err(_) => counts.failed += 1,
        }
        counts.dropped += inbox.take_dropped();
        verdict?;
        save(&mut ours, counts).await?;
    }
    Ok(())
}

async fn save(ours: &mut PgConnection, counts: &mut Counts) -> sqlx::Result<()> {
    sqlx::query(
        "INSERT INTO visits_compared AS c VALUES (current_date, $1, $2, $3, $4, $5, $6) \
         ON CONFLICT (day) DO UPDATE SET \
             same = c.same + $1, moving = c.moving + $2, late = c.late + $3, \
             different = c.different + $4, failed = c.failed + $5, dropped = c.dropped + $6",
    )
    .bind(counts.same)
    .bind(counts.moving)
    .bind(counts.late)
    .bind(counts.different)
    .bind(counts.failed)
    .bind(counts.dropped)
    .execute(ours)
    .await?;
    *counts = Counts::default();
    Ok(())
}
