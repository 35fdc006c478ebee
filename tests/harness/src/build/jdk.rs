//! Finding a JDK: the one that `JAVA_HOME` names, else the newest of the PATH and of the folders where systems put them.

use std::cmp::Reverse;
use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use workshop_base::fix::{self, System};
use workshop_base::outcome::Trouble;
use workshop_base::probe::{self, Answer, on_path};

/// The oldest Java that the Kotlin service is built for.
pub const OLDEST: u32 = 17;

/// The oldest Java whose functions that call native code are final: exercise 11 needs them.
pub const CALLS_NATIVE: u32 = 22;

/// The Java that runs it best.
pub const RECOMMENDED: u32 = 25;

/// How long a `java` may take to say what it is, also on a Raspberry Pi.
const PATIENCE: Duration = Duration::from_secs(10);

/// The folders that hold JDKs, below the home folder where they begin with `~`; what their folders' names begin with; and where in
/// such a folder the JDK is.
const PLACES: [(&str, &str, &str); 9] = [
    ("/usr/lib/jvm", "", ""),
    ("/usr/java", "", ""),
    ("~/.sdkman/candidates/java", "", ""),
    ("~/.jdks", "", ""),
    ("/Library/Java/JavaVirtualMachines", "", BUNDLE),
    ("~/Library/Java/JavaVirtualMachines", "", BUNDLE),
    ("/opt/homebrew/opt", "openjdk", BREW),
    ("/usr/local/opt", "openjdk", BREW),
    ("/home/linuxbrew/.linuxbrew/opt", "openjdk", BREW),
];
const BUNDLE: &str = "Contents/Home";
const BREW: &str = "libexec/openjdk.jdk/Contents/Home";

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
        match self.numbers().as_slice() {
            [1, feature, ..] | [feature, ..] => *feature,
            [] => 0,
        }
    }

    /// The `java` that runs programs.
    pub fn java(&self) -> PathBuf {
        self.home.join("bin/java")
    }

    fn numbers(&self) -> Vec<u32> {
        let numbers = self.version.split(|c: char| !c.is_ascii_digit());
        numbers.filter_map(|number| number.parse().ok()).collect()
    }

    /// The JDK in this folder, if it holds one (a compiler, not only a runtime).
    fn at(home: &Path) -> Result<Self, &'static str> {
        if !home.is_dir() {
            return Err("isn't a folder");
        }
        let java = home.join("bin/java");
        if !java.is_file() {
            return Err("has no bin/java");
        }
        if !home.join("bin/javac").is_file() {
            return Err("is a runtime only, without bin/javac");
        }
        let version = version_in_release(home).or_else(|| property(&java, "java.version"));
        Ok(Jdk {
            home: home.canonicalize().unwrap_or_else(|_| home.to_path_buf()),
            version: version.ok_or("doesn't say which version it is")?,
        })
    }
}

/// Why there is no JDK to work with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lack {
    /// What was found, and what is needed.
    pub what: String,
    /// True when there is a JDK, but an old one.
    pub old: bool,
    /// The JDK that would do, when only `JAVA_HOME` is at fault.
    pub instead: Option<PathBuf>,
}

/// The JDK to build and run the Kotlin service with. The error holds the command that installs one.
pub fn find() -> Result<Jdk, Trouble> {
    search().map_err(|lack| {
        Trouble::new(format!("the Kotlin side needs a JDK: {}", lack.what))
            .expected(format!(
                "a JDK {OLDEST} or newer: in JAVA_HOME, on the PATH, or where the system installs them"
            ))
            .next(next(lack.instead))
    })
}

/// As [`find`], for what needs a newer release than the Kotlin service.
pub fn find_at_least(feature: u32, what: &str) -> Result<Jdk, Trouble> {
    let jdk = find()?;
    if jdk.feature() >= feature {
        return Ok(jdk);
    }
    let other = elsewhere(feature);
    Err(Trouble::new(format!(
        "{what} needs a JDK {feature} or newer; found {} in {}",
        jdk.version,
        jdk.home.display()
    ))
    .expected(format!("a JDK {feature} or newer ({RECOMMENDED} is best)"))
    .next(next(other.map(|other| other.home))))
}

/// The newest JDK of this machine if it is new enough, whatever `JAVA_HOME` says.
pub fn elsewhere(feature: u32) -> Option<Jdk> {
    newest(candidates()).filter(|newest| newest.feature() >= feature)
}

