//! The command line: one subcommand per recipe of the justfile, and their options.

use std::num::NonZeroUsize;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::subject::{CheckTarget, HuntTarget};
use workshop_base::target::Target;
use workshop_postgres::datasets::DataSet;

/// The Kotlin to Rust workshop.
#[derive(Debug, Parser)]
#[command(
    name = "workshop",
    bin_name = "just",
    disable_help_subcommand = true,
    help_template = "{about}\n\n{usage-heading} {usage}\n\n{after-help}",
    after_help = by_group() + EXIT_CODES
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What a command ends with.
const EXIT_CODES: &str = "Exit codes:
  0    all is as it should be
  1    something is red, or yours to fix
  2    nothing can be said: the machine or the database, or a command line that makes no sense
  130  interrupted";

/// The commands under their headings, those of learners first.
fn by_group() -> String {
    let none = || clap::Command::new("");
    let groups = [
        ("The exercises", LearnCommand::augment_subcommands(none())),
        ("Measuring", LabCommand::augment_subcommands(none())),
        ("The book", BookCommand::augment_subcommands(none())),
        (
            "Authors and instructors",
            AuthorCommand::augment_subcommands(none()),
        ),
    ];
    let mut text = String::new();
    for (heading, group) in groups {
        let commands = group
            .get_subcommands()
            .filter(|command| !command.is_hide_set());
        let lines = commands.map(|command| {
            let about = command.get_about().map(ToString::to_string);
            format!(
                "  {:<13} {}\n",
                command.get_name(),
                about.unwrap_or_default()
            )
        });
        text += &format!("{heading}:\n{}\n", lines.collect::<String>());
    }
    text
}

/// What the tool can do; those who learn first. Each part is a program of its own: see [`crate::programs`].
#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(flatten)]
    Learn(LearnCommand),
    #[command(flatten)]
    Lab(LabCommand),
    #[command(flatten)]
    Book(BookCommand),
    #[command(flatten)]
    Author(AuthorCommand),
}

/// What learners do: the core, which every other program is built on.
#[derive(Debug, Subcommand)]
pub enum LearnCommand {
    /// Database, data, Kotlin and Rust side by side: checked, measured, shown in the book
    Tour,
    /// What is here, what is missing, and the exact command that fixes it
    Doctor,
    /// Build, start and test
    Check {
        /// exercise-N, solution-N, kotlin or hunt; the exercise that you're at without one
        target: Option<CheckTarget>,
        #[command(flatten)]
        options: CheckOptions,
    },
    /// Check again at every change, with keys for a hint, the first red test and the reference
    Watch {
        /// exercise-N or hunt; the exercise that you're at without one
        target: Option<CheckTarget>,
    },
    /// The next hint, chosen by what failed last
    Hint {
        /// exercise-N, or hunt while you debug a service; the exercise that you're at without one
        target: Option<CheckTarget>,
        /// One of the three levels, as often as you like
        #[arg(long, value_parser = clap::value_parser!(u8).range(1..=3))]
        level: Option<u8>,
    },
    /// The difference between your files and the reference
    Solution {
        /// exercise-N
        target: Target,
        /// Put the reference's files in place of yours; yours are kept as an attempt
        #[arg(long)]
        apply: bool,
        /// Other good answers instead, each as a difference to the reference
        #[arg(long, conflicts_with = "apply")]
        ways: bool,
        /// Of a service of your own: the files of the reference on axum, each with its job
        #[arg(long, conflicts_with_all = ["apply", "ways"])]
        axum: bool,
        /// The same of the reference on Rocket
        #[arg(long, conflicts_with_all = ["apply", "ways"])]
        rocket: bool,
    },
    /// What a starter has that the reference before it hasn't, hunk by hunk, and why
    WhatIsNew {
        /// exercise-N; without one, how many lines of each exercise are given, and typed
        target: Option<Target>,
    },
    /// After green: what clippy says about Kotlin in your Rust, what a reviewer asks, and what to remember
    Review {
        /// exercise-N
        target: Target,
    },
    /// Back to the starter; your files are kept in .workshop/attempts
    Reset {
        /// exercise-N; hunt ends the bug hunt and tells what it was
        target: CheckTarget,
    },
    /// On to exercise-N: its starter, and the earlier ones that aren't green count as skipped
    CatchUp {
        /// exercise-N
        target: Target,
    },
    /// Where you are
    Progress {
        /// From now on each check leaves a line in this folder, a share or a synced one, for the instructor's board
        #[arg(long, value_name = "DIR", requires = "name")]
        to: Option<std::path::PathBuf>,
        /// What you want to be called on that board
        #[arg(long, requires = "to")]
        name: Option<String>,
        /// Leave no lines anymore
        #[arg(long, conflicts_with = "to")]
        leave: bool,
    },
    /// A bug hunt: the reference with one mistake in it, for you to find; or a service to debug
    Hunt {
        /// exercise-N for a mistake; hang, leak or wrong for a service that you debug
        target: HuntTarget,
        /// Count the time: each check says how much of it is left, and just watch hunt shows a clock
        #[arg(long, value_parser = clap::value_parser!(u32).range(1..=480))]
        minutes: Option<u32>,
    },
    /// Start it with a database of its own and leave it running, to try requests by hand
    Run(RunArgs),
    /// Check each `query_as!` beside a database with the exercise's schema, and keep what that says in .sqlx
    Prepare {
        /// exercise-N
        target: Target,
    },
    /// A service of prices for exercise 12, as slow and as broken as you like
    Upstream(UpstreamArgs),
    /// Make a data set: small (10 000 rows), pi (1 000 000) or full (10 000 000)
    Seed {
        /// small (10 000 rows), pi (1 000 000) or full (10 000 000)
        data_set: DataSet,
        /// Make it anew even when it is there
        #[arg(long)]
        again: bool,
    },
    /// Remove the server, the containers and the databases that the course started
    Clean,
    /// What a shell completes: source <(./justw completions bash)
    Completions {
        /// bash, zsh or fish
        shell: clap_complete::Shell,
    },
}

