//! The decision guide: which figure speaks for which answer to "Should we?". A figure says no more here than its verdict does,
//! and what is not measured says so.

use crate::file::{CALIBRATION, Comparison, Metric, Mode, ResultFile, Verdict};
use crate::metrics::{compared, text_end};
use crate::shown::{Cell, Column, Table};
use crate::view::{Item, claim};
use workshop_base::target::Language;

/// A question that figures can speak to, with one row per figure.
struct Question {
    id: &'static str,
    title: &'static str,
    rows: Vec<Row>,
    /// What is compared in a measurement.
    pair: fn(&ResultFile, &Metric) -> Option<Comparison>,
    /// What a figure speaks for that is not better.
    otherwise: &'static str,
    /// What must be known to read the table.
    note: &'static str,
}

/// A figure, and what it speaks for if it is better.
struct Row {
    name: &'static str,
    key: String,
    /// The exercises that measure it: the one that tells most comes first, the one that comes first in the course last.
    from: &'static [&'static str],
    answer: &'static str,
}

const SET_UPS: &[&str] = &["exercise-13", "exercise-8"];
const READS: &[&str] = &["exercise-13", "exercise-8", "exercise-3"];
const STARTS: &[&str] = &["exercise-13", "exercise-8", "exercise-3", "exercise-2"];
const CPU: &str = "cpu_per_request";
const TUNE: &str = "tune the JVM";
const CALL: &str = "call out to Rust, if this function burns the CPU";

/// The questions, by what a yes costs.
fn questions() -> [Question; 3] {
    let long = format!("{CPU}{}", text_end(512));
    [
        Question {
            id: "tune",
            title: "Would a tuned JVM do? The best Kotlin set-up ÷ Kotlin as shipped",
            rows: vec![
                row("Memory", "memory", SET_UPS, TUNE),
                row("Start-up", "start_up", SET_UPS, TUNE),
                row("Throughput", "throughput", SET_UPS, TUNE),
            ],
            pair: tuned,
            otherwise: "leave the JVM as it is",
            note: "The set-up that is best by one figure need not be the best by another.",
        },
        Question {
            id: "call-out",
            title: "Would one function do? CPU per QR code, Rust ÷ Kotlin",
            rows: vec![
                row("A process, short texts", CPU, &["exercise-9"], CALL),
                row("A process, long texts", &long, &["exercise-9"], CALL),
                row("A sandbox, short texts", CPU, &["exercise-10"], CALL),
                row("A sandbox, long texts", &long, &["exercise-10"], CALL),
                row("A library, short texts", CPU, &["exercise-11"], CALL),
                row("A library, long texts", &long, &["exercise-11"], CALL),
                row("A service, short texts", CPU, &["exercise-12"], CALL),
                row("A service, long texts", &long, &["exercise-12"], CALL),
            ],
            pair: against_kotlin,
            otherwise: "leave it",
            note: "These are figures of one function. One of yours has its own work per call.",
        },
        Question {
            id: "port",
            title: "Would a port pay? Rust ÷ the best Kotlin set-up",
            rows: vec![
                row("Memory", "memory", READS, "port it, if you rent memory or run many copies"),
                row("CPU per request", CPU, READS, "port it, if you rent cores"),
                row("Throughput", "throughput", READS, "port it, if you rent cores"),
                row("p99 at a fixed rate", "p99", READS, "port it, if latency is the product"),
                row("Start-up", "start_up", STARTS, "port it, if instances come and go"),
            ],
            pair: against_kotlin,
            otherwise: "leave it",
            note: "Exercises 2 and 3 measure Kotlin as shipped only; 8 and 13 compare with the best of several set-ups.",
        },
    ]
}

fn row(
    name: &'static str,
    key: &str,
    from: &'static [&'static str],
    answer: &'static str,
) -> Row {
    Row {
        name,
        key: key.to_owned(),
        from,
        answer,
    }
}

