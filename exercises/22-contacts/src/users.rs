//! The users: reads their names and passwords, and authenticates each request.

use std::borrow::Cow;

use axum::http::{HeaderMap, header::AUTHORIZATION};
use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use subtle::ConstantTimeEq;
use unicode_normalization::UnicodeNormalization;

use crate::error::Error;

/// The maximum length of a name, in bytes.
const MAX_NAME: usize = 32;

/// The users with an address book. No `Debug`, because it would print their passwords.
#[derive(Clone)]
pub struct Users(Vec<(String, String)>);

/// An authenticated user. The field is private, so only this module can create one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User(String);

impl User {
    /// The name, which is part of the user's paths.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl Users {
    /// Parses `name:password,name:password`. A password can contain anything but a comma.
    pub fn read(text: &str) -> Option<Users> {
        let users = text.split(',').map(|user| {
            let (name, password) = user.split_once(':')?;
            let usable = is_name(name) && !password.is_empty();
            usable.then(|| (name.to_owned(), composed(password)))
        });
        let users: Vec<(String, String)> = users.collect::<Option<_>>()?;
        let names = || users.iter().map(|(name, _)| name);
        let once = names().all(|name| names().filter(|other| *other == name).count() == 1);
        once.then_some(Users(users))
    }

    /// Authenticates the request with HTTP Basic authentication, and returns its user.
    ///
    /// # Errors
    /// The credentials are missing or wrong.
    pub fn admit(&self, headers: &HeaderMap) -> Result<User, Error> {
        let (name, password) = credentials(headers).ok_or(Error::Unauthorized)?;
        let mut admitted = None;
        // Compares all users in constant time, so the duration doesn't reveal how close a guess is.
        for (user, accepted) in &self.0 {
            let same_password = accepted.as_bytes().ct_eq(password.as_bytes());
            let same_name = user.as_bytes().ct_eq(name.as_bytes());
            if bool::from(same_name & same_password) {
                admitted = Some(User(user.clone()));
            }
        }
        admitted.ok_or(Error::Unauthorized)
    }
}

/// The name and the password in the header `Authorization: Basic …`.
fn credentials(headers: &HeaderMap) -> Option<(String, String)> {
    let header = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("Basic") {
        return None;
    }
    let decoded = STANDARD_NO_PAD
        .decode(encoded.trim().trim_end_matches('='))
        .ok()?;
    let decoded = text_of(&decoded);
    let (name, password) = decoded.split_once(':')?;
    Some((typed(name), composed(password)))
}

/// Decodes credentials. The challenge asks for UTF-8, but some clients ignore that and send Latin-1.
fn text_of(credentials: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(credentials) {
        Ok(text) => text.into(),
        Err(_) => encoding_rs::mem::decode_latin1(credentials),
    }
}

/// Normalizes a name: phone keyboards capitalize its first letter and append a space.
fn typed(name: &str) -> String {
    name.trim().to_ascii_lowercase()
}

/// Normalizes a password for comparison: an ü can be one character, or a u with a combining mark.
fn composed(password: &str) -> String {
    password.nfc().collect()
}

fn is_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
impl Users {
    /// Creates a user without a password check, for tests of the code behind the authentication.
    pub fn trusted(name: &str) -> User {
        User(name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_read_as_they_are_set() {
        for (text, usable) in [
            ("ada:secret", true),
            ("ada:secret,grace-2:a:b [c]", true),
            ("", false),
            ("ada", false),
            ("ada:", false),
            ("Ada:secret", false),
            ("ada:secret,", false),
            ("ada:secret,ada:another", false),
        ] {
            assert_eq!(Users::read(text).is_some(), usable, "{text:?}");
        }
    }
}