/// What is measured, and what is made of that.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// The exercise's measurement, Kotlin and Rust side by side
    Measure(MeasureArgs),
    /// All your results on one page, with your predictions scored
    Report,
    /// Everybody's results on one page
    Board {
        /// The folder that holds a folder per person, each with that person's results
        folder: std::path::PathBuf,
        /// How everybody is doing now, from the lines that `progress --to` leaves there: in the terminal, and as a page in the folder
        #[arg(long)]
        live: bool,
        /// The minutes that the exercises took, from the same lines, beside those on their pages
        #[arg(long, conflicts_with = "live")]
        minutes: bool,
    },
    /// A release build for a Raspberry Pi, copied there
    Build(BuildArgs),
    /// The image of a service, built, tried out and removed again
    Image {
        /// exercise-8, solution-8 or kotlin
        target: Target,
        /// Leave the image on the engine
        #[arg(long)]
        keep: bool,
    },
    /// Compare the measuring with itself: no difference, and a planted one
    Calibrate(CalibrateArgs),
    /// Play the peers of exercise 13, as orders on standard input say (called by measure)
    #[command(hide = true)]
    PlayPeers {
        /// Where the service answers
        base_url: String,
    },
}

/// What is done with the book.
#[derive(Debug, Subcommand)]
pub enum BookCommand {
    /// The book as files, into book-html
    Book,
    /// The book at a local address, rebuilt at every change
    Serve {
        /// The port to listen on
        #[arg(long, default_value_t = 3000, value_parser = clap::value_parser!(u16).range(1..))]
        port: u16,
        /// The address to listen on
        #[arg(long, default_value = "127.0.0.1")]
        hostname: String,
        /// Open it in a browser
        #[arg(long)]
        open: bool,
    },
    /// What is wrong in the book, with file and line
    BookCheck,
    /// Replace the macros of a book (called by mdbook)
    #[command(hide = true)]
    Preprocess {
        #[command(subcommand)]
        asked: Option<RendererQuestion>,
    },
}

