//! The program (exercise 9): by itself, timed by hyperfine beside a program that does nothing; then the service that starts
//! it for each request, beside the one that draws in Kotlin.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;

use super::gates::SameWork;
use super::hyperfine::{Hyperfine, Runs};
use super::lab::{self, Lab};
use super::load::{self, Wanted};
use super::metrics;
use super::oha::Oha;
use super::progress::Progress;
use super::protocol::{self, CONNECTIONS, HEADLINE_RATE, Plan, TIMEOUT};
use super::qrcode::{self, Codes, ImageSizes, LENGTHS};
use super::results::{Better, Comparison, Mode, ProgramTime, ProgramTimes, ResultFile, TextTime};
use super::session::{Session, sides_of};
use super::statistics::{geometric_mean, median, ratio_interval};
use super::subject::Subject;
use crate::harness::qr;

/// The lengths of the texts that the program is timed with.
const TIMED: [usize; 3] = [32, 128, 512];
/// The program that does nothing.
const NOTHING: &str = "true";
/// Runs of each command in a round; each takes about a millisecond.
const RUNS: usize = 60;
/// What a round of all commands takes, roughly.
const A_ROUND: Duration = Duration::from_secs(1);

/// Measures the program of the second subject, and both subjects' answers to `/qrcode`; the first is Kotlin.
///
/// # Errors
/// When the subjects do not draw the same codes (the outcome is *failed*), a service does not start, or a tool is missing.
pub async fn measure(
    lab: &Lab<'_>,
    subjects: &[Subject; 2],
    wanted: &Wanted,
) -> anyhow::Result<ResultFile> {
    let oha = Oha::find(lab.workspace)?;
    let hyperfine = Hyperfine::find(lab.workspace)?;
    let program = subjects[1].launch.parts.first();
    let program = program.context("there is no program to time")?;
    let plan = Plan::codes(wanted.mode);
    let rounds = rounds(wanted.mode);
    let expected = plan.expected(sides_of(subjects)) + A_ROUND * rounds as u32;
    load::announce(subjects, plan.rounds, expected);
    println!(
        "the load:  {CONNECTIONS} connections, by oha with --rand-regex-url '…{}', then with {} letters",
        qrcode::path(LENGTHS[0]),
        LENGTHS[1]
    );
    let progress = Progress::begin(expected);
    progress.part("the same work? codes of 40 texts read back");
    let images = qrcode::same_work(lab, subjects).await?;

    let stopwatch = Stopwatch {
        hyperfine,
        cases: cases(lab, program.clone())?,
    };
    println!(
        "the program by itself:  {}",
        stopwatch.cases[1].runs.typed()
    );
    let program = stopwatch.time(lab, rounds, &progress).await?;

    let mut session = Session {
        workspace: lab.workspace,
        oha: &oha,
        plan,
        database_url: lab.database_url.clone(),
        timeout: TIMEOUT,
        data_set: lab.seeded.set,
        statements: None,
        progress,
    };
    let unrated = Codes {
        rates: &[],
        images: &images,
    };
    let rates = session.shared_rates(subjects, &unrated).await?;
    let mut loads = Codes {
        rates: &rates,
        images: &images,
    };
    let blocks = session.rounds(subjects, &mut loads).await?;

    let sides: Vec<String> = subjects
        .iter()
        .map(|subject| subject.id().to_owned())
        .collect();
    let metrics = metrics::from_blocks(
        &metrics::of_codes(&LENGTHS, &session.plan.rates, HEADLINE_RATE, CONNECTIONS),
        &blocks.records,
        &sides,
        &load::against_the_first(subjects),
        session.plan.rounds_needed(),
    );
    let mut notes = load::standing_notes(subjects, wanted.mode, &SameWork::default());
    notes.extend(notes_on(&images, subjects));
    let mut manifest = lab.manifest(subjects);
    manifest.connections = CONNECTIONS;
    manifest.rates = rates
        .iter()
        .map(|(percent, rate)| (percent.to_string(), *rate))
        .collect();
    lab::complete(&mut manifest, &blocks.records, session.progress.gone());
    let invalid = load::invalid(&metrics, "throughput", &sides);
    let result = load::assembled(subjects, wanted, manifest, metrics, blocks, notes);
    Ok(ResultFile {
        invalid,
        program: Some(program),
        ..result
    })
}

/// How many rounds of hyperfine a mode has.
fn rounds(mode: Mode) -> usize {
    match mode {
        Mode::Quick => 3,
        Mode::Standard => 10,
        Mode::Thorough => 20,
    }
}

