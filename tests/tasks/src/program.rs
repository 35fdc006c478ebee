//! The program (exercise 17): by itself, timed by hyperfine beside a program that does nothing; then the service that starts
//! it for each request, beside the one that draws in Kotlin.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::codes;
use workshop_harness::qr;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::plan::{self, shuffled};
use workshop_measure::protocol::progress::Progress;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::tables::see_it_yourself;
use workshop_measure::tools::hyperfine::{Hyperfine, Timing};
use workshop_results::figures::count;
use workshop_results::file::ResultFile;
use workshop_results::metrics::compared_times;
use workshop_results::shown::{Cell, Column, Table};
use workshop_results::statistics::{geometric_mean, median};

/// The lengths of the texts that the program is timed with.
const TIMED: [usize; 3] = [32, 128, 512];
/// The program that does nothing.
const NOTHING: &str = "true";
/// Runs of each command in a round; each takes about a millisecond.
const RUNS: usize = 60;

/// Measures a target's program, and its answers to `/qrcode` beside those of Kotlin.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let hyperfine = Hyperfine::find(lab.workspace)?;
    let (mut session, subjects) = codes::begin(lab, asked).await?;
    let columns = Column::list(["From start to end (ms)", "Image (bytes)", "÷ nothing"]);
    let mut table = Table::new("program", "The program by itself", columns);
    for (place, caller) in subjects.iter().skip(1).enumerate() {
        let program = caller.launch.parts.first();
        let program = program.context("there is no program to time")?;
        let cases = cases(lab.scratch(), program)?;
        println!("the program by itself:  {}", cases[1].timing().typed());
        let progress = &session.progress;
        let rounds = plan::extent("program", asked.mode)?;
        let medians = time(&hyperfine, &cases, lab.scratch(), rounds, progress).await?;
        if place == 0 {
            let cells = vec![range(&medians[0])?, Cell::Empty, Cell::Count(1)];
            table.row("A program that does nothing", cells);
            let command = cases[1].shown(lab.scratch());
            table.notes.push(see_it_yourself(&command));
        }
        let whose = match place {
            0 => String::new(),
            _ => format!("{}: ", caller.side.label),
        };
        for (case, of_case) in cases.iter().zip(&medians).skip(1) {
            let against_nothing = compared_times("program", of_case, NOTHING, &medians[0]);
            let cells = vec![
                range(of_case)?,
                Cell::Count(case.image_bytes().await? as u64),
                Some(&against_nothing).into(),
            ];
            let bytes = count(case.text_bytes as u64);
            table.row(format!("{whose}A text of {bytes} bytes"), cells);
        }
    }
    let found = codes::compare(&mut session, &subjects).await?;
    session.notes.push("the CPU time of a program counts as its caller's once it has ended; the time in which the system starts it counts as well".to_owned());
    let mut result = session.finish(&subjects, found).await?;
    result.tables.push(table);
    Ok(result)
}

/// A command that is timed. The first of all cases is the program that does nothing.
struct Case {
    text_bytes: usize,
    program: PathBuf,
    input: Option<PathBuf>,
}

fn cases(scratch: &Path, program: &Path) -> anyhow::Result<Vec<Case>> {
    let nothing = Case {
        text_bytes: 0,
        program: NOTHING.into(),
        input: None,
    };
    let mut cases = vec![nothing];
    for text_bytes in TIMED {
        let input = scratch.join(format!("{text_bytes}.txt"));
        std::fs::write(&input, codes::text(text_bytes)).context("cannot write a text")?;
        cases.push(Case {
            text_bytes,
            program: program.to_owned(),
            input: Some(input),
        });
    }
    Ok(cases)
}

/// Times all cases in every round, in random order: the medians of their runs in milliseconds, by round.
async fn time(
    hyperfine: &Hyperfine,
    cases: &[Case],
    scratch: &Path,
    rounds: usize,
    progress: &Progress,
) -> anyhow::Result<Vec<Vec<f64>>> {
    let mut medians: Vec<Vec<f64>> = vec![Vec::new(); cases.len()];
    for round in 1..=rounds {
        progress.part(&format!("the program by itself, round {round} of {rounds}"));
        for case in shuffled(cases.len()) {
            let times = hyperfine.times(&cases[case].timing(), scratch).await?;
            let times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
            medians[case].extend(median(&times));
        }
    }
    Ok(medians)
}

impl Case {
    fn timing(&self) -> Timing {
        Timing::runs(&self.program, self.input.as_deref(), RUNS)
    }

    /// The command as it is typed, without the folders of this machine.
    fn shown(&self, scratch: &Path) -> String {
        let folders = [Some(scratch), self.program.parent()];
        let mut typed = self.timing().typed();
        for folder in folders.into_iter().flatten() {
            typed = typed.replace(&format!("{}/", folder.display()), "");
        }
        typed
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

/// The geometric mean over the rounds, with the shortest and the longest.
fn range(medians: &[f64]) -> anyhow::Result<Cell> {
    Ok(Cell::Range {
        value: geometric_mean(medians).context("hyperfine measured no time")?,
        least: medians.iter().copied().fold(f64::INFINITY, f64::min),
        most: medians.iter().copied().fold(0.0, f64::max),
    })
}
