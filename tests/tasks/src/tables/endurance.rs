//! An endurance run: a line per service with its memory, the slope of it and what that allows to say, and a chart of the memory.

use workshop_results::figures::{count, figure};
use workshop_results::file::{BlockRecord, ResultFile};
use workshop_results::growth::{self, COUNTS};
use workshop_results::key::{
    DESCRIPTORS, ERRORS, Key, MEMORY, P99_SATURATED, REQUESTS, SERVED, THREADS,
};
use workshop_results::shown::{Bar, Bars, Cell, Chart, Column, Drawing, Table};
use workshop_results::statistics::{mean, median};

use crate::endurance::Failed;

/// Columns with what neighbors have in common above them.
const COLUMNS: [(&str, &str); 12] = [
    ("", "Requests"),
    ("", "Errors"),
    ("Memory (MB)", "first"),
    ("Memory (MB)", "last"),
    ("Memory", "bytes per request"),
    ("Memory", "verdict"),
    ("Descriptors", "first"),
    ("Descriptors", "last"),
    ("Threads", "first"),
    ("Threads", "last"),
    ("p99 (ms)", "first tenth"),
    ("p99 (ms)", "last tenth"),
];
/// The points of a line.
const POINTS: usize = 10;

/// Both, of a run's chunks in the order of time, and of what has ended it early. The first `settles` requests of each process are not
/// judged.
pub fn drawn(
    result: &ResultFile,
    chunks: &[BlockRecord],
    failed: Option<&Failed>,
    settles: u64,
) -> (Table, Option<Chart>) {
    let columns = COLUMNS.map(|(group, heading)| Column {
        group: group.to_owned(),
        heading: heading.to_owned(),
    });
    let title = "Does it grow? The first and the last chunk, and the slope of the memory with its 95 % interval";
    let mut table = Table::new("endurance", title, columns.into());
    table.corner = "Service".to_owned();
    let mut lines: Vec<(String, Vec<&BlockRecord>)> = Vec::new();
    for side in &result.sides {
        let of_side = chunks.iter().filter(|chunk| chunk.side == side.id);
        let chunks: Vec<&BlockRecord> = of_side.collect();
        let invalid = failed.is_some_and(|failed| failed.side == side.id);
        if let Some(cells) = cells(&chunks, settles, invalid) {
            table.row(&side.label, cells);
            lines.push((side.label.clone(), chunks));
        }
    }
    let a_day = COUNTS * 1000.0 * 86_400.0 / 1e9;
    table.notes = vec![
        format!(
            "flat: the whole interval is below {} bytes per request, which at 1000 requests per second would be {} GB in a day; grows: it is above, and the growth doesn't slow down",
            figure(COUNTS),
            figure(a_day)
        ),
        format!(
            "each process is judged from the middle of what it served, and not before {} requests",
            count(settles)
        ),
    ];
    (table, chart(&lines))
}

fn cells(chunks: &[&BlockRecord], settles: u64, invalid: bool) -> Option<Vec<Cell>> {
    let (first, last) = (chunks.first()?, chunks.last()?);
    let tenth = chunks.len().div_ceil(10);
    let p99 = |chunks: &[&BlockRecord]| -> Cell {
        let all: Vec<f64> = values(chunks, P99_SATURATED).collect();
        median(&all).into()
    };
    let sum = |key| Cell::Count(values(chunks, key).sum::<f64>() as u64);
    let memory = |chunk: &BlockRecord| -> Cell { chunk.valid(&MEMORY).into() };
    let counted = |chunk: &BlockRecord, key| {
        let number = chunk.valid(&key);
        number.map_or(Cell::Empty, |number| Cell::Count(number as u64))
    };
    let judged = growth::judge(&memory_by_served(chunks), settles as f64);
    let slope = judged.slope.map_or(Cell::Empty, |slope| Cell::Range {
        value: slope.mean,
        least: slope.low,
        most: slope.high,
    });
    let verdict = if invalid {
        "invalid".to_owned()
    } else {
        judged.growth.to_string()
    };
    Some(vec![
        sum(REQUESTS),
        sum(ERRORS),
        memory(first),
        memory(last),
        slope,
        Cell::Text(verdict),
        counted(first, DESCRIPTORS),
        counted(last, DESCRIPTORS),
        counted(first, THREADS),
        counted(last, THREADS),
        p99(&chunks[..tenth]),
        p99(&chunks[chunks.len() - tenth..]),
    ])
}