fn notes_on(images: &ImageSizes, subjects: &[Subject; 2]) -> Vec<String> {
    let size = |subject: &Subject, length| {
        let images = images.get(subject.id())?;
        images.get(&length).copied()
    };
    let mut notes = vec![
        "both sides are the Kotlin service on the same JVM; they differ in who draws the code".to_owned(),
        "the CPU time of a program counts as its caller's once it has ended; the time in which the system starts it counts as well".to_owned(),
    ];
    for length in LENGTHS {
        let sizes = size(&subjects[0], length).zip(size(&subjects[1], length));
        if let Some((kotlin, rust)) = sizes
            && kotlin != rust
        {
            notes.push(format!(
                "of the same {length} bytes, the images have {kotlin:.0} and {rust:.0} bytes: the encoders judge the masks differently, and zlib and its counterpart in Rust do not deflate alike"
            ));
        }
    }
    notes
}

/// A command that is timed. The first of all cases is the program that does nothing.
struct Case {
    text_bytes: usize,
    runs: Runs,
}

fn cases(lab: &Lab<'_>, program: PathBuf) -> anyhow::Result<Vec<Case>> {
    let nothing = Case {
        text_bytes: 0,
        runs: Runs {
            program: NOTHING.into(),
            input: None,
            runs: RUNS,
        },
    };
    let mut cases = vec![nothing];
    for text_bytes in TIMED {
        let input = lab.scratch().join(format!("{text_bytes}.txt"));
        std::fs::write(&input, qrcode::text(text_bytes)).context("cannot write a text")?;
        let runs = Runs {
            program: program.clone(),
            input: Some(input),
            runs: RUNS,
        };
        cases.push(Case { text_bytes, runs });
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
            for case in protocol::shuffled(self.cases.len()) {
                let times = self.hyperfine.runs(&self.cases[case].runs, lab.scratch());
                let times: Vec<f64> = times
                    .await?
                    .iter()
                    .map(|time| time.as_secs_f64() * 1e3)
                    .collect();
                medians[case].extend(median(&times));
            }
        }
        let mut texts = Vec::new();
        for (case, of_case) in self.cases.iter().zip(&medians).skip(1) {
            texts.push(TextTime {
                text_bytes: case.text_bytes,
                image_bytes: case.image_bytes().await?,
                time: time_of(of_case)?,
                against_nothing: against_nothing(of_case, &medians[0]),
            });
        }
        let scratch = format!("{}/", lab.scratch().display());
        let folder = self.cases[1].runs.program.parent();
        let folder = format!("{}/", folder.unwrap_or(lab.scratch()).display());
        Ok(ProgramTimes {
            command: self.cases[1]
                .runs
                .typed()
                .replace(&scratch, "")
                .replace(&folder, ""),
            runs: RUNS,
            nothing: time_of(&medians[0])?,
            texts,
        })
    }
}

impl Case {
    /// The size of the image, once it was seen to hold a code.
    async fn image_bytes(&self) -> anyhow::Result<usize> {
        let input = self.runs.input.as_ref().context("there is no text")?;
        let output = tokio::process::Command::new(&self.runs.program)
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

/// How many times what a process costs the program takes, over the rounds.
fn against_nothing(of_case: &[f64], of_nothing: &[f64]) -> Comparison {
    let ratios: Vec<f64> = of_case
        .iter()
        .zip(of_nothing)
        .map(|(program, nothing)| program / nothing)
        .collect();
    let invalid = Comparison::invalid("program", NOTHING, "fewer than two rounds count");
    let Some(interval) = ratio_interval(&ratios) else {
        return invalid;
    };
    Comparison {
        ratio: Some(interval.mean),
        low: Some(interval.low),
        high: Some(interval.high),
        rounds: ratios.len(),
        verdict: metrics::verdict(interval, Better::Lower),
        reason: None,
        ..invalid
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::results::Verdict;

    #[test]
    fn a_program_is_held_against_one_that_does_nothing_round_by_round() {
        let comparison = against_nothing(&[1.5, 1.6, 3.2], &[1.0, 1.0, 2.0]);
        let ratio = comparison.ratio.unwrap_or_default();
        assert!((1.5..1.6).contains(&ratio), "{ratio}");
        assert_eq!(
            (comparison.rounds, comparison.verdict),
            (3, Verdict::Slower)
        );
        assert_eq!(against_nothing(&[1.5], &[1.0]).verdict, Verdict::Invalid);
    }

    #[test]
    fn a_time_has_its_extremes() {
        let time = time_of(&[1.0, 4.0]).unwrap();
        assert!((time.ms - 2.0).abs() < 1e-9);
        assert_eq!((time.least_ms, time.most_ms), (1.0, 4.0));
        assert!(time_of(&[]).is_err());
    }
}
