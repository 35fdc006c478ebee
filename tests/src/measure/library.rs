//! The library (exercise 11): what a call of native code costs inside of the JVM, by size; then the service that calls it,
//! beside the one that draws in Kotlin.

use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;

use super::lab::Lab;
use super::load::Wanted;
use super::metrics;
use super::progress::Progress;
use super::qrcode;
use super::results::{CallTime, CallTimes, ResultFile};
use super::statistics::geometric_mean;
use super::subject::Subject;
use crate::outcome::Trouble;

/// The class of the exercise's Kotlin that times calls, and prints a line of JSON for each.
const CALL_TIMES: &str = "workshop.qrcode.CallTimesKt";
/// What it takes, roughly.
const TAKES: Duration = Duration::from_secs(20);
/// Who does what is timed.
const KOTLIN: &str = "kotlin";
const RUST: &str = "rust";

/// Measures calls of the second subject's library, and both subjects' answers to `/qrcode`; the first is Kotlin.
///
/// # Errors
/// As [`qrcode::measure`]; also when the calls cannot be timed.
pub async fn measure(
    lab: &Lab<'_>,
    subjects: &[Subject; 2],
    wanted: &Wanted,
) -> anyhow::Result<ResultFile> {
    let calls = async |progress: &Progress| {
        progress.part("calls by size, through the border and without it");
        call_times(&subjects[1]).await
    };
    let (mut result, calls) = qrcode::measure(lab, subjects, wanted, TAKES, calls).await?;
    result.notes.push("a call of the library copies its bytes out of the heap and the result into it; a code of either side changes threads besides, as it does in the service".to_owned());
    Ok(ResultFile {
        calls: Some(calls),
        ..result
    })
}

/// One line of [`CALL_TIMES`]: the microseconds of a call, round by round.
#[derive(Debug, Deserialize)]
struct Line {
    call: String,
    by: String,
    bytes: usize,
    us: Vec<f64>,
}

async fn call_times(subject: &Subject) -> anyhow::Result<CallTimes> {
    let launch = &subject.launch;
    let (_, options) = launch
        .args
        .split_last()
        .context("there is no class to run")?;
    let output = tokio::process::Command::new(&launch.program)
        .args(options)
        .arg(CALL_TIMES)
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .context("java cannot be run")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(
            Trouble::new(format!("the calls could not be timed: {}", said.trim()))
                .next(format!("just check {}", subject.id()))
                .failed()
                .into(),
        );
    }
    parse(&String::from_utf8_lossy(&output.stdout))
}

fn parse(printed: &str) -> anyhow::Result<CallTimes> {
    let lines = printed.lines().map(serde_json::from_str);
    let lines: Vec<Line> = lines
        .collect::<Result<_, _>>()
        .context("the calls' times are no JSON")?;
    let of_rust = lines.iter().filter(|line| line.by == RUST);
    let calls = of_rust.map(|rust| {
        let same = |line: &&Line| {
            line.by == KOTLIN && (&line.call, line.bytes) == (&rust.call, rust.bytes)
        };
        let kotlin = lines.iter().find(same);
        let kotlin = kotlin
            .with_context(|| format!("no {} of {} bytes in Kotlin", rust.call, rust.bytes))?;
        let mean = |line: &Line| geometric_mean(&line.us).context("a call without a time");
        Ok(CallTime {
            call: rust.call.clone(),
            bytes: rust.bytes,
            kotlin_us: mean(kotlin)?,
            rust_us: mean(rust)?,
            rust_against_kotlin: metrics::compared_times(RUST, &rust.us, KOTLIN, &kotlin.us),
        })
    });
    Ok(CallTimes {
        calls: calls.collect::<anyhow::Result<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::results::Verdict;

    #[test]
    fn a_call_is_held_against_the_same_in_kotlin() {
        let printed = r#"{"call":"copy","by":"rust","bytes":0,"us":[1.0,1.1,1.0]}
{"call":"copy","by":"kotlin","bytes":0,"us":[0.1,0.1,0.1]}
{"call":"code","by":"rust","bytes":32,"us":[50.0,50.0,51.0]}
{"call":"code","by":"kotlin","bytes":32,"us":[100.0,100.0,103.0]}"#;
        let calls = parse(printed).unwrap().calls;
        assert_eq!(calls.len(), 2);
        assert_eq!((calls[0].bytes, calls[0].call.as_str()), (0, "copy"));
        assert_eq!(calls[0].rust_against_kotlin.verdict, Verdict::Slower);
        assert_eq!(calls[1].rust_against_kotlin.verdict, Verdict::Faster);
        assert!(parse("no JSON").is_err());
        assert!(parse(r#"{"call":"copy","by":"rust","bytes":0,"us":[1.0]}"#).is_err());
    }
}
