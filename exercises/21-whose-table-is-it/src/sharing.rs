//! The background tasks that share visits: each applies one database's outbox to the other.

use std::time::Duration;

use rocket::{
    fairing::AdHoc,
    tokio::{
        spawn,
        time::{sleep, timeout},
    },
};
use sqlx::{
    ConnectOptions, PgConnection,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use tracing::warn;

use crate::{apply, ownership::Side, settings::Settings};

/// Opens sessions to follow outboxes. `visits_fence` lets them write only to the non-owner.
#[derive(Clone)]
pub struct Databases {
    rust: PgConnectOptions,
    kotlin: PgConnectOptions,
    /// The time limit for connecting and for each batch, because a response can get lost.
    limit: Duration,
    poll: Duration,
}

impl Databases {
    /// Reads the settings; returns `None` if visits aren't shared.
    pub fn new(settings: &Settings) -> Option<Databases> {
        let kotlin = settings.kotlin.as_ref()?;
        let limit = settings.database.timeout;
        let following = |url: &PgConnectOptions| {
            url.clone().options([
                ("visits.follows", "on".to_owned()),
                ("lock_timeout", limit.as_millis().to_string()),
                ("idle_in_transaction_session_timeout", "10s".to_owned()),
            ])
        };
        Some(Databases {
            rust: following(&settings.database.url),
            kotlin: following(&kotlin.database),
            limit,
            poll: kotlin.poll,
        })
    }

    fn of(&self, side: Side) -> &PgConnectOptions {
        match side {
            Side::Kotlin => &self.kotlin,
            Side::Rust => &self.rust,
        }
    }

    /// Opens a new connection to the database of this side.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn connect(&self, side: Side) -> sqlx::Result<PgConnection> {
        within(self.limit, self.of(side).connect()).await
    }

    // ANCHOR: follow
    /// Applies one database's outbox to the other database, and again whenever new events arrive.
    async fn follow(&self, from: Side) -> sqlx::Result<()> {
        let one_connection = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(self.limit)
            .connect_lazy_with(self.of(from).clone());
        // Subscribe before the first batch, so that no event between the two goes unnoticed.
        let mut listener = PgListener::connect_with(&one_connection).await?;
        listener.listen("visits").await?;
        let mut to = self.connect(from.other()).await?;
        let mut from = self.connect(from).await?;
        loop {
            while within(self.limit, apply::batch(&mut from, &mut to)).await? > 0 {}
            apply::woken(&mut listener, self.poll).await?;
        }
    }
    // ANCHOR_END: follow
}

/// A fairing that starts to follow both outboxes once the service accepts connections.
/// Only one of them receives new events, because only the owner writes.
pub fn on_liftoff(settings: &Settings) -> AdHoc {
    let databases = Databases::new(settings);
    AdHoc::on_liftoff("sharing", |_| {
        Box::pin(async move {
            let Some(databases) = databases else { return };
            for from in [Side::Kotlin, Side::Rust] {
                spawn(always_follow(databases.clone(), from));
            }
        })
    })
}

/// Follows an outbox, and starts over after every error.
async fn always_follow(databases: Databases, from: Side) {
    let mut last_line = String::new();
    loop {
        if let Err(error) = databases.follow(from).await {
            // Logs a line only if it differs from the last one, to log a long outage only once.
            let line = format!("the outbox of {} waits: {error}", from.name());
            if line != last_line {
                warn!("{line}");
                last_line = line;
            }
        }
        sleep(databases.poll).await;
    }
}

/// Runs `work`, and fails with an I/O error if it takes longer than `limit`.
async fn within<T>(
    limit: Duration,
    work: impl Future<Output = sqlx::Result<T>>,
) -> sqlx::Result<T> {
    timeout(limit, work)
        .await
        .unwrap_or_else(|elapsed| Err(sqlx::Error::Io(elapsed.into())))
}
