//! What a person sees of a check while it runs: each test as soon as its verdict is certain, and below them what is waited for.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use workshop_base::terminal;
use workshop_harness::plan::Phase;
use workshop_harness::report::{Judged, Printed, Report};
use workshop_harness::run::Listener;

/// Prints on standard output; what is waited for is on standard error, and only on a terminal.
pub struct Teller {
    printed: Printed,
    /// Nothing is printed of the tests: a program reads them at the end.
    is_quiet: bool,
    /// All phases are judged, whatever is red.
    is_thorough: bool,
    line: ProgressBar,
    waits_for: String,
    ended: usize,
    all: usize,
}

impl Teller {
    /// Tells of these phases.
    pub fn of(phases: &[Phase], is_quiet: bool, is_thorough: bool) -> Self {
        let line = match terminal::interactive() {
            true => ProgressBar::new_spinner(),
            false => ProgressBar::hidden(),
        };
        if let Ok(style) = ProgressStyle::with_template("  {elapsed:>4}  {wide_msg:.dim}") {
            line.set_style(style);
        }
        line.enable_steady_tick(Duration::from_millis(500));
        Teller {
            printed: Printed::default(),
            is_quiet,
            is_thorough,
            line,
            waits_for: String::new(),
            ended: 0,
            all: phases.iter().map(|phase| phase.tests().count()).sum(),
        }
    }

    /// How many tests were not judged, since others before them are red.
    pub fn left(&self) -> usize {
        self.all - self.ended
    }
}

impl Listener for Teller {
    fn waits_for(&mut self, tests: &[&str]) {
        let first = tests.first().copied().unwrap_or("the service to stop");
        if first != self.waits_for {
            first.clone_into(&mut self.waits_for);
            self.line.reset_elapsed();
        }
        let others = match tests.len().saturating_sub(1) {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        let (ended, all) = (self.ended, self.all);
        let words = format!("{ended} of {all} tests; waiting for {first}{others}");
        self.line.set_message(words);
    }

    fn ends(&mut self, label: &str, judged: &Judged) {
        self.ended += 1;
        if !self.is_quiet {
            let (line, printed) = (&self.line, &mut self.printed);
            line.suspend(|| printed.print(label, judged));
        }
    }

    fn goes_on(&mut self, found: &Report) -> bool {
        self.is_thorough || found.failed().is_empty()
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}
