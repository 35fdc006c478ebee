//! A recording: every single request of an open loop, with the moments that it was due, sent and answered.
//!
//! A generator with a fixed number of connections cannot send while all of them wait. Counted from when a request was sent,
//! the time that it waited for a free connection is missing: *coordinated omission*. Counted from when it was due, it is
//! there. One recording gives both.

use anyhow::Context;

use workshop_base::outcome::Trouble;

/// The columns of oha's CSV that are read: when a request was sent; the first byte of the body after that; the whole, from
/// when it was due; the status. Times in seconds.
const COLUMNS: [&str; 4] = [
    "request-start",
    "Response-delay",
    "request-duration",
    "status",
];

/// One request. Moments in seconds from the beginning of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordedRequest {
    /// When the rate asked for it.
    pub due_s: f64,
    /// When a connection was free to send it.
    pub sent_s: f64,
    /// When its answer was there.
    pub answered_s: f64,
    /// The answer's status.
    pub status: u16,
}

impl RecordedRequest {
    /// The latency from when it was due, in milliseconds: what a client waits that has somewhere to be.
    pub fn corrected_ms(&self) -> f64 {
        (self.answered_s - self.due_s) * 1e3
    }

    /// The latency from when it was sent, in milliseconds: what a tool sees that asks only when it has a hand free.
    pub fn uncorrected_ms(&self) -> f64 {
        (self.answered_s - self.sent_s) * 1e3
    }
}

/// Reads the CSV that oha prints with `--latency-correction`. A body of a few bytes comes in one piece, so its first byte is
/// its last one as well.
pub fn parse(csv: &str) -> anyhow::Result<Vec<RecordedRequest>> {
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let places = COLUMNS.map(|column| header.iter().position(|name| *name == column));
    let [Some(sent), Some(delay), Some(duration), Some(status)] = places else {
        return Err(Trouble::new(format!(
            "oha printed something other than its CSV: {}",
            header.join(",").chars().take(200).collect::<String>()
        ))
        .expected("oha 1.16 or newer")
        .next("./justw --bring oha")
        .into());
    };
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let seconds = |place: usize| fields.get(place)?.parse::<f64>().ok();
            let request = || {
                let sent_s = seconds(sent)?;
                let answered_s = sent_s + seconds(delay)?;
                Some(RecordedRequest {
                    due_s: answered_s - seconds(duration)?,
                    sent_s,
                    answered_s,
                    status: fields.get(status)?.parse().ok()?,
                })
            };
            request().with_context(|| format!("a line of oha's CSV is malformed: {line}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str =
        "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status";

    #[test]
    fn one_line_gives_both_latencies() -> anyhow::Result<()> {
        // Due at 2.0 s, sent at 2.9 s when a connection was free, answered 2 ms later.
        let requests = parse(&format!("{HEADER}\n2.9,0,0,0.002,0.902,93,200\n"))?;
        assert_eq!(requests.len(), 1);
        let request = requests[0];
        assert!((request.due_s - 2.0).abs() < 1e-9, "{request:?}");
        assert!((request.corrected_ms() - 902.0).abs() < 1e-6);
        assert!((request.uncorrected_ms() - 2.0).abs() < 1e-6);
        assert_eq!(request.status, 200);
        Ok(())
    }

    #[test]
    fn something_else_than_csv_and_a_line_cut_short_are_told() {
        let error = parse("Usage: oha").unwrap_err().to_string();
        assert!(error.contains("Usage: oha"), "{error}");
        let error = parse(&format!("{HEADER}\n2.9,0,0,0.0")).unwrap_err();
        assert!(error.to_string().contains("malformed: 2.9,0,0"), "{error}");
    }
}
