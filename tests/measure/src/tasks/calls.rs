//! Calls inside of the JVM (exercises 10 and 11), timed by a class of the exercise's own: by Rust, by the same in Kotlin, and by
//! Rust interpreted where there is an interpreter.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;

use crate::protocol::experiment::{Asked, Experiment};
use crate::protocol::lab::Lab;
use crate::protocol::subject::Subject;
use crate::tables;
use crate::tables::calls::CallTime;
use crate::tasks::codes;
use workshop_base::outcome::Trouble;
use workshop_results::file::ResultFile;
use workshop_results::metrics;
use workshop_results::statistics::geometric_mean;

/// What timing the calls takes, roughly.
const TAKES: Duration = Duration::from_secs(30);
/// The class of the exercise's Kotlin that times calls, and prints a line of JSON for each.
const CALL_TIMES: &str = "workshop.qrcode.CallTimesKt";
/// Who does what is timed.
const KOTLIN: &str = "kotlin";
const RUST: &str = "rust";
const INTERPRETER: &str = "interpreter";

/// The module (exercise 10), which can be interpreted as well.
pub async fn module(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let note = "a copy of the module goes into its memory and out of it again; a code of either side changes threads besides, as it does in the service, which never interprets";
    measure(lab, asked, true, note).await
}

/// The library (exercise 11).
pub async fn library(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let note = "a call of the library copies its bytes out of the heap and the result into it; a code of either side changes threads besides, as it does in the service";
    measure(lab, asked, false, note).await
}

/// Times the calls, then measures the service that makes them, beside the one that draws in Kotlin.
async fn measure(
    lab: &Lab<'_>,
    asked: &Asked,
    interpret: bool,
    note: &str,
) -> anyhow::Result<ResultFile> {
    let subjects = lab.kotlin_and(asked.target).await?;
    let caller = subjects[1].clone();
    let timed = async |experiment: &Experiment<'_>| {
        let progress = &experiment.session.progress;
        progress.part("calls by size, through the border and in Kotlin itself");
        let module = caller.launch.parts.first().filter(|_| interpret);
        times(&caller, module.map(PathBuf::as_path)).await
    };
    let measured = codes::measure(lab, asked, "codes", subjects, TAKES, timed);
    let (mut experiment, calls) = measured.await?;
    experiment.notes.push(note.to_owned());
    let mut result = experiment.finish().await;
    result.tables.push(tables::calls::calls(&calls));
    Ok(result)
}

/// One line of [`CALL_TIMES`]: the microseconds of a call, round by round.
#[derive(Debug, Deserialize)]
struct Line {
    call: String,
    by: String,
    bytes: usize,
    us: Vec<f64>,
}

/// Times the calls of a subject, which takes a fraction of a minute; `module` is for the class that also interprets one.
async fn times(subject: &Subject, module: Option<&Path>) -> anyhow::Result<Vec<CallTime>> {
    let launch = &subject.launch;
    let (_, options) = launch
        .args
        .split_last()
        .context("there is no class to run")?;
    let output = tokio::process::Command::new(&launch.program)
        .args(options)
        .arg(CALL_TIMES)
        .args(module)
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

fn parse(printed: &str) -> anyhow::Result<Vec<CallTime>> {
    let lines = printed.lines().map(serde_json::from_str);
    let lines: Vec<Line> = lines
        .collect::<Result<_, _>>()
        .context("the calls' times are no JSON")?;
    let of_rust = lines.iter().filter(|line| line.by == RUST);
    let calls = of_rust.map(|rust| {
        let same_by = |by: &str| {
            let same = |line: &&Line| {
                line.by == by && (&line.call, line.bytes) == (&rust.call, rust.bytes)
            };
            lines.iter().find(same)
        };
        let kotlin = same_by(KOTLIN)
            .with_context(|| format!("no {} of {} bytes in Kotlin", rust.call, rust.bytes))?;
        let mean = |line: &Line| geometric_mean(&line.us).context("a call without a time");
        Ok(CallTime {
            call: rust.call.clone(),
            bytes: rust.bytes,
            kotlin_us: mean(kotlin)?,
            rust_us: mean(rust)?,
            interpreted_us: same_by(INTERPRETER).map(mean).transpose()?,
            rust_against_kotlin: metrics::compared_times(RUST, &rust.us, KOTLIN, &kotlin.us),
        })
    });
    calls.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::file::Verdict;

    #[test]
    fn a_call_is_held_against_the_same_in_kotlin() {
        let printed = r#"{"call":"copy","by":"rust","bytes":0,"us":[1.0,1.1,1.0]}
{"call":"copy","by":"kotlin","bytes":0,"us":[0.1,0.1,0.1]}
{"call":"code","by":"rust","bytes":32,"us":[50.0,50.0,51.0]}
{"call":"code","by":"kotlin","bytes":32,"us":[100.0,100.0,103.0]}
{"call":"code","by":"interpreter","bytes":32,"us":[900.0,900.0,900.0]}"#;
        let calls = parse(printed).unwrap();
        assert_eq!(calls.len(), 2);
        assert_eq!((calls[0].bytes, calls[0].call.as_str()), (0, "copy"));
        assert_eq!(calls[0].rust_against_kotlin.verdict, Verdict::Slower);
        assert_eq!(calls[1].rust_against_kotlin.verdict, Verdict::Faster);
        let interpreted = calls.iter().map(|call| call.interpreted_us.map(f64::round));
        assert!(interpreted.eq([None, Some(900.0)]));
        assert!(parse("no JSON").is_err());
        assert!(parse(r#"{"call":"copy","by":"rust","bytes":0,"us":[1.0]}"#).is_err());
    }
}
