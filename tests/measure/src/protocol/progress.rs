//! Where a measurement is and how long it still takes: one moving line on a terminal, plain lines elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use workshop_base::terminal;

/// The progress of one measurement, on standard error: a bar whose length is what the whole is expected to take, in milliseconds.
/// It is hidden where there is no terminal. Dropping it clears the line.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// Begins, with what the whole is expected to take.
    pub fn begin(expected: Duration) -> Self {
        let target = match terminal::interactive() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(expected.as_millis() as u64), target);
        let left = |state: &ProgressState, line: &mut dyn std::fmt::Write| {
            // A line that cannot be written is no reason to stop measuring.
            let _ = line.write_str(&left_in_words(state.len(), state.elapsed()));
        };
        // The template is constant and valid, so the plain style never shows.
        let style = ProgressStyle::with_template("  {wide_msg} {left}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner())
            .with_key("left", left);
        bar.set_style(style);
        if !bar.is_hidden() {
            bar.enable_steady_tick(Duration::from_millis(500));
        }
        Progress(bar)
    }

    /// How long it has been going.
    pub fn gone(&self) -> Duration {
        self.0.elapsed()
    }

    /// From now on, so much is expected to be left.
    pub fn left(&self, left: Duration) {
        self.0.set_length((self.gone() + left).as_millis() as u64);
    }

    /// A block or another larger part begins: worth a line where there is no terminal.
    pub fn part(&self, text: &str) {
        if self.0.is_hidden() {
            let left = left_in_words(self.0.length(), self.gone());
            eprintln!("  {text} ({left})");
        }
        self.phase(text);
    }

    /// A phase within a part begins: shown on a terminal only.
    pub fn phase(&self, text: &str) {
        self.0.set_message(text.to_owned());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn left_in_words(expected_ms: Option<u64>, gone: Duration) -> String {
    let expected = Duration::from_millis(expected_ms.unwrap_or_default());
    format!("about {} left", in_words(expected.saturating_sub(gone)))
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
