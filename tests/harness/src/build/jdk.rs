//! Finding a JDK: the one that `JAVA_HOME` names, else the newest of the PATH and of the folders where systems put them.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use workshop_base::mend;

use workshop_base::mend::System;
use workshop_base::outcome::Trouble;

/// The oldest Java that the Kotlin service is built for.
pub const OLDEST: u32 = 17;

/// The oldest Java whose functions that call native code are final: exercise 11 needs them.
pub const CALLS_NATIVE: u32 = 22;

/// The Java that runs it best.
pub const RECOMMENDED: u32 = 25;

/// How long a `java` may take to say what it is, also on a Raspberry Pi.
const PATIENCE: Duration = Duration::from_secs(10);

/// A JDK on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Jdk {
    /// Its folder, the value for `JAVA_HOME`.
    pub home: PathBuf,
    /// Its version, as it calls itself: `25.0.1`.
    pub version: String,
}

impl Jdk {
    /// The feature release: 25 of `25.0.1`, 8 of `1.8.0_392`.
    pub fn feature(&self) -> u32 {
        let mut numbers = self.numbers();
        match numbers.next() {
            Some(1) => numbers.next().unwrap_or(1),
            first => first.unwrap_or(0),
        }
    }

    /// The `java` that runs programs.
    pub fn java(&self) -> PathBuf {
        self.home.join("bin/java")
    }

    fn numbers(&self) -> impl Iterator<Item = u32> {
        self.version
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|number| number.parse().ok())
    }

    /// The JDK in this folder, if it holds one (a compiler, not only a runtime).
    fn at(home: &Path) -> Result<Self, &'static str> {
        if !home.is_dir() {
            return Err("is no folder");
        }
        if !home.join("bin/java").is_file() {
            return Err("has no bin/java");
        }
        if !home.join("bin/javac").is_file() {
            return Err("is a runtime only, without bin/javac");
        }
        let version =
            version_in_release(home).or_else(|| Some(properties(&home.join("bin/java"))?.1));
        let home = home.canonicalize().unwrap_or_else(|_| home.to_path_buf());
        version
            .map(|version| Jdk { home, version })
            .ok_or("does not tell its version")
    }
}

/// Why there is no JDK to work with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lack {
    /// None was found.
    None,
    /// The newest one found is too old.
    Old(Jdk),
    /// `JAVA_HOME` names something that is no JDK, and why; the newest one found elsewhere.
    JavaHomeWrong(PathBuf, &'static str, Option<Jdk>),
    /// `JAVA_HOME` names a JDK that is too old; the newest one found elsewhere.
    JavaHomeOld(Jdk, Option<Jdk>),
}

impl Lack {
    /// A JDK elsewhere on the machine that would do, when `JAVA_HOME` is at fault.
    pub fn instead(&self) -> Option<&Path> {
        match self {
            Lack::JavaHomeWrong(_, _, other) | Lack::JavaHomeOld(_, other) => {
                other.as_ref().map(|jdk| jdk.home.as_path())
            }
            Lack::None | Lack::Old(_) => None,
        }
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lack::None => write!(
                f,
                "no JDK found, needed is {OLDEST} or newer ({RECOMMENDED} is best)"
            ),
            Lack::Old(jdk) => {
                write!(
                    f,
                    "{} in {}, needed is {OLDEST} or newer ({RECOMMENDED} is best)",
                    jdk.version,
                    jdk.home.display()
                )
            }
            Lack::JavaHomeWrong(home, why, _) => {
                write!(f, "JAVA_HOME names {}, which {why}", home.display())
            }
            Lack::JavaHomeOld(jdk, _) => write!(
                f,
                "JAVA_HOME names {}, a JDK {}; needed is {OLDEST} or newer",
                jdk.home.display(),
                jdk.version
            ),
        }
    }
}

/// The JDK to build and run the Kotlin service with.
///
/// # Errors
/// When there is none, or the one that `JAVA_HOME` names will not do; the error holds the command that mends it.
pub fn find() -> Result<Jdk, Trouble> {
    search().map_err(|lack| {
        let next = match lack.instead() {
            Some(home) => format!("export JAVA_HOME={}", home.display()),
            None => install(),
        };
        Trouble::new(format!("the Kotlin side needs a JDK: {lack}"))
            .expected(format!(
                "a JDK {OLDEST} or newer, by JAVA_HOME, on the PATH or where the system puts them"
            ))
            .next(next)
    })
}

