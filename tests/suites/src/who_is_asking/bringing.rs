//! Shared by all parts of the suite: a client that sends a token, and the answer to a refused one.

use std::time::Duration;

use serde_json::Value;
use workshop_base::wait;

use workshop_harness::contract::{Answer, Client, Context, Failure, TestResult};
use workshop_harness::issuer::{Issuer, Keys, jwk};

/// The maximum time that a test waits for what a service does by itself.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// The scope for reading.
pub const READ: &str = "records:read";

/// A client that sends this token, and no key.
pub fn bearing(context: &Context, token: &str) -> Client {
    let keyless = context.client.without_key();
    keyless.with("Authorization", Some(&format!("Bearer {token}")))
}

/// Expects the answer to every refused token, whatever is wrong with it.
pub fn is_refused(answer: &Answer) -> Result<&Answer, Failure> {
    answer
        .expect_problem(401, "the access token is not valid")?
        .expect_header("WWW-Authenticate", r#"Bearer realm="records", error="invalid_token""#)
}

/// Asks with this token until the answer has this status, at most until the limit.
pub async fn until_status(context: &Context, token: &str, status: u16) -> TestResult {
    let client = bearing(context, token);
    let is_so = |answer: &Result<Answer, Failure>| {
        answer.as_ref().is_ok_and(|answer| answer.status() == status)
    };
    let last = wait::last_within(PATIENCE, async || client.get("/read/1").await, is_so).await?;
    last.expect_status(status)?;
    Ok(())
}

/// Publishes these keys as well, and waits until the service has them.
pub async fn published(context: &Context, issuer: &Issuer, keys: &Keys, set: Vec<Value>) -> TestResult {
    for jwk in set {
        issuer.publish_too(jwk).await;
    }
    // An unknown kid for an accepted key: when that works, the service has the other keys, too.
    let marker = format!("marker-{}", issuer.counts().calls);
    issuer.publish_too(jwk(&keys.p256, &marker)).await;
    let token = issuer.rightful(&keys.p256, &marker, READ).await?;
    until_status(context, &token, 200).await
}
