//! Calls inside of the JVM (exercises 18 and 19), timed by a class of the exercise's own: by Rust, by the same in Kotlin, and by
//! Rust interpreted where there is an interpreter.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde::Deserialize;

use crate::codes;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::subject::Subject;
use workshop_measure::tools;
use workshop_results::figures::count;
use workshop_results::file::ResultFile;
use workshop_results::metrics;
use workshop_results::shown::{Cell, Column, Table};
use workshop_results::statistics::geometric_mean;

/// The class of the exercise's Kotlin that times calls, and prints a line of JSON for each.
const CALL_TIMES: &str = "workshop.qrcode.CallTimesKt";
/// Who does what is timed.
const KOTLIN: &str = "kotlin";
const RUST: &str = "rust";
const INTERPRETER: &str = "interpreter";

/// The module (exercise 18), which can be interpreted as well.
pub async fn module(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let note = "a copy of the module goes into its memory and out of it again; a code of either side changes threads besides, as it does in the service, which never interprets";
    measure(lab, asked, true, note).await
}

/// The library (exercise 19).
pub async fn library(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let note = "a call of the library copies its bytes out of the heap and the result into it; a code of either side changes threads besides, as it does in the service";
    measure(lab, asked, false, note).await
}

/// Times the calls, then measures the services that make them, beside the one that draws in Kotlin.
async fn measure(
    lab: &Lab<'_>,
    asked: &Asked,
    interpret: bool,
    note: &str,
) -> anyhow::Result<ResultFile> {
    let (mut session, subjects) = codes::begin(lab, asked).await?;
    let progress = &session.progress;
    progress.part("calls by size, across the boundary and in Kotlin itself");
    let columns = Column::list(["Kotlin", "Rust", "Rust ÷ Kotlin"]);
    let mut calls = Table::new("calls", "A call inside the JVM, in µs", columns);
    let callers = subjects.iter().skip(1);
    for (place, caller) in callers.enumerate() {
        let module = caller.launch.parts.first().filter(|_| interpret);
        let lines = times(caller, module.map(PathBuf::as_path)).await?;
        let whose = match place {
            0 => String::new(),
            _ => format!("{}: ", caller.side.label),
        };
        add(&mut calls, &whose, &lines)?;
    }
    let found = codes::compare(&mut session, &subjects).await?;
    session.notes.push(note.to_owned());
    let mut result = session.finish(&subjects, found).await?;
    result.tables.push(calls);
    Ok(result)
}

/// One line of [`CALL_TIMES`]: the microseconds of a call, round by round.
#[derive(Debug, Deserialize)]
struct CallLine {
    call: String,
    by: String,
    bytes: usize,
    us: Vec<f64>,
}

/// Times the calls of a subject, which takes a fraction of a minute; `module` is for the class that also interprets one.
async fn times(subject: &Subject, module: Option<&Path>) -> anyhow::Result<Vec<CallLine>> {
    let launch = &subject.launch;
    let (_, options) = launch
        .args
        .split_last()
        .context("there is no class to run")?;
    let mut command = Command::new(&launch.program);
    command
        .args(options)
        .arg(CALL_TIMES)
        .args(module)
        .envs(launch.env.iter().map(|(name, value)| (name, value)));
    let typed = format!("java {CALL_TIMES}");
    parse(&tools::printed(command, &typed).await?)
}

fn parse(printed: &str) -> anyhow::Result<Vec<CallLine>> {
    let lines = printed.lines().map(serde_json::from_str);
    let lines: Result<Vec<CallLine>, _> = lines.collect();
    lines.context("the calls' times are no JSON")
}

/// A row for each call that Rust answers, beside the same in Kotlin.
fn add(table: &mut Table, whose: &str, lines: &[CallLine]) -> anyhow::Result<()> {
    let mean = |line: &CallLine| geometric_mean(&line.us).context("a call without a time");
    for rust in lines.iter().filter(|line| line.by == RUST) {
        let same_by = |by: &str| {
            let same = |line: &&CallLine| {
                line.by == by && (&line.call, line.bytes) == (&rust.call, rust.bytes)
            };
            lines.iter().find(same)
        };
        let kotlin = same_by(KOTLIN)
            .with_context(|| format!("no {} of {} bytes in Kotlin", rust.call, rust.bytes))?;
        let compared = metrics::compared_times(RUST, &rust.us, KOTLIN, &kotlin.us);
        let cells = [Cell::Number(mean(kotlin)?), Cell::Number(mean(rust)?)];
        let bytes = count(rust.bytes as u64);
        table.row(
            format!("{whose}A {} of {bytes} bytes", rust.call),
            cells.into_iter().chain([Some(&compared).into()]).collect(),
        );
        if let Some(interpreted) = same_by(INTERPRETER) {
            let cells = vec![Cell::Empty, Cell::Number(mean(interpreted)?)];
            table.row("the same, interpreted", cells);
        }
    }
    Ok(())
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
        let mut table = Table::default();
        add(&mut table, "", &parse(printed).unwrap()).unwrap();
        let headings: Vec<&str> = table.rows.iter().map(|row| row.heading.as_str()).collect();
        let expected = [
            "A copy of 0 bytes",
            "A code of 32 bytes",
            "the same, interpreted",
        ];
        assert_eq!(headings, expected);
        let verdict = |row: usize| match &table.rows[row].cells[2] {
            Cell::Ratio(ratio) => Some(ratio.verdict),
            _ => None,
        };
        assert_eq!(verdict(0), Some(Verdict::Slower));
        assert_eq!(verdict(1), Some(Verdict::Faster));
        assert!(parse("no JSON").is_err());
        let alone = parse(r#"{"call":"copy","by":"rust","bytes":0,"us":[1.0]}"#).unwrap();
        assert!(add(&mut table, "", &alone).is_err());
    }
}
