//! What the user asked for: the environment variables that choose and shape the server.

use std::path::PathBuf;

use crate::Provider;
use workshop_base::outcome::Trouble;

/// Where PostgreSQL's programs come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinariesFrom {
    /// Installed on this machine.
    System,
    /// An artifact brought by Maven.
    Maven,
}

/// The wishes of the user; all of them optional.
#[derive(Debug, Clone, Default)]
pub struct Settings {
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

impl Settings {
    /// Reads the environment. An empty variable counts as not set.
    ///
    /// # Errors
    /// When a variable has a value that means nothing; the error lists those that do.
    pub fn from_env() -> anyhow::Result<Self> {
        Self::read(|name| std::env::var(name).ok())
    }

    /// Reads the variables through `variable`, so that a test needs no environment.
    ///
    /// # Errors
    /// As [`Settings::from_env`].
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let provider = match variable("WORKSHOP_POSTGRES").as_deref() {
            None => None,
            Some("url") => Some(Provider::Url),
            Some("docker") => Some(Provider::Docker),
            Some("embedded") => Some(Provider::Embedded),
            Some(other) => {
                return Err(Trouble::new(format!(
                    "WORKSHOP_POSTGRES is {other:?}, which is no provider"
                ))
                .expected(
                    "url, docker or embedded; without the variable the first that works is taken",
                )
                .next("unset WORKSHOP_POSTGRES, or give it one of the three")
                .into());
            }
        };
        let binaries = match variable("WORKSHOP_POSTGRES_BINARIES").as_deref() {
            None => None,
            Some("system") => Some(BinariesFrom::System),
            Some("maven") => Some(BinariesFrom::Maven),
            Some(other) => {
                return Err(Trouble::new(format!("WORKSHOP_POSTGRES_BINARIES is {other:?}, which means nothing"))
                    .expected("system or maven; without the variable the system's programs are taken where there are any")
                    .next("unset WORKSHOP_POSTGRES_BINARIES, or give it one of the two")
                    .into());
            }
        };
        let url = variable("WORKSHOP_DATABASE_URL");
        if provider == Some(Provider::Url) && url.is_none() {
            return Err(Trouble::new("WORKSHOP_POSTGRES is url, but WORKSHOP_DATABASE_URL names no server")
                .expected("postgres://user:password@host:port/database, with a user that may create databases")
                .next("export WORKSHOP_DATABASE_URL=…, or unset WORKSHOP_POSTGRES")
                .into());
        }
        Ok(Settings {
            provider,
            url,
            image: variable("WORKSHOP_POSTGRES_IMAGE"),
            data_dir: variable("WORKSHOP_DATA_DIR").map(PathBuf::from),
            binaries,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> anyhow::Result<Settings> {
        Settings::read(|name| {
            pairs
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn an_unknown_provider_is_refused_with_those_that_exist() {
        let refusal = read(&[("WORKSHOP_POSTGRES", "podman")])
            .expect_err("podman is no provider")
            .to_string();
        assert!(refusal.contains("\"podman\""), "{refusal}");
        assert!(refusal.contains("url, docker or embedded"), "{refusal}");
        assert!(refusal.contains("next: "), "{refusal}");
    }

    #[test]
    fn unknown_binaries_are_refused_with_those_that_exist() {
        let refusal = read(&[("WORKSHOP_POSTGRES_BINARIES", "nix")])
            .expect_err("nix is no source")
            .to_string();
        assert!(refusal.contains("system or maven"), "{refusal}");
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
