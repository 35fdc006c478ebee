//! The hostile table: made-up tokens, each refused for a reason of its own, and all with the same answer. The reason is in
//! the log.

use serde_json::{Value, json};
use workshop_base::wait;

use workshop_harness::contract::{Answer, Context, Failure, TestResult, expect, expect_eq};
use workshop_harness::issuer::{
    ISSUER, Issuer, Keys, from_now, header, jwk_with, payload, with,
};
use workshop_harness::signer::Key;
use workshop_harness::tokens::{P256, RSA};

use super::bringing::{PATIENCE, READ, bearing, is_refused, published};

/// A token that must not be accepted.
struct Hostile {
    /// Its row, and what is wrong with it.
    name: String,
    token: String,
    /// Why it is refused, for the log: one of these.
    reasons: Reasons,
}

type Reasons = &'static [&'static str];

/// Makes hostile tokens, row by row.
struct Forge<'a> {
    issuer: &'a Issuer,
    keys: &'a Keys,
    tokens: Vec<Hostile>,
}

const MALFORMED: Reasons = &["malformed"];
const ALGORITHM: Reasons = &["algorithm"];
const KEY: Reasons = &["key"];
const SIGNATURE: Reasons = &["signature"];
const TIME: Reasons = &["time"];
const AUDIENCE: Reasons = &["audience"];
const SUBJECT: Reasons = &["subject"];

