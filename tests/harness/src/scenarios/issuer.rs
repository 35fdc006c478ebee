//! A service that takes tokens of an issuer. The tests run one after the other on it, each with an issuer that is healthy at its beginning.

use std::any::Any;
use std::time::Duration;

use anyhow::Context as _;

use super::outage::ask_until;
use super::{Context, Judging, Scenario, When, asked, stage};
use crate::service::Settings;
use crate::service::issuer::{Issuer, Keys, jwk};
use workshop_requests::failure::{Failure, TestResult};
use workshop_requests::http::Answer;

/// The ids of the keys that are published at the beginning of each test.
pub const RSA: &str = "rsa-1";
pub const OTHER: &str = "rsa-2";
pub const P256: &str = "p256-1";
pub const ED25519: &str = "ed25519-1";

/// `DATABASE_TIMEOUT_MS`: no test waits for it.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(2);

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: true,
    ..Scenario::new("issuer", When::Waiting, 6, |place, tests| {
        Box::pin(async move {
            let issuer = Issuer::start(place.workspace).await?;
            let keys = Keys::make(&issuer.signer).await?;
            publish(&issuer, &keys).await;
            let settings = Settings {
                tokens: Some(issuer.settings()),
                // Whatever is logged, it must not contain a token.
                log_level: "trace".to_owned(),
                ..stage::settings(DATABASE_TIMEOUT)
            };
            let mut stage = place.stage_with(settings).await?;
            let token = issuer.rightful(&keys.rsa, RSA, "records:read").await?;
            stage.issuer = Some((issuer, keys));
            // The keys arrive after the start. The tests will see the final answer.
            let has_keys = |answer: &Result<Answer, Failure>| {
                !answer.as_ref().is_ok_and(|answer| answer.status() == 503)
            };
            let bearer = format!("Bearer {token}");
            let client = stage.client.without_key();
            let client = client.with("Authorization", Some(&bearer));
            let _ = ask_until(&client, "/read/1", has_keys).await;
            stage.ask(tests).await
        })
    })
};

/// Publishes the first four keys.
async fn publish(issuer: &Issuer, keys: &Keys) {
    let set = vec![
        jwk(&keys.rsa, RSA),
        jwk(&keys.other, OTHER),
        jwk(&keys.p256, P256),
        jwk(&keys.ed25519, ED25519),
    ];
    issuer.publish(set).await;
}

/// Runs a test that sends requests to the service, and controls the issuer.
pub fn test<'a, F>(
    scene: &'a dyn Any,
    test: impl FnOnce(&'a Context, &'a Issuer, &'a Keys) -> F + 'a,
) -> Judging<'a>
where
    F: Future<Output = TestResult> + 'a,
{
    asked(scene, async move |context: &'a Context| {
        let issuer = context.issuer.as_ref();
        let (issuer, keys) = issuer.context("a test of another scenario")?;
        publish(issuer, keys).await;
        test(context, issuer, keys).await
    })
}
