//! Makes keys and signs tokens, as it is asked on its input: a line of JSON for each question, and a line for each answer. A program of
//! its own, since no check but exercise 16's needs a signature.

mod key;

use std::io;

use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::key::{Algorithm, Key, Kind};

/// What it is asked for.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Question {
    /// A new key. The answer is what everybody may know of it.
    Make(Kind),
    /// A token, with header and payload to the byte, signed by the key of this number, counted from 0.
    Sign {
        key: usize,
        alg: Algorithm,
        header: String,
        payload: String,
    },
}

fn main() -> anyhow::Result<()> {
    let mut keys = Vec::new();
    for line in io::stdin().lines() {
        println!("{}", answer(&mut keys, &line?)?);
    }
    Ok(())
}

fn answer(keys: &mut Vec<Key>, question: &str) -> anyhow::Result<Value> {
    match serde_json::from_str(question)? {
        Question::Make(kind) => {
            let key = Key::make(kind)?;
            let public = key.public()?;
            keys.push(key);
            Ok(public)
        }
        Question::Sign {
            key,
            alg,
            header,
            payload,
        } => {
            let key = keys.get(key).context("there is no such key")?;
            let message = format!("{}.{}", base64url(header), base64url(payload));
            let signature = base64url(key.sign(alg, message.as_bytes())?);
            Ok(json!(format!("{message}.{signature}")))
        }
    }
}

fn base64url(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}
