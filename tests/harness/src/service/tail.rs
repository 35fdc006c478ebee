//! The end of a service's log as a message shows it: a stack trace by its first frames, a long line by its beginning.

use std::io::{self, Read, Seek, SeekFrom};

/// What follows what was cut.
const MORE: &str = "… and ";
/// How many characters of a line are shown. A JVM's log has a whole stack trace in one line of JSON, whose beginning says what
/// went wrong and where.
const LONGEST: usize = 600;
/// How many frames of a stack trace are shown: the nearest ones are the service's own.
const FRAMES: usize = 3;

/// How many bytes of a log are read at most: those at its end. A log may be as large as the disk.
const MOST: u64 = 256 * 1024;

/// The end of what was written to a log after so many bytes. The rest of a line that was cut is left out.
pub fn end(mut log: impl Read + Seek, begins: u64) -> io::Result<String> {
    let length = log.seek(SeekFrom::End(0))?;
    let from = begins.max(length.saturating_sub(MOST));
    log.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    // It may grow meanwhile.
    log.take(MOST).read_to_end(&mut bytes)?;
    if from > begins
        && let Some(end) = bytes.iter().position(|byte| *byte == b'\n')
    {
        bytes.drain(..=end);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The last lines of a log, as many as that at most.
pub fn of(log: &str, lines: usize) -> String {
    let all: Vec<&str> = log.lines().collect();
    let mut shown = Vec::new();
    for part in all.chunk_by(|line, next| is_frame(line) && is_frame(next)) {
        let (kept, more) = part.split_at(part.len().min(FRAMES));
        shown.extend(kept.iter().map(|line| beginning(line)));
        if !more.is_empty() {
            shown.push(format!("{MORE}{} more lines", more.len()));
        }
    }
    shown[shown.len().saturating_sub(lines)..].join("\n")
}

/// True where something was cut.
pub fn is_cut(tail: &str) -> bool {
    tail.contains(MORE)
}

/// Whether a line is a frame of a stack trace, as the JVM and Node print them.
fn is_frame(line: &str) -> bool {
    let words = line.trim_start();
    words.len() < line.len() && (words.starts_with("at ") || words.starts_with("... "))
}

fn beginning(line: &str) -> String {
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => {
            let more = line[end..].chars().count();
            format!("{} {MORE}{more} more characters", &line[..end])
        }
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    #[test]
    fn a_long_line_is_shown_by_its_beginning() {
        let trace = r"\n\tat io.ktor.server.engine.Pipeline.proceed(Pipeline.kt:77)".repeat(90);
        let line =
            format!(r#"{{"level":"ERROR","exception":"kotlin.NotImplementedError{trace}"}}"#);
        let log = of(&format!("{line}\nÄnd"), 8);
        assert!(log.contains("kotlin.NotImplementedError"), "{log}");
        assert!(log.ends_with(" more characters\nÄnd"), "{log}");
        assert!(log.chars().count() < LONGEST + 50, "{log}");
        assert!(is_cut(&log));
        assert!(!is_cut(&of("a short line", 8)));
    }

    #[test]
    fn of_a_long_trace_the_error_and_the_first_frames_are_shown() {
        let frames = "\tat io.netty.Loop.run(Loop.java:1)\n".repeat(40);
        let log =
            format!("java.io.IOException: no\n{frames}Caused by: java.net.BindException\n{frames}");
        let frame = "\tat io.netty.Loop.run(Loop.java:1)";
        let part = format!("{frame}\n{frame}\n{frame}\n… and 37 more lines");
        assert_eq!(
            of(&log, 10),
            format!("java.io.IOException: no\n{part}\nCaused by: java.net.BindException\n{part}")
        );
    }

    #[test]
    fn of_a_log_as_large_as_the_disk_only_the_end_is_read() -> io::Result<()> {
        let line = "a line of many\n";
        let text = line.repeat(100_000);
        let log = Cursor::new(&text);
        let read = end(log.clone(), 0)?;
        assert!(read.len() <= 256 * 1024, "{} bytes", read.len());
        assert!(read.starts_with(line) && text.ends_with(&read));
        let begins = text.len() as u64 - 5;
        assert_eq!(end(log, begins)?, "many\n");
        Ok(())
    }

    #[test]
    fn the_last_lines_are_shown() {
        assert_eq!(of("1\n2\n3\n", 2), "2\n3");
        assert_eq!(of("", 2), "");
    }
}