/// As [`find`], for what needs a newer release than the Kotlin service.
///
/// # Errors
/// As [`find`], and when the one found is too old for `what`.
pub fn find_at_least(feature: u32, what: &str) -> Result<Jdk, Trouble> {
    let jdk = find()?;
    if jdk.feature() >= feature {
        return Ok(jdk);
    }
    // Without JAVA_HOME the newest was found already.
    let other = newest(candidates()).filter(|other| other.feature() >= feature);
    let next = other.map_or_else(install, |other| {
        format!("export JAVA_HOME={}", other.home.display())
    });
    Err(Trouble::new(format!(
        "{what} needs a JDK {feature} or newer, found is {} in {}",
        jdk.version,
        jdk.home.display()
    ))
    .expected(format!("a JDK {feature} or newer ({RECOMMENDED} is best)"))
    .next(next))
}

/// What installs a JDK here.
fn install() -> String {
    format!(
        "{}; just doctor shows what is found then",
        System::here().install(&mend::JDK).in_words()
    )
}

/// As [`find`], with the reason as a value.
///
/// # Errors
/// The reason why there is none.
pub fn search() -> Result<Jdk, Lack> {
    let java_home = std::env::var_os("JAVA_HOME")
        .filter(|value| !value.is_empty())
        .map(PathBuf::from);
    decide(java_home.as_deref(), candidates())
}

fn candidates() -> impl Iterator<Item = PathBuf> {
    java_home_of_path().into_iter().chain(well_known())
}

/// The newest of the candidates, the first of several alike.
fn newest(candidates: impl Iterator<Item = PathBuf>) -> Option<Jdk> {
    let mut seen = BTreeSet::new();
    let mut newest: Option<Jdk> = None;
    for jdk in candidates.filter_map(|home| Jdk::at(&home).ok()) {
        if seen.insert(jdk.home.clone())
            && newest.as_ref().is_none_or(|newest| {
                (newest.feature(), newest.numbers().collect::<Vec<_>>())
                    < (jdk.feature(), jdk.numbers().collect::<Vec<_>>())
            })
        {
            newest = Some(jdk);
        }
    }
    newest
}

/// `JAVA_HOME` decides when it is set; else the newest of the candidates, the first of several alike.
fn decide(
    java_home: Option<&Path>,
    candidates: impl Iterator<Item = PathBuf>,
) -> Result<Jdk, Lack> {
    let newest = || newest(candidates);
    let good = |jdk: &Jdk| jdk.feature() >= OLDEST;
    match java_home.map(|home| (home, Jdk::at(home))) {
        Some((_, Ok(jdk))) if good(&jdk) => Ok(jdk),
        Some((_, Ok(jdk))) => Err(Lack::JavaHomeOld(jdk, newest().filter(good))),
        Some((home, Err(why))) => Err(Lack::JavaHomeWrong(
            home.to_path_buf(),
            why,
            newest().filter(good),
        )),
        None => match newest() {
            Some(jdk) if good(&jdk) => Ok(jdk),
            Some(jdk) => Err(Lack::Old(jdk)),
            None => Err(Lack::None),
        },
    }
}

/// The home of the `java` on the PATH. Usually the link leads there; where it is a stand-in (macOS, jenv), it is asked.
fn java_home_of_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let java = std::env::split_paths(&path)
        .map(|folder| folder.join("java"))
        .find(|java| java.is_file())?;
    let home = java.canonicalize().ok()?.parent()?.parent()?.to_path_buf();
    if version_in_release(&home).is_some() {
        return Some(home);
    }
    Some(PathBuf::from(properties(&java)?.0))
}