impl Forge<'_> {
    fn add(&mut self, row: u8, what: &str, token: impl Into<String>, reasons: Reasons) {
        self.tokens.push(Hostile {
            name: format!("row {row} ({what})"),
            token: token.into(),
            reasons,
        });
    }

    /// A token with changes to a rightful header and payload, signed like this.
    async fn signed(
        &self,
        (key, kid, alg): (&Key, &str, &str),
        header_with: Value,
        payload_with: Value,
    ) -> anyhow::Result<String> {
        let header = with(header(key, kid), header_with).to_string();
        let payload = with(payload(READ), payload_with).to_string();
        self.issuer.signer.token(key, alg, &header, &payload).await
    }

    /// One with a changed header, whose signature is right.
    async fn header(&mut self, row: u8, what: &str, changes: Value, why: Reasons) -> anyhow::Result<()> {
        let signer = (&self.keys.rsa, RSA, "RS256");
        let token = self.signed(signer, changes, json!({})).await?;
        self.add(row, what, token, why);
        Ok(())
    }

    /// One with a changed payload, whose signature is right.
    async fn payload(&mut self, row: u8, what: &str, changes: Value, why: Reasons) -> anyhow::Result<()> {
        let signer = (&self.keys.rsa, RSA, "RS256");
        let token = self.signed(signer, json!({}), changes).await?;
        self.add(row, what, token, why);
        Ok(())
    }

    /// One with this header and this payload as they are.
    async fn raw(&mut self, row: u8, what: &str, header: &str, payload: &str) -> anyhow::Result<()> {
        let signer = &self.issuer.signer;
        let token = signer.token(&self.keys.rsa, "RS256", header, payload).await?;
        self.add(row, what, token, MALFORMED);
        Ok(())
    }

    /// Rows 1 to 4: malformed or unsigned tokens.
    async fn forms(&mut self) -> anyhow::Result<()> {
        let (rsa, right) = (&self.keys.rsa, payload(READ).to_string());
        let token = self.issuer.rightful(rsa, RSA, READ).await?;
        let [head, body, signature] = parts(&token);
        self.add(1, "two parts", format!("{head}.{body}"), MALFORMED);
        self.add(1, "four parts", format!("{token}.{signature}"), MALFORMED);
        self.add(1, "five parts", format!("{token}.{body}.{signature}"), MALFORMED);
        let mut number = 0;
        let standard = loop {
            let signer = (rsa, RSA, "RS256");
            let token = self.signed(signer, json!({}), json!({"jti": number})).await?;
            number += 1;
            let standard = token.replace('-', "+").replace('_', "/");
            if standard != token {
                break standard;
            }
        };
        self.add(2, "standard base64 instead of base64url", standard, MALFORMED);
        self.raw(3, "a list as header", "[]", &right).await?;
        self.raw(3, "a header that is no JSON", "typ: at+jwt", &right).await?;
        for alg in ["none", "nOnE"] {
            let changes = json!({"alg": alg});
            let token = self.signed((rsa, RSA, "RS256"), changes, json!({})).await?;
            let [head, body, _] = parts(&token);
            let unsigned = format!("{head}.{body}.");
            self.add(4, &format!("alg {alg}, no signature"), unsigned, &["algorithm", "malformed"]);
        }
        Ok(())
    }

    /// Rows 5 to 10: algorithms that the key is not for.
    async fn algorithms(&mut self, oct: &Key) -> anyhow::Result<()> {
        let rsa = &self.keys.rsa;
        for (row, member) in [(5, "pem"), (6, "n")] {
            let secret = rsa.public[member].clone();
            let secret = self.issuer.signer.key(json!({"secret": secret}), "HS256").await?;
            let token = self.signed((&secret, RSA, "HS256"), json!({}), json!({})).await?;
            let what = format!("HS256, with the public key as its secret: {member}");
            self.add(row, &what, token, ALGORITHM);
        }
        let token = self.signed((oct, "oct-1", "HS256"), json!({}), json!({})).await?;
        self.add(7, "HS256, with a secret that is published", token, &["algorithm", "key"]);
        for (row, alg) in [(8, "RS512"), (9, "PS256")] {
            let token = self.signed((rsa, RSA, alg), json!({"alg": alg}), json!({})).await?;
            self.add(row, &format!("{alg}, where the key is for RS256"), token, ALGORITHM);
        }
        let signer = (&self.keys.p256, P256, "ES256");
        let token = self.signed(signer, json!({"alg": "ES384"}), json!({})).await?;
        self.add(10, "ES384, where the key is on P-256", token, ALGORITHM);
        Ok(())
    }

    /// Rows 11 to 16: signatures of another key or for another text.
    async fn signatures(&mut self) -> anyhow::Result<()> {
        let (rsa, p256) = (&self.keys.rsa, &self.keys.p256);
        let token = self.issuer.rightful(rsa, RSA, READ).await?;
        let [head, body, signature] = parts(&token);
        let flipped = if signature.starts_with('A') { "B" } else { "A" };
        let flipped = format!("{head}.{body}.{flipped}{}", &signature[1..]);
        self.add(11, "another first byte in the signature", flipped, SIGNATURE);
        let wide = self.issuer.rightful(rsa, RSA, "records:read records:write").await?;
        let [_, wide, _] = parts(&wide);
        self.add(12, "another payload", format!("{head}.{wide}.{signature}"), SIGNATURE);
        self.add(13, "no signature", format!("{head}.{body}."), &["signature", "malformed"]);
        let half = &signature[..signature.len() / 2 / 4 * 4];
        self.add(13, "half a signature", format!("{head}.{body}.{half}"), SIGNATURE);
        let token = self.issuer.rightful(p256, P256, READ).await?;
        let [head, body, _] = parts(&token);
        let zero = format!("{head}.{body}.{}", "A".repeat(86));
        self.add(14, "ES256, both numbers zero", zero, SIGNATURE);
        let token = self.signed((p256, P256, "ES256-DER"), json!({}), json!({})).await?;
        self.add(15, "ES256, the signature in DER", token, SIGNATURE);
        let token = self.signed((&self.keys.other, RSA, "RS256"), json!({}), json!({})).await?;
        self.add(16, "signed by another key of the set", token, SIGNATURE);
        Ok(())
    }

    /// Rows 17 to 25: keys that aren't accepted.
    async fn strange_keys(&mut self, trap: &str) -> anyhow::Result<()> {
        self.header(17, "an unknown kid", json!({"kid": "unknown"}), KEY).await?;
        self.header(18, "no kid, where there are several keys", json!({"kid": null}), KEY).await?;
        let either: Reasons = &["key", "malformed"];
        self.header(19, "a number as kid", json!({"kid": 7}), either).await?;
        for kid in ["../../../etc/passwd", "' OR '1'='1", ""] {
            self.header(19, &format!("the kid {kid:?}"), json!({"kid": kid}), either).await?;
        }
        let own = self.issuer.signer.key(json!("p256"), "ES256").await?;
        for kid in ["its-own", P256] {
            let brought = json!({"jwk": jwk_with(&own, json!({"kid": kid}))});
            let token = self.signed((&own, kid, "ES256"), brought, json!({})).await?;
            let what = format!("a key of its own in jwk, the kid {kid}");
            self.add(20, &what, token, &["key", "signature"]);
        }
        let chain = json!({"kid": "its-own", "x5c": ["MIIBszCCAVmgAwIBAgIUGQ=="]});
        self.header(20, "a certificate of its own in x5c", chain, KEY).await?;
        for member in ["jku", "x5u"] {
            let elsewhere = json!({member: format!("{trap}/jwks"), "kid": "elsewhere"});
            self.header(21, &format!("a {member} that points elsewhere"), elsewhere, KEY).await?;
        }
        let p256 = &self.keys.p256;
        for (row, kid, what) in [
            (22, "enc-1", "a key for encryption"),
            (23, "ops-1", "a key whose key_ops don't have verify"),
        ] {
            let token = self.signed((p256, kid, "ES256"), json!({}), json!({})).await?;
            self.add(row, what, token, KEY);
        }
        let token = self.signed((&self.keys.short, "short-1", "RS256"), json!({}), json!({})).await?;
        self.add(24, "an RSA key of 1,024 bits", token, KEY);
        for alg in ["ES256", "ES384"] {
            let signer = (p256, "p384-1", "ES256");
            let token = self.signed(signer, json!({"alg": alg}), json!({})).await?;
            let what = format!("a point of P-256 said to be on P-384, {alg}");
            self.add(25, &what, token, KEY);
        }
        Ok(())
    }

    /// Rows 26 to 37: headers and claims.
    async fn claims(&mut self) -> anyhow::Result<()> {
        self.header(26, "an unknown crit", json!({"crit": ["exp"]}), MALFORMED).await?;
        let plain = json!({"crit": ["b64"], "b64": false});
        self.header(26, "b64: false", plain, MALFORMED).await?;
        self.header(27, "typ JWT, as ID tokens have it", json!({"typ": "JWT"}), &["type"]).await?;
        self.header(27, "no typ", json!({"typ": null}), &["type"]).await?;

        let now = from_now(0);
        let later = (now + 300).to_string();
        self.payload(28, "no exp", json!({"exp": null}), TIME).await?;
        self.payload(28, "a text as exp", json!({"exp": later}), TIME).await?;
        self.payload(28, "a negative exp", json!({"exp": -1}), TIME).await?;
        self.payload(29, "expired 10 s ago", json!({"exp": now - 10}), TIME).await?;
        self.payload(30, "nbf in a minute", json!({"nbf": now + 60}), TIME).await?;
        self.payload(30, "a text as nbf", json!({"nbf": "0"}), TIME).await?;

        let why: Reasons = &["issuer"];
        self.payload(31, "no iss", json!({"iss": null}), why).await?;
        self.payload(31, "another iss", json!({"iss": "https://other.example"}), why).await?;
        let slash = json!({"iss": format!("{ISSUER}/")});
        self.payload(31, "iss with a slash at its end", slash, why).await?;
        let list = json!({"iss": [ISSUER]});
        self.payload(32, "a list as iss", list, &["issuer", "malformed"]).await?;
        let either: Reasons = &["audience", "malformed"];
        self.payload(33, "no aud", json!({"aud": null}), AUDIENCE).await?;
        for aud in ["invoices", "record", "records2"] {
            self.payload(33, &format!("the aud {aud}"), json!({"aud": aud}), AUDIENCE).await?;
        }
        self.payload(33, "an empty list as aud", json!({"aud": []}), AUDIENCE).await?;
        self.payload(33, "an object as aud", json!({"aud": {"records": 1}}), either).await?;
        let either: Reasons = &["subject", "malformed"];
        self.payload(34, "no sub", json!({"sub": null}), SUBJECT).await?;
        self.payload(34, "an empty sub", json!({"sub": ""}), SUBJECT).await?;
        self.payload(34, "a number as sub", json!({"sub": 7}), either).await?;
        let list = json!({"scope": [READ]});
        self.payload(35, "a list as scope", list, MALFORMED).await?;
        let right = header(&self.keys.rsa, RSA).to_string();
        for payload in ["[]", "null", "\"records:read\"", "{"] {
            let what = format!("the payload {payload}");
            self.raw(36, &what, &right, payload).await?;
        }
        Ok(())
    }
}