/// What authors and instructors do.
#[derive(Debug, Subcommand)]
pub enum AuthorCommand {
    /// The author's gate for exercise-N, or all: starter red as declared, reference green, each mistake caught
    Verify {
        /// exercise-N or all
        target: String,
        /// Leave out the lints, and beside one exercise the Kotlin service and the ceiling
        #[arg(long)]
        quick: bool,
        /// Judge again what was green before and has not changed, and each reference by all earlier suites as well
        #[arg(long)]
        anew: bool,
        /// Of the mistakes one in so many and, of `all`, every other exercise: others with each commit
        #[arg(long, value_name = "N", default_value = "1")]
        one_in: NonZeroUsize,
    },
    /// What shows in minutes that the course works here
    Test,
    /// After a change in a reference: merge it into its starter, its mistakes, and every later state
    Carry {
        /// exercise-N, the one whose reference was changed
        target: Target,
        /// The commit before the change; else the last carry, or the newest commit
        #[arg(long)]
        since: Option<String>,
    },
    /// After a change in a starter: write the patch that makes it out of its reference
    StarterPatch {
        /// exercise-N
        target: Target,
    },
    /// Every file of a new exercise that continues another one
    NewExercise {
        /// Its number, which no exercise has
        number: u8,
        /// The word from
        #[arg(value_parser = ["from"])]
        from: String,
        /// The number of the exercise whose reference it continues
        origin: u8,
        /// Its title, from which the names of its files are made
        #[arg(long, default_value = "A new step")]
        title: String,
    },
    /// Make the offline kit, for machines without a network
    Kit {
        /// Where it goes: an empty folder, or one with an older kit
        folder: std::path::PathBuf,
    },
    /// Do what a day in the room does, timed, on this machine
    Rehearse {
        /// The plan, by its name in book/instructors/plans.toml; see the page For instructors
        #[arg(long, default_value = "one-day")]
        plan: String,
        /// Only these: exercise-N …
        exercises: Vec<Target>,
    },
}

/// What mdbook asks its preprocessor besides its work.
#[derive(Debug, Subcommand)]
pub enum RendererQuestion {
    /// Whether it expands the book for this renderer
    Supports {
        /// The renderer's name
        renderer: String,
    },
}

/// Options of `check`.
#[derive(Debug, Default, Args)]
pub struct CheckOptions {
    /// Print how long each step took
    #[arg(long)]
    pub timings: bool,
    /// Only these tests: a name, a part of one, or a suite; several with commas between them, or one after the other
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Only the tests that were red at the last check
    #[arg(long, conflicts_with = "only")]
    pub last_failed: bool,
    /// For a program that reads it: nothing else is on standard output then
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Who reads what a check found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A person
    #[default]
    Text,
    /// An editor
    Json,
    /// CI
    Junit,
}

/// Options of `run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// exercise-N, solution-N, kotlin or hunt; the exercise that you're at without one
    pub target: Option<CheckTarget>,
    /// The port to listen on; 8080 when it is free, else any that is
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub port: Option<u16>,
    /// As it would be shipped: cargo's release profile (Kotlin always runs so here)
    #[arg(long)]
    pub release: bool,
    /// Only the database, and the settings for the debugger of your editor
    #[arg(long, conflicts_with_all = ["release", "silences"])]
    pub debug: bool,
    /// Let the line to the database fall silent each time you press Enter
    #[arg(long)]
    pub silences: bool,
}

/// Options of `upstream`.
#[derive(Debug, Args)]
pub struct UpstreamArgs {
    /// How long it waits before it answers, in milliseconds
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(..=10_000))]
    pub delay: u64,
    /// The most that it waits besides, in milliseconds
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(..=10_000))]
    pub jitter: u64,
    /// How many of a hundred calls fail, with a 500
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=100))]
    pub failures: u8,
    /// On how many of a hundred calls it hangs up
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=100))]
    pub hang_ups: u8,
    /// The port to listen on; any that is free, unless you start one again where a service knows it
    #[arg(long, default_value_t = 0)]
    pub port: u16,
}

/// Options of `build`.
#[derive(Debug, Args)]
pub struct BuildArgs {
    /// exercise-N (your Rust), or solution-N (the reference)
    pub target: Target,
    /// The machine: pi, a Raspberry Pi with a 64-bit system
    #[arg(long = "for", value_name = "MACHINE", value_parser = ["pi"])]
    pub machine: String,
    /// Where to copy it, by ssh: user@pi
    #[arg(value_parser = destination)]
    pub to: Option<String>,
}

