//! A service whose issuer is away when it starts, comes back, fails for a while, and hangs when the service is told to stop: watched.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::outage::RECOVERY_LIMIT;
use super::shutdown::End;
use super::silence::{Answers, lock_the_records, wait_for_waiting};
use super::stage::{database_trouble, settings};
use super::{Context, Scenario, When};
use crate::service::issuer::{Issuer, jwk};
use crate::service::upstream::{Conduct, Counts};
use crate::service::{Settings, TokenSettings};
use serde_json::json;
use workshop_base::wait;
use workshop_requests::failure::Failure;
use workshop_requests::http::{Answer, Client};

pub use super::judged as test;

/// `DATABASE_TIMEOUT_MS`: a read that is held ends after it. Renewals that went on would be several meanwhile.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(2);
/// `JWKS_RENEWAL_MS`, and how long a fetch may take.
const RENEWAL: Duration = Duration::from_millis(250);
/// `JWKS_MAX_AGE_MS`: more than three renewals.
const MAX_AGE: Duration = Duration::from_millis(2500);
/// How many renewals fail while known keys are still valid.
const FAILURES: usize = 3;
/// How long a service may take to end, beside the time limits of a request.
const END_LIMIT: Duration = Duration::from_secs(8);

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: true,
    ..Scenario::new("issuer_away", When::Waiting, 8, |place, tests| {
        Box::pin(async move {
            let issuer = Issuer::start(place.workspace).await?;
            issuer.leave().await;
            let key = issuer.signer.key(json!("p256"), "ES256").await?;
            issuer.publish(vec![jwk(&key, "p256")]).await;
            let tokens = TokenSettings {
                renewal: RENEWAL,
                timeout: RENEWAL,
                max_age: MAX_AGE,
                ..issuer.settings()
            };
            let settings = Settings {
                tokens: Some(tokens),
                ..settings(DATABASE_TIMEOUT)
            };
            let token = issuer.rightful(&key, "p256", "records:read").await?;
            let mut stage = place.stage_with(settings).await?;
            let seen = Away::watch(&mut stage, &issuer, &format!("Bearer {token}")).await;
            let seen = seen.map_err(|error| database_trouble(error.into()))?;
            stage.judged(&seen, tests).await
        })
    })
};

/// The behavior of a service while its issuer was away, and when it was told to stop.
#[derive(Debug)]
pub struct Away {
    /// A key and a token while there had been no issuer at all.
    pub key_without_keys: Result<Answer, Failure>,
    pub token_without_keys: Result<Answer, Failure>,
    /// The token when the issuer was there: the first answer that was a record, or the last one before the limit.
    pub token_when_back: Result<Answer, Failure>,
    /// The token after each renewal that had failed; fewer, if there were no more renewals.
    pub known_during_outage: Answers,
    /// The token when the last good answer of the issuer was old: the first 503, or the last answer before the limit.
    pub token_when_too_old: Result<Answer, Failure>,
    /// The token when the issuer was well again, as above.
    pub token_in_the_end: Result<Answer, Failure>,
    /// How often the issuer was asked after the service had been told to stop.
    pub asked_while_stopping: usize,
    pub end: End,
}

impl Away {
    async fn watch(stage: &mut Context, issuer: &Issuer, bearer: &str) -> sqlx::Result<Away> {
        let keyed = stage.client.clone();
        let tokened = keyed.without_key().with("Authorization", Some(bearer));
        let key_without_keys = keyed.get("/read/1").await;
        let token_without_keys = tokened.get("/read/1").await;
        issuer.come_back().await;
        let token_when_back = status_within(&tokened, 200).await;

        issuer.answers("503 Service Unavailable").await;
        let mut known_during_outage = Answers::new();
        let mut seen = issuer.counts().calls;
        for _ in 0..FAILURES {
            // One call may have been answered before the outage began.
            let renewed =
                issuer.until(|counts: &Counts| counts.calls > seen && counts.under_way == 0);
            if timeout(RECOVERY_LIMIT, renewed).await.is_err() {
                break;
            }
            seen = issuer.counts().calls;
            known_during_outage.push(tokened.get("/read/1").await);
        }
        let token_when_too_old = status_within(&tokened, 503).await;
        issuer.is_well().await;
        let token_in_the_end = status_within(&tokened, 200).await;

        issuer.conduct(Conduct::Hangs);
        let mut database = stage.database.lock().await;
        let mut lock = lock_the_records(&mut database).await?;
        let service = &mut stage.service;
        let (_held, stopped) = tokio::join!(keyed.get("/read/1"), async {
            let waiting = wait_for_waiting(&mut lock, 1..).await;
            let (asked, before) = (Instant::now(), issuer.counts().calls);
            service.ask_to_stop();
            let end = End::within(DATABASE_TIMEOUT + END_LIMIT, service, asked).await;
            waiting.map(|_| (end, issuer.counts().calls - before))
        });
        let (end, asked_while_stopping) = stopped?;
        lock.rollback().await?;
        Ok(Away {
            key_without_keys,
            token_without_keys,
            token_when_back,
            known_during_outage,
            token_when_too_old,
            token_in_the_end,
            asked_while_stopping,
            end,
        })
    }

    /// After how many failed renewals the token was still accepted.
    pub fn failures_survived(&self) -> usize {
        let known = self.known_during_outage.iter();
        known.filter(|answer| super::outage::works(answer)).count()
    }

    /// How many failed renewals were waited for.
    pub const FAILURES: usize = FAILURES;
}

/// Asks until the answer has this status, at most until the limit.
async fn status_within(client: &Client, status: u16) -> Result<Answer, Failure> {
    let is_so = |answer: &Result<Answer, Failure>| {
        answer
            .as_ref()
            .is_ok_and(|answer| answer.status() == status)
    };
    wait::last_within(RECOVERY_LIMIT, async || client.get("/read/1").await, is_so).await
}
