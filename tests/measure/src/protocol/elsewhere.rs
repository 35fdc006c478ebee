//! What is built here, brought to the machine that it runs on.

use std::time::Instant;

use crate::protocol::subject::Subject;
use workshop_base::target::Language;
use workshop_harness::build::{Launch, jdk};
use workshop_harness::remote::Host;
use workshop_results::figures::figure;
use workshop_results::statistics::median;

/// How many commands are timed.
const ROUND_TRIPS: usize = 5;

/// The subject, ready to run there; as an inner error why it cannot.
pub async fn bring(host: &Host, mut subject: Subject) -> anyhow::Result<Result<Subject, String>> {
    let launch = &subject.launch;
    let java = match launch.language {
        Language::Kotlin => match java(host) {
            Ok(version) => Some(version),
            Err(lack) => return Ok(Err(lack)),
        },
        _ => None,
    };
    let there = host.bring(&launch.artifact).await?;
    subject.launch = on(host, launch, &there);
    if let Some(version) = java {
        subject.side.runtime = version;
    }
    Ok(Ok(subject))
}

/// How long a command takes there that does nothing: a note for results that tell a start-up, which takes as long before there is a
/// service.
pub fn round_trip(host: &Host) -> Option<String> {
    let took = (0..ROUND_TRIPS).map(|_| {
        let began = Instant::now();
        host.said(&["true"])?;
        Some(began.elapsed().as_secs_f64() * 1e3)
    });
    let took: Vec<f64> = took.collect::<Option<_>>()?;
    let (round_trip, name) = (figure(median(&took)?), host.name());
    Some(format!(
        "a command that does nothing takes {round_trip} ms by ssh to {name} (median of {ROUND_TRIPS}): that much of every start-up is not the service's"
    ))
}

/// A launch there: of the program that was brought, or of a JVM with the jar that was.
fn on(host: &Host, launch: &Launch, there: &str) -> Launch {
    let program = match launch.language {
        Language::Kotlin => "java",
        _ => there,
    };
    let args = launch.args.iter();
    let args = args.map(|argument| match *argument == *launch.artifact.as_os_str() {
        true => there.into(),
        false => argument.clone(),
    });
    Launch {
        program: program.into(),
        args: args.collect(),
        directory: (&host.folder).into(),
        on: Some(host.clone()),
        ..launch.clone()
    }
}

/// What the Java there says it is, or that there is none that will do.
fn java(host: &Host) -> Result<String, String> {
    let said = host.said(&["java", "-version"]).unwrap_or_default();
    let line = said.lines().next().unwrap_or_default().to_owned();
    if feature(&line).is_some_and(|feature| feature >= jdk::OLDEST) {
        return Ok(line);
    }
    let (name, oldest) = (host.name(), jdk::OLDEST);
    Err(match line.as_str() {
        "" => format!("there is no java on the PATH of {name}"),
        line => format!("the java of {name} is older than {oldest}: {line}"),
    })
}

/// The release in a line such as `openjdk version "17.0.15" 2025-04-15`.
fn feature(line: &str) -> Option<u32> {
    let version = line.split('"').nth(1)?;
    version
        .split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_of_java_is_found_in_what_it_says() {
        let found = |line| feature(line);
        assert_eq!(found("openjdk version \"17.0.15\" 2025-04-15"), Some(17));
        assert_eq!(found("openjdk version \"25\" 2025-09-16"), Some(25));
        assert_eq!(found("java version \"1.8.0_392\""), Some(1));
        assert_eq!(found("sh: 1: java: not found"), None);
    }
}
