//! Finding a JDK: the one that `JAVA_HOME` names, else the newest of the PATH and of the folders where systems put them.

use std::cmp::Reverse;
use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use workshop_base::fix::{self, Fix, Manager, System};
use workshop_base::outcome::Trouble;
use workshop_base::probe::{self, ProbeAnswer, QUICK, on_path};

/// The oldest Java that the Kotlin service is built for.
pub const OLDEST: u32 = 17;

/// The oldest Java whose functions that call native code are final: exercise 19 needs them.
pub const CALLS_NATIVE: u32 = 22;

/// What needs a JDK that is not older than [`OLDEST`].
pub const KOTLIN: &str = "the Kotlin side";

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

impl fmt::Display for Jdk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.version, self.home.display())
    }
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

/// The JDK for what needs this feature release or a newer one.
pub fn find(oldest: u32, what: &str) -> Result<Jdk, Trouble> {
    let java_home = env::var_os("JAVA_HOME").filter(|value| !value.is_empty());
    let java_home = java_home.map(PathBuf::from);
    decide(java_home.as_deref(), candidates(), oldest).map_err(|lack| {
        lack.led_by(format!("{what} needs a JDK"))
            .expected(format!(
                "a JDK {oldest} or newer: in JAVA_HOME, on the PATH, or where the system installs them"
            ))
            .next("then just doctor shows what it finds")
    })
}

/// The newest JDK of this machine if it is new enough, whatever `JAVA_HOME` says.
pub fn elsewhere(feature: u32) -> Option<Jdk> {
    newest(candidates()).filter(|newest| newest.feature() >= feature)
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
    oldest: u32,
) -> Result<Jdk, Trouble> {
    let good = |jdk: &Jdk| jdk.feature() >= oldest;
    let (word, found) = match java_home {
        Some(home) => {
            let named = format!("JAVA_HOME names {}", home.display());
            match Jdk::at(home) {
                Ok(jdk) if good(&jdk) => return Ok(jdk),
                Ok(jdk) => ("old", format!("{named}, a JDK {}", jdk.version)),
                Err(why) => ("missing", format!("{named}, which {why}")),
            }
        }
        None => match newest(&mut candidates) {
            Some(jdk) if good(&jdk) => return Ok(jdk),
            Some(jdk) => ("old", jdk.to_string()),
            None => ("missing", "no JDK found".to_owned()),
        },
    };
    // None is left where all of them have been looked at.
    let fix = match newest(candidates).filter(good) {
        Some(jdk) => Fix::yourself(format!("export JAVA_HOME={}", jdk.home.display())),
        None => install(oldest),
    };
    let why = format!("{found}; {oldest} or newer is needed ({RECOMMENDED} is best)");
    Err(Trouble::fault(word, why, fix))
}

/// What installs a JDK that is not older than this. Debian's and Ubuntu's releases differ in what they have; they are asked.
fn install(oldest: u32) -> Fix {
    let system = System::here();
    let mut install = system.install(&fix::JDK);
    if system.manager != Some(Manager::Apt) {
        return install;
    }
    let args = ["search", "--names-only", "^openjdk-[0-9]+-jdk$"];
    let ProbeAnswer::Said(listing) = probe::ask_and_wait(Path::new("apt-cache"), &args, QUICK)
    else {
        return install;
    };
    match best_package(&listing, oldest) {
        Some(best) => {
            for (_, command) in &mut install.commands {
                *command = command.replace(fix::JDK.apt, &best);
            }
            install
        }
        None => Fix::yourself(format!(
            "unpack a JDK {RECOMMENDED}, such as Temurin, into ~/.jdks (the packages here have none that is new enough)"
        )),
    }
}

/// The newest of the packages that is not newer than the recommended one.
fn best_package(listing: &str, oldest: u32) -> Option<String> {
    let feature = |line: &str| -> Option<u32> {
        let package = line.split_whitespace().next()?;
        let feature = package.strip_prefix("openjdk-")?.strip_suffix("-jdk")?;
        feature.parse().ok()
    };
    let good = |feature: &u32| (oldest..=RECOMMENDED).contains(feature);
    let best = listing.lines().filter_map(feature).filter(good).max()?;
    Some(format!("openjdk-{best}-jdk"))
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
    let ProbeAnswer::Said(text) = probe::ask_and_wait(java, &args, PATIENCE) else {
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
        assert_eq!(decide(Some(&old), candidates(), OLDEST)?.home, old);
        assert_eq!(decide(None, candidates(), OLDEST)?.home, new);
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
            let lack = decide(Some(java_home), [new.clone()].into_iter(), OLDEST)
                .expect_err("one that will not do");
            assert!(lack.why().contains(says), "{lack}");
            let fix = Fix::yourself(format!("export JAVA_HOME={}", new.display()));
            assert_eq!(lack.how_to_fix().1, fix);
        }
        Ok(())
    }

    #[test]
    fn a_java_home_too_old_for_what_needs_a_newer_one_is_a_fault() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let old = fake(folder.path(), "old", "17.0.9")?;
        let lack = decide(Some(&old), [].into_iter(), CALLS_NATIVE).expect_err("too old");
        assert_eq!(lack.how_to_fix().0, "old");
        assert!(lack.why().contains("22 or newer is needed"), "{lack}");
        Ok(())
    }

    #[test]
    fn the_newest_package_up_to_the_recommended_one_is_taken() {
        let listing =
            "openjdk-11-jdk - 11\nopenjdk-17-jdk - 17\nopenjdk-21-jdk - 21\nopenjdk-26-jdk - 26\n";
        assert_eq!(best_package(listing, 17).as_deref(), Some("openjdk-21-jdk"));
        assert_eq!(best_package(listing, 22), None);
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
