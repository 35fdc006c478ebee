//! What the user asked for: the environment variables that choose and shape the server.

use std::fmt;
use std::path::PathBuf;

use workshop_base::outcome::Trouble;

/// Where the server comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// A server that the user runs, named by `WORKSHOP_DATABASE_URL`.
    Url,
    /// A container, by testcontainers.
    Docker,
    /// A server started from binaries, without Docker.
    Embedded,
}

const PROVIDERS: [(&str, Provider); 3] = [
    ("url", Provider::Url),
    ("docker", Provider::Docker),
    ("embedded", Provider::Embedded),
];

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = PROVIDERS.iter().find(|(_, provider)| provider == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

/// Where PostgreSQL's programs come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinariesFrom {
    /// Installed on this machine.
    System,
    /// An artifact brought by Maven.
    Maven,
}

const SOURCES: [(&str, BinariesFrom); 2] = [
    ("system", BinariesFrom::System),
    ("maven", BinariesFrom::Maven),
];

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
    /// Reads the environment. An empty variable counts as not set; a value that means nothing is an error that lists those that do.
    pub fn from_env() -> anyhow::Result<Self> {
        Self::read(|name| std::env::var(name).ok())
    }

    /// Reads the variables through `variable`, so that a test needs no environment.
    fn read(variable: impl Fn(&str) -> Option<String>) -> anyhow::Result<Self> {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let name = "WORKSHOP_POSTGRES";
        let provider = one_of(name, variable(name), &PROVIDERS)?;
        let name = "WORKSHOP_POSTGRES_BINARIES";
        let binaries = one_of(name, variable(name), &SOURCES)?;
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

/// The choice that the value of a variable names.
fn one_of<T: Copy>(
    variable: &str,
    value: Option<String>,
    choices: &[(&str, T)],
) -> anyhow::Result<Option<T>> {
    let Some(value) = value else { return Ok(None) };
    if let Some((_, choice)) = choices.iter().find(|(name, _)| *name == value) {
        return Ok(Some(*choice));
    }
    let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
    Err(
        Trouble::new(format!("{variable} is {value:?}, which means nothing"))
            .expected(format!(
                "one of: {}; without the variable the first that works is taken",
                names.join(", ")
            ))
            .next(format!("unset {variable}, or give it one of these"))
            .into(),
    )
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
        assert!(refusal.contains("url, docker, embedded"), "{refusal}");
        assert!(refusal.contains("next: "), "{refusal}");
    }

    #[test]
    fn unknown_binaries_are_refused_with_those_that_exist() {
        let refusal = read(&[("WORKSHOP_POSTGRES_BINARIES", "nix")])
            .expect_err("nix is no source")
            .to_string();
        assert!(refusal.contains("system, maven"), "{refusal}");
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
