//! Suite `who-is-asking` (exercise 16): the service accepts the access tokens of an issuer beside its API keys, whatever strangers make up
//! as a token, and whatever happens to the issuer.

mod bringing;
mod hostile;

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use tokio::time::timeout;
use workshop_base::wait;

use workshop_harness::contract::{
    Answer, Context, Failure, TestError, TestResult, contract_tests, expect,
    expect_at_most, expect_each, expect_eq, expect_none, has_status,
};
use workshop_harness::http::Body;
use workshop_harness::issuer::{
    AUDIENCE, Issuer, Keys, SUBJECT, from_now, header, jwk, jwk_with, payload, with,
};
use workshop_harness::issuer_away::Away;
use workshop_harness::tokens::{ED25519, OTHER, P256, RSA};
use workshop_harness::upstream::{Conduct, Counts};

use bringing::{PATIENCE, READ, bearing, is_refused, published, until_status};
use hostile::hostile_tokens_get_the_same_answer;

contract_tests! {
    issuer: [
        rightful_tokens_are_accepted,
        nothing_brought_names_both_ways,
        a_missing_scope_answers_403,
        a_wrong_token_is_not_rescued_by_a_key,
        hostile_tokens_get_the_same_answer,
        an_unclear_header_answers_400,
        a_new_key_is_asked_for_once,
        a_thousand_unknown_keys_do_not_ask_a_thousand_times,
        no_answer_changes_while_keys_rotate,
        a_withdrawn_key_counts_no_more,
        one_odd_key_spoils_no_other,
        a_hanging_issuer_blocks_nobody,
        no_token_is_written_anywhere,
    ],
    issuer_away: [
        a_start_without_an_issuer_recovers,
        known_keys_survive_an_outage,
        keys_that_are_too_old_answer_503,
        renewal_ends_with_the_service,
    ],
}

/// Concurrent requests with a key that is new.
const AT_ONCE: usize = 50;
/// Requests with unknown keys, and how many of them are sent at the same time.
const STORM: usize = 1000;
const WAVE: usize = 250;

/// Requests with unknown keys that wait while the issuer hangs.
const WAITING: usize = 4;

/// The scope for writing.
const WRITE: &str = "records:write";