/// What to do where there is no JDK, or a better one elsewhere.
fn next(instead: Option<PathBuf>) -> String {
    match instead {
        Some(home) => format!("export JAVA_HOME={}", home.display()),
        None => format!(
            "{}; then just doctor shows what it finds",
            System::here().install(&fix::JDK).in_words()
        ),
    }
}

/// As [`find`], with the reason as a value.
pub fn search() -> Result<Jdk, Lack> {
    let java_home = env::var_os("JAVA_HOME").filter(|value| !value.is_empty());
    decide(java_home.map(PathBuf::from).as_deref(), candidates())
}

/// The newest of the candidates, the first of several alike.
fn newest(candidates: impl Iterator<Item = PathBuf>) -> Option<Jdk> {
    let jdks = candidates.filter_map(|home| Jdk::at(&home).ok());
    jdks.min_by_key(|jdk| Reverse((jdk.feature(), jdk.numbers())))
}

/// `JAVA_HOME` decides when it is set; else the newest of the candidates.
fn decide(
    java_home: Option<&Path>,
    mut candidates: impl Iterator<Item = PathBuf>,
) -> Result<Jdk, Lack> {
    let good = |jdk: &Jdk| jdk.feature() >= OLDEST;
    let needed = format!("{OLDEST} or newer is needed");
    let (what, old) = match java_home {
        Some(home) => {
            let named = format!("JAVA_HOME names {}", home.display());
            match Jdk::at(home) {
                Ok(jdk) if good(&jdk) => return Ok(jdk),
                Ok(jdk) => (format!("{named}, a JDK {}; {needed}", jdk.version), true),
                Err(why) => (format!("{named}, which {why}"), false),
            }
        }
        None => {
            let (found, old) = match newest(&mut candidates) {
                Some(jdk) if good(&jdk) => return Ok(jdk),
                Some(jdk) => (format!("{} in {}", jdk.version, jdk.home.display()), true),
                None => ("no JDK found".to_owned(), false),
            };
            (format!("{found}; {needed} ({RECOMMENDED} is best)"), old)
        }
    };
    // None is left where all of them have been looked at.
    let instead = newest(candidates).filter(good).map(|jdk| jdk.home);
    Err(Lack { what, old, instead })
}

fn candidates() -> impl Iterator<Item = PathBuf> {
    let below_home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let places = PLACES.into_iter().flat_map(move |(place, prefix, inside)| {
        let folder = match place.strip_prefix("~/") {
            Some(rest) => below_home.join(rest),
            None => PathBuf::from(place),
        };
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut homes: Vec<_> = entries
            .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix))
            .map(|entry| entry.path().join(inside))
            .collect();
        homes.sort();
        homes
    });
    java_home_of_path().into_iter().chain(places)
}

/// The home of the `java` on the PATH. Usually the link leads there; where it is a stand-in (macOS, jenv), it is asked.
fn java_home_of_path() -> Option<PathBuf> {
    let java = on_path("java")?;
    let home = java.canonicalize().ok()?.parent()?.parent()?.to_path_buf();
    if version_in_release(&home).is_some() {
        return Some(home);
    }
    property(&java, "java.home").map(PathBuf::from)
}

/// `JAVA_VERSION` of the file `release`, which every JDK since 9 has: quicker than starting it.
fn version_in_release(home: &Path) -> Option<String> {
    let text = std::fs::read_to_string(home.join("release")).ok()?;
    let mut lines = text.lines();
    let version = lines.find_map(|line| line.strip_prefix("JAVA_VERSION="))?;
    Some(version.trim().trim_matches('"').to_owned())
}

/// A property of a `java`, as it says itself.
fn property(java: &Path, name: &str) -> Option<String> {
    let args = ["-XshowSettings:properties", "-version"];
    let Answer::Said(text) = probe::ask_and_wait(java, &args, PATIENCE) else {
        return None;
    };
    text.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
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
            (&nowhere, "isn't a folder"),
        ] {
            let lack = decide(Some(java_home), [new.clone()].into_iter())
                .expect_err("one that will not do");
            assert!(lack.what.contains(says), "{lack:?}");
            assert_eq!(lack.instead, Some(new.clone()));
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