/// Options of `measure`.
#[derive(Debug, Default, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub struct MeasureArgs {
    /// A measurement that isn't an exercise's
    #[command(subcommand)]
    pub long: Option<LongRun>,
    /// exercise-N (your Rust), or solution-N (the reference)
    #[arg(required = true)]
    pub target: Option<Target>,
    /// About a minute: judges CPU per request and size, and shows values of the rest
    #[arg(long, conflicts_with = "thorough")]
    pub quick: bool,
    /// Ten blocks a side
    #[arg(long)]
    pub thorough: bool,
    /// So many blocks a side instead of the plan's: the more, the narrower the intervals of what no duet measures
    #[arg(long, value_name = "COUNT")]
    pub rounds: Option<NonZeroUsize>,
    /// Also the services beside the port: Spring Boot, Node, Python. A row that cannot be built here is left out
    #[arg(long)]
    pub peers: bool,
    /// Load a service that you have started, on another machine perhaps: http://pi.local:8080. Shows what can be seen from outside
    #[arg(long, value_name = "URL", conflicts_with_all = ["peers", "reference"])]
    pub at: Option<String>,
    /// The key of that service; valid_key without it
    #[arg(long, requires = "at")]
    pub key: Option<String>,
    #[command(flatten)]
    pub result: ResultArgs,
}

/// What a measurement reads, and whose result comes of it.
#[derive(Debug, Clone, Default, Args)]
pub struct ResultArgs {
    /// The data set to read from
    #[arg(long)]
    pub data_set: Option<DataSet>,
    /// Write the committed reference results instead of your own
    #[arg(long, hide = true)]
    pub reference: bool,
}

/// A measurement that takes hours.
#[derive(Debug, Subcommand)]
pub enum LongRun {
    /// Millions of requests in chunks: does memory stay flat? Ctrl-C stops it, and what was measured is written
    Endurance(EnduranceArgs),
    /// Each exercise whose figures are older than what they are about. Stopped, it goes on with the next one when it's called again
    All(AllArgs),
}

/// Options of `measure all`.
#[derive(Debug, Args)]
pub struct AllArgs {
    /// Also the services beside the port, where an exercise has rows of them
    #[arg(long)]
    pub peers: bool,
    #[command(flatten)]
    pub result: ResultArgs,
}

/// Options of `measure endurance`.
#[derive(Debug, Args)]
pub struct EnduranceArgs {
    /// kotlin, solution-N, exercise-N, or a service beside the port
    #[arg(default_values_t = [Target::Kotlin, Target::Solution(11)])]
    pub targets: Vec<Target>,
    /// How many requests each of them gets in all
    #[arg(long, default_value_t = 3_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: u64,
    #[command(flatten)]
    pub result: ResultArgs,
}

/// Options of `calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArgs {
    #[command(flatten)]
    pub result: ResultArgs,
    /// Calibrate so often, and say how often each claim held; a series that was ended goes on
    #[arg(long, default_value_t = 1)]
    pub times: usize,
    /// Calibrate what is measured in rounds instead: throughput, p99, start-up and memory
    #[arg(long)]
    pub rounds: bool,
    /// Compare a duet with runs one after the other instead
    #[arg(long, conflicts_with_all = ["times", "rounds"])]
    pub turns: bool,
}

/// Refuses what ssh would take for an option, or a shell for more than a word.
fn destination(text: &str) -> Result<String, String> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "@._-".contains(letter);
    if text.starts_with(['-', '.'])
        || !text.ends_with(char::is_alphanumeric)
        || !text.chars().all(allowed)
    {
        return Err("a machine is user@host, or a name of your ~/.ssh/config".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ssh_would_take_for_an_option_is_no_machine() {
        for good in ["pi@raspberrypi", "pi@10.0.0.2", "my-pi", "pi@pi.local"] {
            assert_eq!(destination(good), Ok(good.to_owned()));
        }
        let option = "-oProxyCommand=x";
        for bad in ["", option, "pi@", "a b", "pi@[::1]", "pi@host;id", "../x"] {
            assert!(destination(bad).is_err(), "{bad}");
        }
    }
}
