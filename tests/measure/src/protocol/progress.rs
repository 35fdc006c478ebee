//! Where a measurement is and how long it still takes: one moving line on a terminal, plain lines elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use workshop_base::terminal;

/// The progress of one measurement, on standard error. Dropping it clears the line.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    began: Instant,
    /// What the whole is expected to take, in milliseconds.
    expected: Arc<AtomicU64>,
}

impl Progress {
    /// Begins, with what the whole is expected to take.
    pub fn begin(expected: Duration) -> Self {
        let began = Instant::now();
        let expected = Arc::new(AtomicU64::new(expected.as_millis() as u64));
        let shown = Arc::clone(&expected);
        let bar = terminal::interactive().then(|| {
            let bar = ProgressBar::new_spinner();
            let left = move |_: &ProgressState, line: &mut dyn std::fmt::Write| {
                // A line that cannot be written is no reason to stop measuring.
                let _ = line.write_str(&left_in_words(&shown, began));
            };
            // The template is constant and valid, so the plain style never shows.
            let style = ProgressStyle::with_template("  {wide_msg} {left}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner())
                .with_key("left", left);
            bar.set_style(style);
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Progress {
            bar,
            began,
            expected,
        }
    }

    /// How long it has been going.
    pub fn gone(&self) -> Duration {
        self.began.elapsed()
    }

    /// From now on, so much is expected to be left.
    pub fn left(&self, left: Duration) {
        let expected = self.began.elapsed() + left;
        self.expected
            .store(expected.as_millis() as u64, Ordering::Relaxed);
    }

    /// A block or another larger part begins: worth a line where there is no terminal.
    pub fn part(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(text.to_owned()),
            None => eprintln!("  {text} ({})", left_in_words(&self.expected, self.began)),
        }
    }

    /// A phase within a part begins: shown on a terminal only.
    pub fn phase(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.to_owned());
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

fn left_in_words(expected: &AtomicU64, began: Instant) -> String {
    let expected = Duration::from_millis(expected.load(Ordering::Relaxed));
    let left = expected.saturating_sub(began.elapsed());
    format!("about {} left", in_words(left))
}

/// A duration as people say it: `45 s`, `2 min 05 s`.
pub fn in_words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    if seconds < 60 {
        format!("{seconds} s")
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_in_minutes_and_seconds() {
        assert_eq!(in_words(Duration::from_secs(45)), "45 s");
        assert_eq!(in_words(Duration::from_secs(125)), "2 min 05 s");
    }
}