/// The three parts of a token.
fn parts(token: &str) -> [&str; 3] {
    let mut parts = token.split('.');
    [(); 3].map(|()| parts.next().unwrap_or_default())
}

/// Keys that a set may contain and that must not be accepted.
fn odd_keys(keys: &Keys, oct: &Key) -> Vec<Value> {
    let p384 = json!({"kid": "p384-1", "use": "sig", "alg": "ES384", "crv": "P-384"});
    vec![
        jwk_with(&keys.p256, json!({"kid": "enc-1", "use": "enc"})),
        jwk_with(&keys.p256, json!({"kid": "ops-1", "alg": "ES256", "key_ops": ["encrypt"]})),
        jwk_with(&keys.short, json!({"kid": "short-1", "use": "sig", "alg": "RS256"})),
        jwk_with(&keys.p256, p384),
        jwk_with(oct, json!({"kid": "oct-1", "use": "sig", "alg": "HS256"})),
    ]
}

pub async fn hostile_tokens_get_the_same_answer(
    context: &Context,
    issuer: &Issuer,
    keys: &Keys,
) -> TestResult {
    let oct = issuer.signer.key(json!({"secret": "a published secret"}), "HS256").await?;
    published(context, issuer, keys, odd_keys(keys, &oct)).await?;
    let trap = Issuer::trap().await?;
    let mut forge = Forge { issuer, keys, tokens: Vec::new() };
    forge.forms().await?;
    forge.algorithms(&oct).await?;
    forge.signatures().await?;
    forge.strange_keys(&trap.url()).await?;
    forge.claims().await?;

    let mut found = Findings::default();
    for (number, hostile) in forge.tokens.iter().enumerate() {
        let client = bearing(context, &hostile.token).with_request_id(&format!("hostile-{number}-"));
        let answer = client.get("/read/1").await?;
        if let Err(failure) = is_refused(&answer) {
            found.note(&hostile.name, &answer, failure);
        }
    }
    let signer = (&keys.rsa, RSA, "RS256");
    let long = forge.signed(signer, json!({"kid": "k".repeat(10_000)}), json!({})).await?;
    let answer = bearing(context, &long).get("/read/1").await?;
    if ![400, 431].contains(&answer.status())
        && let Err(failure) = is_refused(&answer)
    {
        found.note("row 37 (more than 8 kB)", &answer, failure);
    }
    found.none()?;
    reasons_are_logged(context, &forge.tokens).await?;
    let opened = trap.counts().opened;
    expect_eq("connections to where jku and x5u lead", opened, 0)
}

