//! The program (exercise 9): by itself, timed by hyperfine beside a program that does nothing; then the service that starts
//! it for each request, beside the one that draws in Kotlin.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;

use crate::protocol::experiment::{Asked, Experiment};
use crate::protocol::lab::Lab;
use crate::protocol::plan::shuffled;
use crate::protocol::progress::Progress;
use crate::tables::program::{ProgramTime, ProgramTimes, TextTime, by_itself};
use crate::tasks::codes;
use crate::tools::hyperfine::{Hyperfine, Timing};
use workshop_harness::qr;
use workshop_results::file::{Mode, ResultFile};
use workshop_results::metrics::compared_times;
use workshop_results::statistics::{geometric_mean, median};

/// The lengths of the texts that the program is timed with.
const TIMED: [usize; 3] = [32, 128, 512];
/// The program that does nothing.
const NOTHING: &str = "true";
/// Runs of each command in a round; each takes about a millisecond.
const RUNS: usize = 60;
/// What a round of all commands takes, roughly.
const A_ROUND: Duration = Duration::from_secs(1);

/// Measures a target's program, and its answers to `/qrcode` beside those of Kotlin.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let subjects = lab.kotlin_and(asked.target).await?;
    let program = subjects[1].launch.parts.first();
    let program = program.context("there is no program to time")?;
    let rounds = rounds(asked.mode);
    let stopwatch = Stopwatch {
        hyperfine: Hyperfine::find(lab.workspace)?,
        cases: cases(lab, program.clone())?,
    };
    println!(
        "the program by itself:  {}",
        stopwatch.cases[1].timing().typed()
    );
    let takes = A_ROUND * rounds as u32;
    let alone = async |experiment: &Experiment<'_>| {
        stopwatch
            .time(lab, rounds, &experiment.session.progress)
            .await
    };
    let measured = codes::measure(lab, asked, "codes", subjects, takes, alone);
    let (mut experiment, times) = measured.await?;
    experiment.notes.push("the CPU time of a program counts as its caller's once it has ended; the time in which the system starts it counts as well".to_owned());
    let mut result = experiment.finish().await;
    result.tables.push(by_itself(&times));
    Ok(result)
}

/// How many rounds of hyperfine a mode has.
fn rounds(mode: Mode) -> usize {
    match mode {
        Mode::Quick => 3,
        Mode::Standard => 10,
        Mode::Thorough => 20,
    }
}

/// A command that is timed. The first of all cases is the program that does nothing.
struct Case {
    text_bytes: usize,
    program: PathBuf,
    input: Option<PathBuf>,
}

fn cases(lab: &Lab<'_>, program: PathBuf) -> anyhow::Result<Vec<Case>> {
    let nothing = Case {
        text_bytes: 0,
        program: NOTHING.into(),
        input: None,
    };
    let mut cases = vec![nothing];
    for text_bytes in TIMED {
        let input = lab.scratch().join(format!("{text_bytes}.txt"));
        std::fs::write(&input, codes::text(text_bytes)).context("cannot write a text")?;
        cases.push(Case {
            text_bytes,
            program: program.clone(),
            input: Some(input),
        });
    }
    Ok(cases)
}

struct Stopwatch {
    hyperfine: Hyperfine,
    cases: Vec<Case>,
}

impl Stopwatch {
    /// Times all cases in every round, in random order.
    async fn time(
        &self,
        lab: &Lab<'_>,
        rounds: usize,
        progress: &Progress,
    ) -> anyhow::Result<ProgramTimes> {
        let mut medians: Vec<Vec<f64>> = vec![Vec::new(); self.cases.len()];
        for round in 1..=rounds {
            progress.part(&format!("the program by itself, round {round} of {rounds}"));
            for case in shuffled(self.cases.len()) {
                let timing = self.cases[case].timing();
                let times = self.hyperfine.times(&timing, lab.scratch()).await?;
                let times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
                medians[case].extend(median(&times));
            }
        }
        let mut texts = Vec::new();
        for (case, of_case) in self.cases.iter().zip(&medians).skip(1) {
            texts.push(TextTime {
                text_bytes: case.text_bytes,
                image_bytes: case.image_bytes().await?,
                time: time_of(of_case)?,
                against_nothing: compared_times("program", of_case, NOTHING, &medians[0]),
            });
        }
        let scratch = format!("{}/", lab.scratch().display());
        let folder = self.cases[1].program.parent();
        let folder = format!("{}/", folder.unwrap_or(lab.scratch()).display());
        Ok(ProgramTimes {
            command: self.cases[1]
                .timing()
                .typed()
                .replace(&scratch, "")
                .replace(&folder, ""),
            nothing: time_of(&medians[0])?,
            texts,
        })
    }
}

impl Case {
    fn timing(&self) -> Timing {
        Timing::runs(&self.program, self.input.as_deref(), RUNS)
    }

    /// The size of the image, once it was seen to hold a code.
    async fn image_bytes(&self) -> anyhow::Result<usize> {
        let input = self.input.as_ref().context("there is no text")?;
        let output = tokio::process::Command::new(&self.program)
            .stdin(std::fs::File::open(input)?)
            .kill_on_drop(true)
            .output()
            .await
            .context("the program cannot be started")?;
        qr::decode(&output.stdout).map_err(|fault| anyhow::anyhow!("the program drew {fault}"))?;
        Ok(output.stdout.len())
    }
}

fn time_of(medians: &[f64]) -> anyhow::Result<ProgramTime> {
    Ok(ProgramTime {
        ms: geometric_mean(medians).context("hyperfine measured no time")?,
        least_ms: medians.iter().copied().fold(f64::INFINITY, f64::min),
        most_ms: medians.iter().copied().fold(0.0, f64::max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_its_extremes() {
        let time = time_of(&[1.0, 4.0]).unwrap();
        assert!((time.ms - 2.0).abs() < 1e-9);
        assert_eq!((time.least_ms, time.most_ms), (1.0, 4.0));
        assert!(time_of(&[]).is_err());
    }
}
