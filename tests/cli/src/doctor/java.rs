//! The Kotlin side: a JDK and Maven. The Kotlin compiler comes by Maven.

use std::path::Path;

use crate::doctor::finding::Finding;

use crate::doctor::finding::State;
use crate::doctor::rust::simple;
use crate::doctor::version::Version;
use workshop_base::mend;
use workshop_base::mend::Manager;
use workshop_base::mend::Mend;
use workshop_base::mend::System;
use workshop_base::probe;
use workshop_base::probe::Answer;
use workshop_base::probe::PATIENT;
use workshop_base::probe::QUICK;
use workshop_harness::jdk;
use workshop_harness::jdk::Lack;

/// The oldest Maven that builds the Kotlin service.
const OLDEST_MAVEN: &str = "3.8.0";

pub(super) async fn examine(system: &System) -> Vec<Finding> {
    let (jdk, maven) = tokio::join!(jdk(system), maven(system));
    vec![jdk, maven]
}

async fn jdk(system: &System) -> Finding {
    // Looks into folders and may run a `java`.
    let found = match probe::in_time(PATIENT, jdk::search).await {
        Some(found) => found,
        None => {
            let mend = install(system).await;
            return Finding::fault(State::SILENT, "JDK", "the search for one did not end", mend);
        }
    };
    match found {
        Ok(jdk) if jdk.feature() < jdk::CALLS_NATIVE => Finding::ok(
            "JDK",
            format!(
                "{} in {}; exercise 11 needs {}, and {} runs the service best",
                jdk.version,
                jdk.home.display(),
                jdk::CALLS_NATIVE,
                jdk::RECOMMENDED
            ),
        ),
        Ok(jdk) if jdk.feature() < jdk::RECOMMENDED => Finding::ok(
            "JDK",
            format!(
                "{} in {}; {} runs the service best",
                jdk.version,
                jdk.home.display(),
                jdk::RECOMMENDED
            ),
        ),
        Ok(jdk) => Finding::ok("JDK", format!("{} in {}", jdk.version, jdk.home.display())),
        Err(lack) => {
            let state = if matches!(lack, Lack::Old(_) | Lack::JavaHomeOld(..)) {
                State::OLD
            } else {
                State::MISSING
            };
            let mend = match lack.instead() {
                Some(home) => Mend::yourself(format!("export JAVA_HOME={}", home.display())),
                None => install(system).await,
            };
            Finding::fault(state, "JDK", lack.to_string(), mend)
        }
    }
}

/// The command that installs a JDK. Debian's and Ubuntu's releases differ in what they have; they are asked.
async fn install(system: &System) -> Mend {
    let mut mend = system.install(&mend::JDK);
    if system.manager() == Some(Manager::Apt) {
        let args = ["search", "--names-only", "^openjdk-[0-9]+-jdk$"];
        if let Answer::Said(text) = probe::ask("apt-cache", &args, Path::new("/"), QUICK).await
            && let Some(best) = best_package(&text)
        {
            for (_, command) in &mut mend.commands {
                *command = command.replace(mend::JDK.apt, &best);
            }
        }
    }
    mend
}

/// The newest of the packages that is not newer than the recommended one.
fn best_package(listing: &str) -> Option<String> {
    listing
        .lines()
        .filter_map(|line| {
            line.split_whitespace()
                .next()?
                .strip_prefix("openjdk-")?
                .strip_suffix("-jdk")?
                .parse()
                .ok()
        })
        .filter(|feature| (jdk::OLDEST..=jdk::RECOMMENDED).contains(feature))
        .max()
        .map(|feature: u32| format!("openjdk-{feature}-jdk"))
}

async fn maven(system: &System) -> Finding {
    let answer = probe::ask("mvn", &["--version"], Path::new("/"), PATIENT).await;
    let found = match &answer {
        Answer::Said(text) => Version::find(text),
        _ => None,
    };
    let mend = system.install(&mend::MAVEN);
    match (found, Version::find(OLDEST_MAVEN)) {
        (Some(found), Some(oldest)) if found < oldest => Finding::fault(
            State::OLD,
            "Maven",
            format!("{found}, needed is {oldest} or newer"),
            mend,
        ),
        // Maven's script ends with an error when it finds no JDK; that is the line above this one.
        _ => simple("Maven", answer, mend),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_package_up_to_the_recommended_one_is_taken() {
        let listing =
            "openjdk-11-jdk - 11\nopenjdk-17-jdk - 17\nopenjdk-21-jdk - 21\nopenjdk-26-jdk - 26\n";
        assert_eq!(best_package(listing).as_deref(), Some("openjdk-21-jdk"));
        assert_eq!(best_package("openjdk-11-jdk - 11"), None);
    }
}