/// The guide, filled with these measurements.
pub fn items(results: &[ResultFile]) -> Vec<Item> {
    let tables = questions().into_iter().map(|question| {
        let columns = Column::list(["Ratio", "Of", "Measured in", "Speaks for"]);
        let mut table = Table::new(question.id, question.title, columns);
        for row in &question.rows {
            table.row(row.name, cells(&question, row, results));
        }
        table.notes = vec![question.note.to_owned()];
        Item::Table(table)
    });
    let limits = "Each row is one figure, from one load on one machine, and speaks for one answer. Rows can't be added up: look \
                  at what you pay for, and skip the others. No figure says what a port costs you, or who carries the pager.";
    tables
        .chain([Item::Text("What figures can't say".to_owned(), limits.to_owned())])
        .collect()
}

fn cells(question: &Question, row: &Row, results: &[ResultFile]) -> Vec<Cell> {
    let Some((result, comparison)) = found(question, row, results) else {
        let first = row.from.last().copied().unwrap_or_default();
        return vec![
            Cell::Empty,
            Cell::text("not measured yet"),
            Cell::text(first),
            Cell::text(format!("nothing yet; type just measure {first}")),
        ];
    };
    let (side, against) = (result.label(&comparison.side), result.label(&comparison.against));
    let ratio = claim(result, Some(&comparison).into());
    let verdict = match &ratio {
        Cell::Ratio(ratio) => ratio.verdict,
        _ => comparison.verdict,
    };
    let speaks_for = match verdict {
        Verdict::Faster | Verdict::Less => row.answer.to_owned(),
        Verdict::Slower | Verdict::More => format!("{}: Kotlin is better here", question.otherwise),
        Verdict::NoDifferenceShown => format!("{}: no difference shown", question.otherwise),
        Verdict::Invalid => "nothing: it is invalid".to_owned(),
        Verdict::NotJudged => format!(
            "nothing yet: a quick run isn't judged; type just measure {}",
            result.target
        ),
    };
    vec![
        ratio,
        Cell::text(format!("{side} ÷ {against}")),
        Cell::text(&result.target),
        Cell::text(speaks_for),
    ]
}

/// The measurement that tells most about this row: the reader's own code comes before the reference's on the same machine.
fn found<'a>(
    question: &Question,
    row: &Row,
    results: &'a [ResultFile],
) -> Option<(&'a ResultFile, Comparison)> {
    row.from.iter().find_map(|exercise| {
        let mut of: Vec<&ResultFile> = results
            .iter()
            .filter(|result| result.exercise == *exercise && result.task != CALIBRATION)
            .collect();
        of.sort_by_key(|result| result.target.starts_with("solution"));
        of.into_iter().find_map(|result| {
            let comparison = (question.pair)(result, result.metric(&row.key)?)?;
            Some((result, comparison))
        })
    })
}

/// The Rust that was asked for, compared with the best of Kotlin.
fn against_kotlin(result: &ResultFile, metric: &Metric) -> Option<Comparison> {
    result.rust_against_kotlin(metric).cloned()
}

/// The best of Kotlin's set-ups compared with the first, round by round; none where there is only one.
fn tuned(result: &ResultFile, metric: &Metric) -> Option<Comparison> {
    let mut kotlin = result.sides_in(Language::Kotlin);
    let shipped = &kotlin.next()?.id;
    kotlin.next()?;
    let best = &result.kotlin(metric)?.side;
    let value = |round: usize, side: &str| {
        let mut of_round = result.blocks.iter().filter(|block| {
            block.round == round && block.side == side && !block.invalid.contains_key(&metric.key)
        });
        of_round.find_map(|block| block.values.get(&metric.key).copied())
    };
    let rounds = result.blocks.iter().map(|block| block.round).max()?;
    let ratios: Vec<f64> = (1..=rounds)
        .filter_map(|round| Some(value(round, best)? / value(round, shipped)?))
        .collect();
    let mut comparison = compared(best, shipped, &ratios, metric.better);
    if result.mode == Mode::Quick {
        comparison.verdict = Verdict::NotJudged;
    }
    Some(comparison)
}