/// The folders where systems and tools put JDKs.
fn well_known() -> Vec<PathBuf> {
    let home = std::env::var_os("HOME")
        .map(PathBuf::from)
        .unwrap_or_default();
    let brew = [
        "/opt/homebrew/opt",
        "/usr/local/opt",
        "/home/linuxbrew/.linuxbrew/opt",
    ]
    .map(PathBuf::from);
    let plain = [
        PathBuf::from("/usr/lib/jvm"),
        PathBuf::from("/usr/java"),
        home.join(".sdkman/candidates/java"),
        home.join(".jdks"),
    ];
    let bundles = [
        PathBuf::from("/Library/Java/JavaVirtualMachines"),
        home.join("Library/Java/JavaVirtualMachines"),
    ];
    let mut homes: Vec<PathBuf> = plain.iter().flat_map(|folder| children(folder)).collect();
    homes.extend(
        bundles
            .iter()
            .flat_map(|folder| children(folder))
            .map(|bundle| bundle.join("Contents/Home")),
    );
    homes.extend(
        brew.iter()
            .flat_map(|folder| children(folder))
            .filter(|formula| {
                formula
                    .file_name()
                    .is_some_and(|name| name.to_string_lossy().starts_with("openjdk"))
            })
            .map(|formula| formula.join("libexec/openjdk.jdk/Contents/Home")),
    );
    homes
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let mut children: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    children.sort();
    children
}

/// `JAVA_VERSION` of the file `release`, which every JDK since 9 has: quicker than starting it.
fn version_in_release(home: &Path) -> Option<String> {
    let text = std::fs::read_to_string(home.join("release")).ok()?;
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(version.trim().trim_matches('"').to_owned())
}

/// Home and version, as a `java` says itself.
fn properties(java: &Path) -> Option<(String, String)> {
    let mut child = Command::new(java)
        .args(["-XshowSettings:properties", "-version"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stderr = child.stderr.take()?;
    let (sender, text) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        // What is no text is no answer either; nobody listens any more when the time is up.
        let _ = stderr.read_to_string(&mut text).map(|_| sender.send(text));
    });
    let text = text.recv_timeout(PATIENCE);
    if text.is_err() {
        // It may have ended by itself.
        let _ = child.kill();
    }
    let ended_well = child.wait().ok()?.success();
    let text = text.ok().filter(|_| ended_well)?;
    let property = |name: &str| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == name).then(|| value.trim().to_owned())
        })
    };
    Some((property("java.home")?, property("java.version")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fake(folder: &Path, name: &str, version: &str) -> anyhow::Result<PathBuf> {
        let home = folder.join(name);
        std::fs::create_dir_all(home.join("bin"))?;
        std::fs::write(home.join("bin/java"), "")?;
        std::fs::write(home.join("bin/javac"), "")?;
        std::fs::write(
            home.join("release"),
            format!("IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"{version}\"\n"),
        )?;
        Ok(home.canonicalize()?)
    }

    #[test]
    fn java_home_decides_and_else_the_newest() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let old = fake(folder.path(), "old", "17.0.9")?;
        let new = fake(folder.path(), "new", "25.0.1")?;
        let candidates = || [old.clone(), new.clone()].into_iter();
        assert_eq!(
            decide(Some(&old), candidates()).map(|jdk| jdk.home),
            Ok(old.clone())
        );
        assert_eq!(
            decide(None, candidates()).map(|jdk| jdk.home),
            Ok(new.clone())
        );
        Ok(())
    }

    #[test]
    fn a_java_home_that_will_not_do_is_a_fault_and_the_better_one_is_named() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let old = fake(folder.path(), "old", "1.8.0_392")?;
        let new = fake(folder.path(), "new", "21.0.5")?;
        let runtime = fake(folder.path(), "runtime", "21.0.5")?;
        std::fs::remove_file(runtime.join("bin/javac"))?;
        let nowhere = folder.path().join("nowhere");
        for (java_home, says) in [
            (&old, "a JDK 1.8.0_392"),
            (&runtime, "without bin/javac"),
            (&nowhere, "is no folder"),
        ] {
            let lack = decide(Some(java_home), [new.clone()].into_iter())
                .err()
                .unwrap_or(Lack::None);
            assert!(lack.to_string().contains(says), "{lack}");
            assert_eq!(lack.instead(), Some(new.as_path()));
        }
        Ok(())
    }

    #[test]
    fn the_feature_release_is_read_from_old_and_new_version_schemes() {
        let feature = |version: &str| {
            Jdk {
                home: PathBuf::new(),
                version: version.to_owned(),
            }
            .feature()
        };
        assert_eq!(
            [
                feature("1.8.0_392"),
                feature("17.0.9"),
                feature("25"),
                feature("26-ea")
            ],
            [8, 17, 25, 26]
        );
    }
}
