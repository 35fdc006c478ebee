//! The progress of making a data set, on standard error: a bar on a terminal, else a line every few seconds.

use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressStyle};

use crate::datasets::set::DataSet;
use workshop_base::terminal;

/// How often a line is printed where there is no terminal.
const EVERY: Duration = Duration::from_secs(3);

/// Work that is over sooner than this prints nothing but its end.
const PATIENCE: Duration = Duration::from_millis(500);

/// A bar or lines, for one data set. Nothing is told of `small`, which each run of a check gets.
pub(super) struct SeedProgress {
    set: DataSet,
    start: Instant,
    said: Instant,
    bar: Option<ProgressBar>,
}

impl SeedProgress {
    pub(super) fn of(set: DataSet) -> Self {
        let bar = (set != DataSet::Small && terminal::interactive()).then(|| {
            ProgressBar::new(u64::from(set.rows()))
                .with_style(style(
                    "{msg:12} [{bar:30}] {human_pos}/{human_len} rows, {per_sec}, {eta} left",
                ))
                .with_message(format!("seeding {set}"))
        });
        let now = Instant::now();
        SeedProgress {
            set,
            start: now,
            said: now,
            bar,
        }
    }

    /// So many rows are in.
    pub(super) fn rows(&mut self, done: u32) {
        let elapsed = self.start.elapsed();
        match &self.bar {
            Some(bar) if elapsed >= PATIENCE => bar.set_position(u64::from(done)),
            None if self.said.elapsed() >= EVERY => {
                self.said = Instant::now();
                eprintln!("{}", line(self.set, done, elapsed));
            }
            _ => {}
        }
    }

    /// The rows are in, something else goes on, of which PostgreSQL does not tell how far it is.
    pub(super) fn step(&mut self, name: &'static str) {
        let elapsed = self.start.elapsed();
        if elapsed < PATIENCE || self.set == DataSet::Small {
            return;
        }
        let (set, seconds) = (self.set, elapsed.as_secs_f64());
        let words = format!("{set}: {name}, {seconds:.0} s so far");
        if let Some(bar) = &self.bar {
            bar.set_style(style("seeding {wide_msg}"));
            bar.set_message(words);
        } else {
            eprintln!("seeding {words}");
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    let style = ProgressStyle::with_template(template);
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    style.progress_chars("=> ")
}

impl Drop for SeedProgress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// `seeding full: 2,400,000 of 10,000,000 rows, 800,000 rows/s, 9 s left`
fn line(set: DataSet, done: u32, elapsed: Duration) -> String {
    let rate = f64::from(done) / elapsed.as_secs_f64().max(0.001);
    let left = f64::from(set.rows() - done.min(set.rows())) / rate.max(1.0);
    let (done, all) = (HumanCount(done.into()), HumanCount(set.rows().into()));
    let rate = HumanCount((rate / 1000.0).round() as u64 * 1000);
    format!("seeding {set}: {done} of {all} rows, {rate} rows/s, {left:.0} s left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_rows_rate_and_time_left() {
        let line = line(DataSet::Full, 2_400_000, Duration::from_secs(3));
        assert_eq!(
            line,
            "seeding full: 2,400,000 of 10,000,000 rows, 800,000 rows/s, 10 s left"
        );
    }
}