/// Expects the answer to a request without valid credentials: both ways to authenticate.
fn names_both_ways(answer: &Answer) -> Result<&Answer, Failure> {
    let detail = "an access token is required, in the header Authorization, or a valid API key, in the header X-API-Key or the query \
                  parameter api_key";
    let challenges = answer.expect_problem(401, detail)?.headers("WWW-Authenticate");
    let mut named: Vec<&str> = challenges.split(',').map(str::trim).collect();
    named.sort_unstable();
    let expected = r#"header WWW-Authenticate: Bearer realm="records", and another one: ApiKey"#;
    let got = format!("WWW-Authenticate: {challenges}");
    answer.expect(named == ["ApiKey", r#"Bearer realm="records""#], expected, got)
}

fn lacks(scope: &str) -> impl Fn(&Answer) -> Result<&Answer, Failure> {
    let challenge = format!(r#"Bearer realm="records", error="insufficient_scope", scope="{scope}""#);
    let detail = format!("the access token lacks the scope {scope}");
    move |answer| {
        let refused = answer.expect_problem(403, &detail)?;
        refused.expect_header("WWW-Authenticate", &challenge)
    }
}

fn has_no_keys(answer: &Answer) -> Result<&Answer, Failure> {
    answer.expect_problem(503, "the keys of the issuer are not available")
}

/// Waits until the issuer sees this, and fails when it does not.
async fn until(issuer: &Issuer, what: &str, is_so: impl Fn(&Counts) -> bool) -> TestResult {
    let seen = timeout(PATIENCE, issuer.until(is_so)).await;
    expect(seen.is_ok(), what, format!("the issuer has counted: {:?}", issuer.counts()))
}

/// Waits until the service has fetched the keys once more.
async fn until_renewed(issuer: &Issuer) -> TestResult {
    let calls = issuer.counts().calls;
    let what = "another request for the keys, in the background";
    until(issuer, what, |counts| counts.calls > calls && counts.under_way == 0).await
}

async fn rightful_tokens_are_accepted(
    context: &Context,
    issuer: &Issuer,
    keys: &Keys,
) -> TestResult {
    let (head, body) = (header(&keys.rsa, RSA), payload(READ));
    let now = from_now(0);
    let rightful = [
        (json!({}), json!({})),
        (json!({"typ": "application/at+jwt"}), json!({})),
        (json!({"typ": "AT+JWT"}), json!({})),
        (json!({}), json!({"aud": ["invoices", AUDIENCE]})),
        (json!({}), json!({"exp": now as f64 + 60.5})),
        // Clocks may differ by five seconds.
        (json!({}), json!({"exp": now - 2})),
        (json!({}), json!({"nbf": now + 3})),
        (json!({}), json!({"scope": "profile records:read records:write"})),
    ];
    for (members, claims) in rightful {
        let (head, body) = (with(head.clone(), members), with(body.clone(), claims));
        let token = issuer.token(&keys.rsa, &head, &body).await?;
        bearing(context, &token).each(["/read/1"], has_status(200)).await?;
    }
    for (key, kid) in [(&keys.other, OTHER), (&keys.p256, P256)] {
        let token = issuer.rightful(key, kid, READ).await?;
        let client = bearing(context, &token);
        client.each(["/read/1", "/records?limit=1"], has_status(200)).await?;
    }
    let token = issuer.rightful(&keys.p256, P256, WRITE).await?;
    let client = bearing(context, &token);
    client.post("/records/1/visit").await?.expect_status(200)?;
    let visits = client.post_body("/visits", Body::json(r#"{"ids":[1]}"#)).await?;
    visits.expect_status(200)?;

    // EdDSA is optional.
    let token = issuer.rightful(&keys.ed25519, ED25519, READ).await?;
    let answer = bearing(context, &token).get("/read/1").await?;
    if answer.status() != 200 {
        is_refused(&answer)?;
    }

    let token = issuer.rightful(&keys.rsa, RSA, READ).await?;
    let any_case = context.client.without_key();
    let any_case = any_case.with("Authorization", Some(&format!("bearer {token}")));
    let who = any_case.with_request_id("who-was-it");
    who.each(["/read/1"], has_status(200)).await?;
    let is_named = |line: &str| line.contains("who-was-it") && line.contains(SUBJECT);
    let named = async || context.logged_line(is_named).transpose();
    let named = wait::within(PATIENCE, named).await.transpose()?;
    let expected = format!("a line in the log about the request, with the subject {SUBJECT}");
    expect(named.is_some(), expected, "no such line")
}

async fn nothing_brought_names_both_ways(
    context: &Context,
    issuer: &Issuer,
    keys: &Keys,
) -> TestResult {
    let token = issuer.rightful(&keys.rsa, RSA, READ).await?;
    let keyless = context.client.without_key();
    let in_query = format!("/read/1?access_token={token}");
    let paths = ["/read/1", "/read/abc", &in_query];
    keyless.each(paths, names_both_ways).await?;
    let basic = keyless.with("Authorization", Some("Basic cHJpeWE6c2VjcmV0"));
    basic.each(["/read/1"], names_both_ways).await?;
    context.client.with_key("wrong").each(["/read/1"], names_both_ways).await?;
    context.client.each(["/read/1"], has_status(200)).await?;
    keyless.each(["/health", "/ready"], has_status(200)).await
}

async fn a_missing_scope_answers_403(
    context: &Context,
    issuer: &Issuer,
    keys: &Keys,
) -> TestResult {
    let reads = ["/read/1", "/read/abc", "/records", "/records/export"];
    for scope in [WRITE, "xrecords:read", "records:readx", "records", ""] {
        let token = issuer.rightful(&keys.rsa, RSA, scope).await?;
        bearing(context, &token).each(reads, lacks(READ)).await?;
    }
    let without = with(payload(READ), json!({"scope": null}));
    let without = issuer.token(&keys.rsa, &header(&keys.rsa, RSA), &without).await?;
    bearing(context, &without).each(["/read/1"], lacks(READ)).await?;
    for scope in [READ, "xrecords:write"] {
        let token = issuer.rightful(&keys.rsa, RSA, scope).await?;
        let client = bearing(context, &token);
        lacks(WRITE)(&client.post("/records/1/visit").await?)?;
        let visits = client.post_body("/visits", Body::json(r#"{"ids":[1]}"#)).await?;
        lacks(WRITE)(&visits)?;
    }
    Ok(())
}

async fn a_wrong_token_is_not_rescued_by_a_key(
    context: &Context,
    issuer: &Issuer,
    keys: &Keys,
) -> TestResult {
    let both = |token: &str| {
        let bearer = format!("Bearer {token}");
        context.client.with("Authorization", Some(&bearer))
    };
    let expired = with(payload(READ), json!({"exp": from_now(-60)}));
    let expired = issuer.token(&keys.rsa, &header(&keys.rsa, RSA), &expired).await?;
    let key = context.settings.api_keys.first();
    let in_query = format!("/read/1?api_key={}", key.map_or("", String::as_str));
    both(&expired).each(["/read/1", &in_query], is_refused).await?;
    both("nonsense").each(["/read/1"], is_refused).await?;
    let narrow = issuer.rightful(&keys.rsa, RSA, WRITE).await?;
    both(&narrow).each(["/read/1"], lacks(READ)).await?;
    let right = issuer.rightful(&keys.rsa, RSA, READ).await?;
    both(&right).each(["/read/1"], has_status(200)).await?;
    let basic = context.client.with("Authorization", Some("Basic cHJpeWE6c2VjcmV0"));
    basic.each(["/read/1"], has_status(200)).await
}

async fn an_unclear_header_answers_400(
    context: &Context,
    issuer: &Issuer,
    keys: &Keys,
) -> TestResult {
    let is_unclear = |answer: &Answer| -> TestResult {
        let detail = "the header Authorization must be there once, with one token";
        let challenge = r#"Bearer realm="records", error="invalid_request""#;
        let unclear = answer.expect_problem(400, detail)?;
        unclear.expect_header("WWW-Authenticate", challenge)?;
        Ok(())
    };
    let token = issuer.rightful(&keys.rsa, RSA, READ).await?;
    let once = bearing(context, &token);
    let twice = once.with("authorization", Some(&format!("Bearer {token}")));
    is_unclear(&twice.get("/read/1").await?)?;
    // A key beside it doesn't make it clearer.
    let bare = context.client.with("Authorization", Some("Bearer"));
    is_unclear(&bare.get("/read/1").await?)
}

async fn a_new_key_is_asked_for_once(
    context: &Context,
    issuer: &Issuer,
    keys: &Keys,
) -> TestResult {
    // Long enough after any other unknown key.
    until_renewed(issuer).await?;
    until_renewed(issuer).await?;
    issuer.publish_too(jwk(&keys.p256, "new-1")).await;
    let token = issuer.rightful(&keys.p256, "new-1", READ).await?;
    let (before, began) = (issuer.counts().calls, Instant::now());
    let paths: Vec<String> = (1..=AT_ONCE).map(|id| format!("/read/{id}")).collect();
    let answers = bearing(context, &token).get_all(&paths).await;
    let renewals = renewals_in(context, began.elapsed());
    let calls = issuer.counts().calls - before;
    expect_each(&answers, has_status(200))?;
    let what = format!("requests for the keys, for {AT_ONCE} requests with the same new key (renewals included)");
    expect_at_most(1 + renewals, &what, calls)
}

/// How many renewals may have begun in this time.
fn renewals_in(context: &Context, time: Duration) -> usize {
    let renewal = context.settings.tokens.as_ref().map(|tokens| tokens.renewal);
    times_in(time, renewal.unwrap_or(PATIENCE))
}

fn times_in(time: Duration, each: Duration) -> usize {
    1 + (time.as_millis() / each.as_millis().max(1)) as usize
}

async fn a_thousand_unknown_keys_do_not_ask_a_thousand_times(
    context: &Context,
    issuer: &Issuer,
    keys: &Keys,
) -> TestResult {
    let secret = issuer.signer.key(json!({"secret": "nobody knows it"}), "HS256").await?;
    let (claims, mut storm) = (payload(READ).to_string(), Vec::new());
    for number in 0..STORM {
        let head = header(&keys.p256, &format!("nobody-{number}")).to_string();
        let token = issuer.signer.token(&secret, "HS256", &head, &claims);
        storm.push(bearing(context, &token.await?));
    }
    let known = bearing(context, &issuer.rightful(&keys.rsa, RSA, READ).await?);
    let (before, began) = (issuer.counts().calls, Instant::now());
    for wave in storm.chunks(WAVE) {
        let storming = join_all(wave.iter().map(|client| client.get("/read/1")));
        let (answers, meanwhile) = tokio::join!(storming, known.get("/read/1"));
        expect_each(&answers, is_refused)?;
        meanwhile?.expect_status(200)?;
    }
    let (calls, took) = (issuer.counts().calls - before, began.elapsed());
    let tokens = context.settings.tokens.as_ref();
    let cooldown = tokens.map_or(PATIENCE, |tokens| tokens.cooldown);
    let most = 1 + times_in(took, cooldown) + renewals_in(context, took);
    let what = format!("requests for the keys, for {STORM} unknown ones in {} ms", took.as_millis());
    expect_at_most(most, &what, calls)?;
    // The storm doesn't delay a client whose key is new.
    issuer.publish_too(jwk(&keys.p256, "after-the-storm")).await;
    let token = issuer.rightful(&keys.p256, "after-the-storm", READ).await?;
    until_status(context, &token, 200).await
}

async fn no_answer_changes_while_keys_rotate(
    context: &Context,
    issuer: &Issuer,
    keys: &Keys,
) -> TestResult {
    let old = bearing(context, &issuer.rightful(&keys.rsa, RSA, READ).await?);
    let new = bearing(context, &issuer.rightful(&keys.p256, "next-1", READ).await?);
    // Publish, wait for a renewal, then sign with the new key.
    let mut answers = Vec::new();
    let publishing = async {
        issuer.publish_too(jwk(&keys.p256, "next-1")).await;
        until_renewed(issuer).await?;
        // The next fetch begins once the service has the keys of the one before.
        until_renewed(issuer).await
    };
    let mut publishing = std::pin::pin!(publishing);
    loop {
        tokio::select! {
            biased;
            renewed = &mut publishing => break renewed?,
            asked = old.get("/read/1") => answers.push(asked),
        }
    }
    for _ in 0..10 {
        answers.push(new.get("/read/1").await);
        answers.push(old.get("/read/1").await);
    }
    expect_each(&answers, has_status(200))
}

async fn a_withdrawn_key_counts_no_more(
    context: &Context,
    issuer: &Issuer,
    keys: &Keys,
) -> TestResult {
    let token = issuer.rightful(&keys.other, OTHER, READ).await?;
    until_status(context, &token, 200).await?;
    issuer.withdraw(OTHER).await;
    until_status(context, &token, 401).await?;
    is_refused(&bearing(context, &token).get("/read/1").await?)?;
    let other = issuer.rightful(&keys.rsa, RSA, READ).await?;
    bearing(context, &other).each(["/read/1"], has_status(200)).await
}

async fn one_odd_key_spoils_no_other(
    context: &Context,
    issuer: &Issuer,
    keys: &Keys,
) -> TestResult {
    let known = bearing(context, &issuer.rightful(&keys.rsa, RSA, READ).await?);
    let odd = vec![
        json!({"kty": "LATTICE", "kid": "odd-1", "use": "sig", "alg": "ML-DSA-65"}),
        jwk_with(&keys.p256, json!({"kid": "odd-2", "use": 7})),
        jwk_with(&keys.p256, json!({"alg": "ES256"})),
        json!({"kty": "RSA", "kid": "odd-4", "n": "!", "e": 3}),
        json!("a text"),
    ];
    published(context, issuer, keys, odd).await?;
    known.each(["/read/1"], has_status(200)).await?;
    // An answer that isn't a key set changes nothing, and redirects aren't followed.
    let trap = Issuer::trap().await?;
    let elsewhere = format!(
        "HTTP/1.1 302 Found\r\nLocation: {}/jwks\r\nContent-Length: 0\r\n\r\n",
        trap.url()
    );
    let useless = [
        Conduct::Says(elsewhere.into_bytes()),
        Conduct::Floods,
        Conduct::Says(workshop_harness::upstream::answer("200 OK", "<html>")),
        Conduct::HangsUp,
    ];
    for conduct in useless {
        issuer.conduct(conduct);
        until_renewed(issuer).await?;
        known.each(["/read/1"], has_status(200)).await?;
    }
    expect_eq("connections to where a redirect leads", trap.counts().opened, 0)
}

async fn a_hanging_issuer_blocks_nobody(
    context: &Context,
    issuer: &Issuer,
    keys: &Keys,
) -> TestResult {
    let known = bearing(context, &issuer.rightful(&keys.rsa, RSA, READ).await?);
    let mut unknown = Vec::new();
    for number in 0..WAITING {
        let token = issuer.rightful(&keys.p256, &format!("unknown-{number}"), READ).await?;
        unknown.push(bearing(context, &token));
    }
    issuer.conduct(Conduct::Hangs);
    let calls = issuer.counts().calls;
    until(issuer, "a request for the keys", |counts| counts.calls > calls && counts.under_way > 0).await?;
    let (given_up, calls) = (issuer.counts().given_up, issuer.counts().calls);
    let asking = join_all(unknown.iter().map(|client| client.get("/read/1")));
    let (asked, meanwhile) = tokio::join!(asking, async {
        let answer = known.get("/read/1").await;
        (answer, issuer.counts().given_up)
    });
    let (answer, given_up_meanwhile) = meanwhile;
    answer?.expect_status(200)?;
    let what = "requests for the keys that ended before a known token was answered";
    expect_eq(what, given_up_meanwhile - given_up, 0)?;
    expect_each(&asked, is_refused)?;
    // The issuer is silent for longer than the cooldown. One of them asks, and after it a renewal may.
    let what = format!("requests for the keys while {WAITING} requests with unknown keys wait, and the issuer hangs");
    expect_at_most(2, &what, issuer.counts().calls - calls)
}

async fn no_token_is_written_anywhere(
    context: &Context,
    issuer: &Issuer,
    keys: &Keys,
) -> TestResult {
    let expired = with(payload(READ), json!({"exp": from_now(-61)}));
    let right = issuer.rightful(&keys.rsa, RSA, READ).await?;
    let tokens = [
        issuer.token(&keys.rsa, &header(&keys.rsa, RSA), &expired).await?,
        issuer.rightful(&keys.other, RSA, READ).await?,
        issuer.rightful(&keys.other, "unknown-2", READ).await?,
        right.replacen('.', ".x", 1),
        right,
    ];
    for token in &tokens {
        let client = bearing(context, token);
        for path in ["/read/1", "/read/abc", "/nothing-here", "/records/export"] {
            client.get(path).await?;
        }
        client.post("/visits").await?;
        let in_query = format!("/read/1?access_token={token}");
        context.client.without_key().get(&in_query).await?;
    }
    let parts = tokens.iter().flat_map(|token| token.split('.').skip(1));
    let parts: Vec<&str> = parts.collect();
    let leak = context.logged_line(|line| parts.iter().any(|part| line.contains(part)))?;
    let expected = "no part of a token in the service's log, whether it was accepted or refused";
    expect_none(expected, leak.map(|line| format!("this line: {}", line.trim())))
}

fn answered(answer: &Result<Answer, Failure>) -> Result<&Answer, TestError> {
    Ok(answer.as_ref().map_err(Clone::clone)?)
}

fn a_start_without_an_issuer_recovers(away: &Away) -> TestResult {
    answered(&away.key_without_keys)?.expect_status(200)?;
    has_no_keys(answered(&away.token_without_keys)?)?;
    answered(&away.token_when_back)?.expect_status(200)?;
    Ok(())
}

fn known_keys_survive_an_outage(away: &Away) -> TestResult {
    expect_each(&away.known_during_outage, has_status(200))?;
    let what = "renewals that were tried again while the issuer failed, each with a known token answered after it";
    expect_eq(what, away.failures_survived(), Away::FAILURES)
}

fn keys_that_are_too_old_answer_503(away: &Away) -> TestResult {
    has_no_keys(answered(&away.token_when_too_old)?)?;
    answered(&away.token_in_the_end)?.expect_status(200)?;
    Ok(())
}

fn renewal_ends_with_the_service(away: &Away) -> TestResult {
    let ended = away.end.status.is_some_and(|status| status.success());
    let expected = format!("exit code 0 within {:?} after SIGTERM, while the issuer hangs", away.end.limit);
    let got = format!("{:?} after {:?}", away.end.status, away.end.took);
    expect(ended, expected, got)?;
    let what = "requests for the keys after SIGTERM, while a read was finished";
    expect_at_most(1, what, away.asked_while_stopping)
}
