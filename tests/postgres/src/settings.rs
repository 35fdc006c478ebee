//! What the user asked for: the environment variables that choose and shape the server.

use std::fmt;
use std::path::PathBuf;

use serde::de::value::Error as Unknown;
use serde::de::{DeserializeOwned, IntoDeserializer};
use serde::{Deserialize, Serialize};

use workshop_base::outcome::Trouble;

/// Where the server comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provider {
    /// A server that the user runs, named by `WORKSHOP_DATABASE_URL`.
    Url,
    /// A container, by testcontainers.
    Docker,
    /// A server started from binaries, without Docker.
    Embedded,
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Where PostgreSQL's programs come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BinariesFrom {
    /// Installed on this machine.
    System,
    /// An artifact brought by Maven.
    Maven,
}

impl fmt::Display for BinariesFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// The wishes of the user; all of them optional.
#[derive(Debug, Clone, Default)]
pub struct ProviderSettings {
    /// `WORKSHOP_POSTGRES`: `url`, `docker` or `embedded`.
    pub provider: Option<Provider>,
    /// `WORKSHOP_DATABASE_URL`: a server that the user runs, `postgres://user:password@host:port/database`.
    pub url: Option<String>,
    /// `WORKSHOP_POSTGRES_IMAGE`: the image of the container.
    pub image: Option<String>,
    /// `WORKSHOP_DATA_DIR`: the folder below which the embedded server keeps its data.
    pub data_dir: Option<PathBuf>,
    /// `WORKSHOP_POSTGRES_BINARIES`: `system` or `maven`; without it the system's, else Maven's.
    pub binaries: Option<BinariesFrom>,
}

impl ProviderSettings {
    /// Reads the environment. An empty variable counts as not set; a value that means nothing is an error that lists those that do.
    pub fn from_env() -> Result<Self, Trouble> {
        Self::read(|name| std::env::var(name).ok())
    }

    /// Reads the variables through `variable`, so that a test needs no environment.
    fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Trouble> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let provider = one_of("WORKSHOP_POSTGRES", variable)?;
        let binaries = one_of("WORKSHOP_POSTGRES_BINARIES", variable)?;
        let url = variable("WORKSHOP_DATABASE_URL");
        if provider == Some(Provider::Url) && url.is_none() {
            return Err(Trouble::new("WORKSHOP_POSTGRES is url, but WORKSHOP_DATABASE_URL names no server")
                .expected("postgres://user:password@host:port/database, with a user that may create databases")
                .next("export WORKSHOP_DATABASE_URL=…, or unset WORKSHOP_POSTGRES"));
        }
        Ok(ProviderSettings {
            provider,
            url,
            image: variable("WORKSHOP_POSTGRES_IMAGE"),
            data_dir: variable("WORKSHOP_DATA_DIR").map(PathBuf::from),
            binaries,
        })
    }
}

/// The choice that the value of a variable names.
fn one_of<T: DeserializeOwned>(
    name: &str,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Option<T>, Trouble> {
    let Some(value) = variable(name) else {
        return Ok(None);
    };
    match T::deserialize(value.as_str().into_deserializer()) {
        Ok(choice) => Ok(Some(choice)),
        Err::<_, Unknown>(error) => Err(Trouble::new(format!("{name} is {value:?}: {error}"))
            .expected("one of these; without the variable, the tool takes the first that works")
            .next(format!("unset {name}, or give it one of these"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<ProviderSettings, Trouble> {
        ProviderSettings::read(|name| {
            pairs
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn an_unknown_provider_is_refused_with_those_that_exist() {
        let refusal = read(&[("WORKSHOP_POSTGRES", "podman")])
            .expect_err("podman isn't a provider")
            .to_string();
        assert!(refusal.contains("\"podman\""), "{refusal}");
        assert!(refusal.contains("`url`, `docker`, `embedded`"), "{refusal}");
        assert!(refusal.contains("next: "), "{refusal}");
    }

    #[test]
    fn unknown_binaries_are_refused_with_those_that_exist() {
        let refusal = read(&[("WORKSHOP_POSTGRES_BINARIES", "nix")])
            .expect_err("nix isn't a source")
            .to_string();
        assert!(refusal.contains("`system` or `maven`"), "{refusal}");
    }

    #[test]
    fn url_without_a_server_says_which_variable_is_missing() {
        let refusal = read(&[("WORKSHOP_POSTGRES", "url")])
            .expect_err("no server is named")
            .to_string();
        assert!(refusal.contains("WORKSHOP_DATABASE_URL"), "{refusal}");
    }

    #[test]
    fn an_empty_variable_counts_as_not_set() {
        let settings = read(&[("WORKSHOP_POSTGRES", ""), ("WORKSHOP_DATABASE_URL", " ")])
            .expect("nothing is asked for");
        assert_eq!(settings.provider, None);
        assert_eq!(settings.url, None);
    }
}
