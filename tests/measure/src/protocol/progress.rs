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
    /// Milliseconds after `began` at which the end is expected.
    end: Arc<AtomicU64>,
}

impl Progress {
    /// Begins, with what the whole is expected to take.
    pub fn begin(expected: Duration) -> Self {
        let began = Instant::now();
        let end = Arc::new(AtomicU64::new(milliseconds(expected)));
        let bar = terminal::interactive().then(|| {
            let bar = ProgressBar::new_spinner();
            let shared = Arc::clone(&end);
            let left = move |_: &ProgressState, line: &mut dyn std::fmt::Write| {
                // A line that cannot be written is no reason to stop measuring.
                let _ = line.write_str(&left_in_words(&shared, began));
            };
            // The template is constant and valid, so the plain style never shows.
            let style = ProgressStyle::with_template("  {wide_msg} {left}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner())
                .with_key("left", left);
            bar.set_style(style);
            bar.enable_steady_tick(Duration::from_millis(500));
            bar
        });
        Progress { bar, began, end }
    }

    /// How long it has been going.
    pub fn gone(&self) -> Duration {
        self.began.elapsed()
    }

    /// Corrects the estimate of what is left.
    pub fn expect(&self, left: Duration) {
        self.end
            .store(milliseconds(self.gone() + left), Ordering::Relaxed);
    }

    /// A block or another larger part begins: worth a line where there is no terminal.
    pub fn part(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(text.to_owned()),
            None => eprintln!("  {text} ({})", left_in_words(&self.end, self.began)),
        }
    }

    /// A phase within a part begins: shown on a terminal only.
    pub fn phase(&self, text: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.to_owned());
        }
    }

    /// A sentence that stays on the screen.
    pub fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
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

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn left_in_words(end: &AtomicU64, began: Instant) -> String {
    let left = Duration::from_millis(end.load(Ordering::Relaxed)).saturating_sub(began.elapsed());
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

/// A short duration: `1 s`, `0.5 s`.
pub fn short(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_told_in_minutes_and_seconds() {
        assert_eq!(in_words(Duration::from_secs(45)), "45 s");
        assert_eq!(in_words(Duration::from_secs(125)), "2 min 05 s");
        assert_eq!(short(Duration::from_millis(500)), "0.5 s");
    }
}