/// The rows that were not refused as they should be.
#[derive(Default)]
struct Findings {
    rows: Vec<String>,
    first: Option<Failure>,
}

impl Findings {
    fn note(&mut self, name: &str, answer: &Answer, failure: Failure) {
        let challenge = answer.headers("WWW-Authenticate");
        let status = answer.status();
        self.rows.push(format!("{name}: status {status}, WWW-Authenticate: {challenge}"));
        self.first.get_or_insert(failure);
    }

    fn none(self) -> Result<(), Failure> {
        let Some(first) = self.first else { return Ok(()) };
        let got = format!("{}\n{}", first.actual, self.rows.join("\n"));
        Err(Failure { actual: got, ..first })
    }
}

/// Each request has a line in the log that says why its token was refused.
async fn reasons_are_logged(context: &Context, tokens: &[Hostile]) -> TestResult {
    let look = async || context.logged().map(|log| unexplained(&log, tokens));
    let no_more = |rows: &anyhow::Result<Vec<String>>| !matches!(rows, Ok(rows) if !rows.is_empty());
    let rows = wait::last_within(PATIENCE / 5, look, no_more).await?;
    let expected = "for each of these tokens a line in the log, with the id of its request and its own reason";
    expect(rows.is_empty(), expected, rows.join("\n"))
}

/// The rows without a reason for their refusal in this log.
fn unexplained(log: &str, tokens: &[Hostile]) -> Vec<String> {
    let mut rows = Vec::new();
    for (number, hostile) in tokens.iter().enumerate() {
        let id = format!("hostile-{number}-");
        let mut reasons = hostile.reasons.iter();
        let is_explained = reasons.any(|reason| {
            let words = format!("token refused: {reason}");
            let mut lines = log.lines();
            lines.any(|line| line.contains(&id) && line.contains(&words))
        });
        if !is_explained {
            let (name, reasons) = (&hostile.name, hostile.reasons.join(" or "));
            rows.push(format!("{name}: no line with \"token refused: {reasons}\""));
        }
    }
    rows
}