/// What chunks have by a key.
fn values(chunks: &[&BlockRecord], key: Key) -> impl Iterator<Item = f64> {
    chunks.iter().filter_map(move |chunk| chunk.valid(&key))
}

/// The memory of a process in bytes, by what it had served.
fn memory_by_served(chunks: &[&BlockRecord]) -> Vec<(f64, f64)> {
    let point = |chunk: &&BlockRecord| Some((chunk.valid(&SERVED)?, chunk.valid(&MEMORY)? * 1e6));
    chunks.iter().filter_map(point).collect()
}

/// A line for each service, as far as all of them have come; each point is the mean of a tenth.
fn chart(lines: &[(String, Vec<&BlockRecord>)]) -> Option<Chart> {
    let common = lines.iter().map(|(_, chunks)| chunks.len()).min()?;
    let points = POINTS.min(common);
    let line = |(name, chunks): &(String, Vec<&BlockRecord>)| Bars {
        name: name.clone(),
        bars: (0..points)
            .filter_map(|point| {
                let (first, end) = (point * common / points, (point + 1) * common / points);
                let memory: Vec<f64> = values(&chunks[first..end], MEMORY).collect();
                let sent: f64 = values(&chunks[..end], REQUESTS).sum();
                (!memory.is_empty()).then(|| Bar {
                    label: figure(sent / 1e6),
                    value: mean(memory),
                    mark: String::new(),
                })
            })
            .collect(),
    };
    let groups: Vec<Bars> = lines.iter().map(line).collect();
    groups.iter().any(|group| !group.bars.is_empty()).then(|| Chart {
        id: "memory-over-requests".to_owned(),
        title: "Memory in MB, by millions of requests. The number of a row is at both ends of its line.".to_owned(),
        drawing: Drawing::Lines(groups),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_measure::protocol::block::{Observed, megabytes};

    fn chunk(number: u32, pss_kb: u64) -> BlockRecord {
        let mut observed = Observed::default();
        for (key, value) in [
            (SERVED, f64::from(number) * 50_000.0),
            (REQUESTS, 50_000.0),
            (ERRORS, 0.0),
            (MEMORY, megabytes(pss_kb)),
            (P99_SATURATED, f64::from(number)),
            (DESCRIPTORS, 50.0),
            (THREADS, 4.0),
        ] {
            observed.value(key, Some(value));
        }
        observed.record(1, 1, "solution-3")
    }

    #[test]
    fn a_row_says_first_and_last_and_what_the_slope_allows_to_say() {
        let leaks: Vec<BlockRecord> = (1..=40)
            .map(|number| chunk(number, 20_000 + 50_000 * u64::from(number)))
            .collect();
        let leaks: Vec<&BlockRecord> = leaks.iter().collect();
        let row = cells(&leaks, 100_000, false).unwrap();
        assert_eq!(row[0], Cell::Count(2_000_000));
        assert_eq!(row[5], Cell::text("grows"));
        let Cell::Range { value, .. } = row[4] else {
            panic!("{row:?}");
        };
        assert!((value - 1024.0).abs() < 1.0, "{value}");
        assert_eq!(
            (&row[10], &row[11]),
            (&Cell::Number(2.5), &Cell::Number(38.5))
        );
        assert_eq!(
            cells(&leaks, 100_000, true).unwrap()[5],
            Cell::text("invalid")
        );
        assert_eq!(cells(&[], 100_000, false), None);
    }

    #[test]
    fn lines_end_where_all_services_have_come() {
        let long: Vec<BlockRecord> = (1..=41).map(|number| chunk(number, 20_000)).collect();
        let lines: [(String, Vec<&BlockRecord>); 2] = [
            ("one".to_owned(), long.iter().collect()),
            ("other".to_owned(), long[..40].iter().collect()),
        ];
        let Some(Chart {
            drawing: Drawing::Lines(groups),
            ..
        }) = chart(&lines)
        else {
            panic!("no lines");
        };
        let labels = |group: &Bars| -> Vec<String> {
            group.bars.iter().map(|bar| bar.label.clone()).collect()
        };
        assert_eq!(labels(&groups[0]), labels(&groups[1]));
        assert_eq!(groups[0].bars.len(), 10);
        assert_eq!(groups[0].bars[9].label, "2");
    }
}
