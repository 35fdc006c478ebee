//! The progress of making a data set, on standard error: a bar on a terminal, else a line every few seconds.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::datasets::set::DataSet;
use workshop_base::terminal;

/// How often a line is printed where there is no terminal.
const EVERY: Duration = Duration::from_secs(3);

/// Work that is over sooner than this prints nothing but its end.
const PATIENCE: Duration = Duration::from_millis(500);

/// A bar or lines, for one data set.
pub(super) struct Progress {
    set: DataSet,
    start: Instant,
    said: Instant,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Begins now.
    pub(super) fn of(set: DataSet) -> Self {
        let bar = terminal::interactive().then(|| {
            let bar = ProgressBar::with_draw_target(
                Some(u64::from(set.rows())),
                ProgressDrawTarget::stderr(),
            );
            let style = ProgressStyle::with_template(
                "{msg:12} [{bar:30}] {human_pos}/{human_len} rows, {per_sec}, {eta} left",
            );
            bar.set_style(
                style
                    .unwrap_or_else(|_| ProgressStyle::default_bar())
                    .progress_chars("=> "),
            );
            bar.set_message(format!("seeding {set}"));
            bar
        });
        let now = Instant::now();
        Progress {
            set,
            start: now,
            said: now,
            bar,
        }
    }

    /// So many rows are in.
    pub(super) fn rows(&mut self, done: u32) {
        if let Some(bar) = &self.bar {
            bar.set_position(u64::from(done));
        } else if self.said.elapsed() >= EVERY {
            self.said = Instant::now();
            eprintln!("{}", line(self.set, done, self.start.elapsed()));
        }
    }

    /// The rows are in, something else goes on, of which PostgreSQL does not tell how far it is.
    pub(super) fn step(&mut self, name: &'static str) {
        if let Some(bar) = &self.bar {
            let style = ProgressStyle::with_template("seeding {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.set_message(format!(
                "{}: {name}, {:.0} s so far",
                self.set,
                self.start.elapsed().as_secs_f64()
            ));
        } else if self.start.elapsed() >= PATIENCE {
            self.said = Instant::now();
            eprintln!(
                "seeding {}: {name}, {:.0} s so far",
                self.set,
                self.start.elapsed().as_secs_f64()
            );
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// `seeding full: 2 400 000 of 10 000 000 rows, 812 000 rows/s, 9 s left`
fn line(set: DataSet, done: u32, elapsed: Duration) -> String {
    let rate = f64::from(done) / elapsed.as_secs_f64().max(0.001);
    let left = f64::from(set.rows() - done.min(set.rows())) / rate.max(1.0);
    format!(
        "seeding {set}: {} of {} rows, {} rows/s, {left:.0} s left",
        grouped(u64::from(done)),
        grouped(u64::from(set.rows())),
        grouped((rate / 1000.0).round() as u64 * 1000),
    )
}

/// A number in groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_rows_rate_and_time_left() {
        let line = line(DataSet::Full, 2_400_000, Duration::from_secs(3));
        assert_eq!(
            line,
            "seeding full: 2 400 000 of 10 000 000 rows, 800 000 rows/s, 10 s left"
        );
    }
}
