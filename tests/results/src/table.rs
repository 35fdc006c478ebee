//! A measurement on the terminal: a table of at most a hundred columns, the verdict in words, the predictions.

use std::collections::BTreeSet;

use crate::article_table;
use crate::file::CallTimes;
use crate::file::Comparison;
use crate::file::JudgedPrediction;
use crate::file::KeyRun;
use crate::file::Metric;
use crate::file::Paging;
use crate::file::PoolSweep;
use crate::file::ProgramTimes;
use crate::file::ResultFile;
use crate::file::Side;
use crate::file::Stall;
use crate::file::Task;
use crate::file::Verdict;
use crate::file::WrongKey;
use crate::findings;
use crate::ladder_table;
use crate::metrics::UNCORRECTED;
use crate::predictions::FACTOR;
use workshop_base::terminal::Style;
use workshop_base::terminal::paint;

/// The widths of the columns: metric, values, ratio, interval, verdict.
pub const NAME: usize = 28;
pub const VALUE: usize = 11;
const RATIO: usize = 7;
const INTERVAL: usize = 18;
/// The longest line.
pub const WIDTH: usize = 100;

/// A number with three significant digits, thousands apart: `16 000`, `327`, `3.08`, `0.0312`.
pub fn figure(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return if value == 0.0 {
            "0".to_owned()
        } else {
            "?".to_owned()
        };
    }
    // Rounded first, so that 999.6 counts as the 1000 that it is printed as.
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    let magnitude = rounded.abs().log10().floor() as i32;
    let digits = usize::try_from(2 - magnitude).unwrap_or(0).min(6);
    let text = format!("{rounded:.digits$}");
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut grouped = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && digit != '-' && (whole.len() - place).is_multiple_of(3) && whole.len() > 3 {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    if fraction.is_empty() {
        grouped
    } else {
        format!("{grouped}.{fraction}")
    }
}

/// Prints a whole measurement.
pub fn print(result: &ResultFile) {
    for line in lines(result) {
        println!("{line}");
    }
}

/// A measurement as lines.
fn lines(result: &ResultFile) -> Vec<String> {
    let mut lines = vec![String::new()];
    lines.extend(wrapped(&result.machine, ""));
    lines.push(String::new());
    // Many sides have no room as columns.
    let rows = result
        .article
        .as_ref()
        .map(|article| article_table::lines(result, article))
        .or_else(|| result.ladder.as_ref().map(|_| ladder_table::lines(result)));
    match rows {
        Some(rows) => {
            lines.extend(rows);
            lines.extend(refused(result));
        }
        None => {
            lines.extend(metrics(result));
            lines.push(String::new());
            lines.extend(verdict(result));
        }
    }
    if let Some(stall) = &result.stall {
        lines.push(String::new());
        lines.extend(counted_twice(result, stall));
    }
    if let Some(pool) = &result.pool {
        lines.push(String::new());
        lines.extend(knees(result, pool));
    }
    if let Some(paging) = &result.paging {
        lines.push(String::new());
        lines.extend(pages(paging));
    }
    if let Some(program) = &result.program {
        lines.push(String::new());
        lines.extend(by_itself(program));
    }
    if let Some(calls) = &result.calls {
        lines.push(String::new());
        lines.extend(by_size(calls));
    }
    if let Some(wrong_key) = &result.wrong_key {
        lines.push(String::new());
        lines.extend(with_a_wrong_key(wrong_key));
    }
    if !result.predictions.is_empty() {
        lines.push(String::new());
        lines.extend(predictions(&result.predictions, result));
    }
    if !result.notes.is_empty() {
        lines.push(String::new());
        lines.push("to read this rightly:".to_owned());
        for note in &result.notes {
            lines.extend(wrapped(note, "- "));
        }
    }
    lines
}

/// A line for each metric, headline first.
fn metrics(result: &ResultFile) -> Vec<String> {
    let mut lines = vec![paint(Style::Strong, header(result))];
    let (headline, detail): (Vec<&Metric>, Vec<&Metric>) =
        result.metrics.iter().partition(|metric| metric.headline);
    lines.extend(headline.iter().map(|metric| row(result, metric)));
    if !detail.is_empty() {
        lines.push(paint(Style::Faint, "in detail"));
        lines.extend(detail.iter().map(|metric| row(result, metric)));
    }
    lines
}

fn header(result: &ResultFile) -> String {
    let mut line = format!("{:NAME$}", "");
    for side in &result.sides {
        line.push_str(&format!(" {:>VALUE$}", cut(&heading(result, side), VALUE)));
    }
    if compares(result) {
        line.push_str(&format!(
            " {:>RATIO$} {:>INTERVAL$}  verdict",
            "ratio", "95 % interval"
        ));
    }
    line
}

/// A side's heading: its language where that tells the sides apart, else its label.
fn heading(result: &ResultFile, side: &Side) -> String {
    let alike = result
        .sides
        .iter()
        .filter(|other| other.language == side.language)
        .count();
    if alike == 1 {
        side.language.to_string()
    } else {
        side.label.clone()
    }
}

/// True when one side is held against another, in columns of their own.
fn compares(result: &ResultFile) -> bool {
    result.sides.len() == 2
}

fn row(result: &ResultFile, metric: &Metric) -> String {
    let mut line = format!(
        "{:NAME$}",
        cut(&format!("{}, {}", metric.name, metric.unit), NAME)
    );
    for side in &result.sides {
        let value = metric
            .value(&side.id)
            .map_or_else(|| "-".to_owned(), |value| figure(value.value));
        line.push_str(&format!(" {value:>VALUE$}"));
    }
    if let (true, Some(comparison)) = (compares(result), metric.comparisons.first()) {
        let ratio = comparison.ratio.map_or_else(|| "-".to_owned(), figure);
        let words = comparison.verdict.words(&metric.key);
        line.push_str(&format!(
            " {ratio:>RATIO$} {:>INTERVAL$}  {}",
            interval(comparison),
            paint(style(comparison.verdict), words)
        ));
    }
    line
}

/// The interval as `2.9 to 3.2`; nothing where there is none.
pub fn interval(comparison: &Comparison) -> String {
    match (comparison.low, comparison.high) {
        (Some(low), Some(high)) => format!("{} to {}", figure(low), figure(high)),
        _ => String::new(),
    }
}

pub fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Faster => Style::Good,
        Verdict::Slower => Style::Bad,
        Verdict::NoDifferenceShown => Style::Faint,
        Verdict::Invalid => Style::Warning,
    }
}

/// The verdict in words: what is shown, what is not, what is invalid and why.
fn verdict(result: &ResultFile) -> Vec<String> {
    if !result.invalid.is_empty() {
        return refused(result);
    }
    let pairs = pairs(result);
    if pairs.is_empty() {
        return vec![if result.task == Task::Baseline {
            "one side alone: nothing to compare yet".to_owned()
        } else {
            String::new()
        }];
    }
    pairs
        .iter()
        .flat_map(|pair| verdict_of(result, *pair))
        .collect()
}

/// Why the whole is invalid; nothing when it is not.
fn refused(result: &ResultFile) -> Vec<String> {
    if result.invalid.is_empty() {
        return Vec::new();
    }
    let heading = paint(Style::Warning, "verdict: invalid");
    let reasons = result.invalid.iter();
    std::iter::once(heading)
        .chain(reasons.flat_map(|reason| wrapped(reason, "- ")))
        .collect()
}

/// The sides that are held against each other in the headline, by their ids, each pair once.
fn pairs(result: &ResultFile) -> Vec<(&str, &str)> {
    let mut pairs = Vec::new();
    let headline = result.metrics.iter().filter(|metric| metric.headline);
    for comparison in headline.flat_map(|metric| &metric.comparisons) {
        let pair = (comparison.side.as_str(), comparison.against.as_str());
        if !pairs.contains(&pair) {
            pairs.push(pair);
        }
    }
    pairs
}

/// The verdicts on one side held against another. Where the table has no room for them, the intervals stand here.
fn verdict_of(result: &ResultFile, pair: (&str, &str)) -> Vec<String> {
    let (side, against) = (result.label(pair.0), result.label(pair.1));
    let mut lines = vec![format!(
        "verdict: {side} held against {against} (the ratio is {side} divided by {against})"
    )];
    let headline = result.metrics.iter().filter(|metric| metric.headline);
    for metric in headline {
        let Some(comparison) = metric.comparison(pair.0, pair.1) else {
            continue;
        };
        let words = paint(
            style(comparison.verdict),
            comparison.verdict.words(&metric.key),
        );
        let mut line = match (&comparison.reason, comparison.ratio) {
            (Some(reason), _) => format!("{}: {words}: {reason}", metric.name),
            (None, Some(ratio)) if comparison.verdict != Verdict::NoDifferenceShown => {
                format!("{}: {words}: {}", metric.name, times(ratio, against))
            }
            _ => format!("{}: {words}", metric.name),
        };
        let interval = interval(comparison);
        if !compares(result) && !interval.is_empty() {
            line.push_str(&format!(" (95 % interval {interval})"));
        }
        lines.extend(wrapped(&line, "- "));
    }
    lines
}

/// A ratio as words: `3.08 times that of Kotlin`, `0.0466 times that of Kotlin, which is 1 to 21.5`.
pub fn times(ratio: f64, against: &str) -> String {
    let times = format!("{} times that of {against}", figure(ratio));
    if ratio < 1.0 {
        format!("{times}, which is 1 to {}", figure(1.0 / ratio))
    } else {
        times
    }
}

/// The two runs that a load generator counts as equal successes.
fn with_a_wrong_key(demonstration: &WrongKey) -> Vec<String> {
    let WrongKey { right, wrong, .. } = demonstration;
    let mut lines = vec![
        paint(
            Style::Strong,
            format!(
                "{:NAME$} {:>VALUE$} {:>VALUE$}",
                "the tool lies", "right key", "wrong key"
            ),
        ),
        format!(
            "{:NAME$} {:>VALUE$} {:>VALUE$}",
            "Answers/s",
            figure(right.rate),
            figure(wrong.rate)
        ),
    ];
    let success = |run: &KeyRun| {
        run.success
            .map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0))
    };
    lines.push(format!(
        "{:NAME$} {:>VALUE$} {:>VALUE$}",
        "Successes, as oha counts",
        success(right),
        success(wrong)
    ));
    let statuses: BTreeSet<&String> = right.statuses.keys().chain(wrong.statuses.keys()).collect();
    for status in statuses {
        let count = |run: &KeyRun| {
            run.statuses
                .get(status)
                .map_or_else(|| "-".to_owned(), |count| figure(*count as f64))
        };
        lines.push(format!(
            "{:NAME$} {:>VALUE$} {:>VALUE$}",
            format!("Status {status}"),
            count(right),
            count(wrong)
        ));
    }
    for (key, run) in [("right", right), ("wrong", wrong)] {
        let (style, words) = match &run.refused {
            Some(reason) => (Style::Warning, format!("refused: {reason}")),
            None => (Style::Good, "passed".to_owned()),
        };
        let line = format!(
            "the gate on the run with the {key} key: {}",
            paint(style, words)
        );
        lines.extend(wrapped(&line, "- "));
    }
    lines.extend(wrapped(
        &format!("to see it yourself: {}", demonstration.command),
        "- ",
    ));
    lines
}

/// The program without the service.
fn by_itself(program: &ProgramTimes) -> Vec<String> {
    let row = |name: &str, cells: [String; 3]| {
        let [time, image, ratio] = cells;
        format!("{name:NAME$} {time:>VALUE$} {image:>VALUE$} {ratio:>INTERVAL$}")
    };
    let head = ["ms", "image, bytes", "times nothing"].map(str::to_owned);
    let nothing = [figure(program.nothing.ms), "-".to_owned(), "1".to_owned()];
    let mut lines = vec![
        paint(Style::Strong, row("the program by itself", head)),
        row("A program that does nothing", nothing),
    ];
    for text in &program.texts {
        let cells = [
            figure(text.time.ms),
            text.image_bytes.to_string(),
            interval(&text.against_nothing),
        ];
        lines.push(row(&format!("Text of {} bytes", text.text_bytes), cells));
    }
    let command = format!("to see it yourself: {}", program.command);
    lines.extend(wrapped(&command, "- "));
    lines
}

/// The calls inside of the JVM.
fn by_size(calls: &CallTimes) -> Vec<String> {
    let row = |name: &str, cells: [String; 4]| {
        let [kotlin, rust, ratio, interval] = cells;
        format!(
            "{name:NAME$} {kotlin:>VALUE$} {rust:>VALUE$} {ratio:>RATIO$} {interval:>INTERVAL$}"
        )
    };
    let head = ["Kotlin", "Rust", "ratio", "95 % interval"].map(str::to_owned);
    let mut lines = vec![paint(Style::Strong, row("a call, µs", head))];
    for call in &calls.calls {
        let cells = [
            figure(call.kotlin_us),
            figure(call.rust_us),
            call.rust_against_kotlin
                .ratio
                .map_or_else(|| "-".to_owned(), figure),
            interval(&call.rust_against_kotlin),
        ];
        lines.push(row(
            &format!("A {} of {} bytes", call.call, call.bytes),
            cells,
        ));
        if let Some(interpreted_us) = call.interpreted_us {
            let none = "-".to_owned();
            let cells = [none.clone(), figure(interpreted_us), none.clone(), none];
            lines.push(row("  interpreted", cells));
        }
    }
    lines
}

/// Where more connections stop to help.
fn knees(result: &ResultFile, pool: &PoolSweep) -> Vec<String> {
    let mut lines = vec![paint(Style::Strong, "the knee")];
    for finding in findings::of_pool(result, pool) {
        lines.extend(wrapped(&finding, "- "));
    }
    if !pool.database.is_empty() {
        let rates: Vec<String> = pool
            .database
            .iter()
            .map(|(clients, rate)| format!("{} by {clients}", figure(*rate)))
            .collect();
        let line = format!("pgbench alone, records/s by clients: {}", rates.join(", "));
        lines.extend(wrapped(&line, "- "));
    }
    lines
}

/// A page in two ways.
fn pages(paging: &Paging) -> Vec<String> {
    let title = format!("a page of {} rows", paging.limit);
    let mut lines = vec![paint(
        Style::Strong,
        format!(
            "{title:NAME$} {:>VALUE$} {:>VALUE$} {:>RATIO$} {:>INTERVAL$}",
            "by key, ms", "OFFSET, ms", "ratio", "95 % interval"
        ),
    )];
    lines.extend(paging.pages.iter().map(|page| {
        let comparison = &page.offset_against_key;
        format!(
            "{:NAME$} {:>VALUE$} {:>VALUE$} {:>RATIO$} {:>INTERVAL$}",
            format!("Page {}", page.page),
            figure(page.key_ms),
            figure(page.offset_ms),
            comparison.ratio.map_or_else(|| "-".to_owned(), figure),
            interval(comparison)
        )
    }));
    lines
}

/// The percentiles of each side by both ways of counting, and what the correction makes of the p99.
fn counted_twice(result: &ResultFile, stall: &Stall) -> Vec<String> {
    let sides: Vec<&Side> = stall
        .sides
        .iter()
        .filter_map(|stalled| result.sides.iter().find(|side| side.id == stalled.side))
        .collect();
    let title = format!("a stall of {} s", figure(stall.lasted_s));
    let mut names = format!("{title:NAME$}");
    let mut ways = format!("{:NAME$}", "");
    for side in &sides {
        names.push_str(&format!(" {:>VALUE$} {:VALUE$}", heading(result, side), ""));
        ways.push_str(&format!(" {:>VALUE$} {:>VALUE$}", "from sent", "from due"));
    }
    let mut lines = vec![paint(Style::Strong, names), ways];
    for metric in &result.metrics {
        let uncorrected = format!("{}{UNCORRECTED}", metric.key);
        let Some(uncorrected) = result.metric(&uncorrected) else {
            continue;
        };
        let name = format!("{}, {}", metric.name, metric.unit);
        let mut line = format!("{name:NAME$}");
        for value in sides
            .iter()
            .flat_map(|side| [uncorrected.value(&side.id), metric.value(&side.id)])
        {
            let value = value.map_or_else(|| "-".to_owned(), |value| figure(value.value));
            line.push_str(&format!(" {value:>VALUE$}"));
        }
        lines.push(line);
    }
    for finding in findings::of_stall(result, stall) {
        lines.extend(wrapped(&finding, "- "));
    }
    lines.extend(wrapped(
        &format!("to see it yourself: {}", stall.command),
        "- ",
    ));
    lines
}

fn predictions(judged: &[JudgedPrediction], result: &ResultFile) -> Vec<String> {
    let heading = format!(
        "{:NAME$} {:>VALUE$} {:>VALUE$} {:>10} {:>6}",
        "your predictions (ratio)", "predicted", "measured", "off by", "sure"
    );
    let mut lines = vec![paint(Style::Strong, heading)];
    for prediction in judged {
        let name = result
            .metric(&prediction.key)
            .map_or(prediction.key.as_str(), |metric| &metric.name);
        let (style, words) = if prediction.held {
            (Style::Good, "held")
        } else {
            (Style::Bad, "missed")
        };
        lines.push(format!(
            "{:NAME$} {:>VALUE$} {:>VALUE$} {:>10} {:>4} %  {}",
            cut(name, NAME),
            figure(prediction.predicted),
            figure(prediction.measured),
            format!("{} times", figure(prediction.factor)),
            figure(prediction.confidence),
            paint(style, words)
        ));
    }
    let held = judged.iter().filter(|prediction| prediction.held).count();
    let expected: f64 = judged
        .iter()
        .map(|prediction| prediction.confidence / 100.0)
        .sum();
    lines.extend(wrapped(
        &format!(
            "{held} of {} held within a factor of {FACTOR}; by your confidence you expected {expected:.1}",
            judged.len()
        ),
        "",
    ));
    lines
}

pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    text.chars()
        .take(width.saturating_sub(1))
        .chain(['…'])
        .collect()
}

/// Text in lines of at most [`WIDTH`] columns, the first one marked, the others indented alike.
pub fn wrapped(text: &str, mark: &str) -> Vec<String> {
    let indent = " ".repeat(mark.chars().count());
    let mut lines = Vec::new();
    let mut line = mark.to_owned();
    for word in text.split_whitespace() {
        let fresh = line.trim().is_empty() || line == mark;
        if !fresh && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(std::mem::replace(&mut line, format!("{indent}{word}")));
            continue;
        }
        if !fresh {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Course;
    use crate::file::Knee;
    use crate::file::StalledSide;
    use crate::file::tests::sample;

    #[test]
    fn figures_have_three_significant_digits() {
        let figures = [
            16_012.0,
            5_200.0,
            1_234_567.0,
            327.4,
            24.61,
            3.084,
            0.9996,
            0.03117,
            0.0,
            999.6,
        ];
        let texts = [
            "16 000",
            "5 200",
            "1 230 000",
            "327",
            "24.6",
            "3.08",
            "1.00",
            "0.0312",
            "0",
            "1 000",
        ];
        assert_eq!(figures.map(figure), texts);
    }

    #[test]
    fn no_line_is_longer_than_a_hundred_columns() {
        let mut result = sample();
        result.notes.push("a long note ".repeat(30));
        result.predictions.push(JudgedPrediction {
            key: "throughput".to_owned(),
            predicted: 10.0,
            confidence: 80.0,
            measured: 3.0,
            factor: 3.33,
            held: false,
        });
        for line in lines(&result) {
            assert!(
                line.chars().count() <= WIDTH,
                "{} columns: {line}",
                line.chars().count()
            );
        }
    }

    #[test]
    fn the_verdict_is_said_in_words_with_the_ratio() {
        let text = lines(&sample()).join("\n");
        assert!(
            text.contains("Throughput: faster: 3.00 times that of kotlin"),
            "{text}"
        );
        assert!(text.contains("2.90 to 3.10"), "{text}");
    }

    #[test]
    fn of_three_sides_each_comparison_has_its_verdicts_with_intervals() {
        let mut result = sample();
        result.sides.push(Side {
            id: "solution-2".to_owned(),
            label: "without".to_owned(),
            ..result.sides[1].clone()
        });
        let comparison = Comparison {
            against: "solution-2".to_owned(),
            ratio: Some(0.99),
            low: Some(0.97),
            high: Some(1.01),
            verdict: Verdict::NoDifferenceShown,
            ..result.metrics[0].comparisons[0].clone()
        };
        result.metrics[0].comparisons.insert(0, comparison);
        let text = lines(&result).join("\n");
        let price = text
            .find("held against without")
            .expect("the first comparison");
        let kotlin = text
            .find("held against kotlin")
            .expect("the second comparison");
        assert!(price < kotlin, "{text}");
        assert!(text.contains("(95 % interval 0.970 to 1.01)"), "{text}");
        assert!(text.contains("(95 % interval 2.90 to 3.10)"), "{text}");
    }

    #[test]
    fn a_run_with_a_wrong_key_is_shown_as_the_generator_and_as_the_gate_see_it() {
        let run = |rate, status: &str, refused: Option<&str>| KeyRun {
            rate,
            success: Some(1.0),
            statuses: [(status.to_owned(), 3000)].into(),
            refused: refused.map(str::to_owned),
        };
        let mut result = sample();
        result.wrong_key = Some(WrongKey {
            command: "oha -H 'X-API-Key: wrong_key'".to_owned(),
            seconds: 3.0,
            right: run(1000.0, "200", None),
            wrong: run(
                4000.0,
                "401",
                Some("3000 of 3000 answers had status 401, not 200"),
            ),
        });
        let text = lines(&result).join("\n");
        assert!(
            text.contains("with the wrong key: refused: 3000 of 3000 answers had status 401"),
            "{text}"
        );
        assert!(text.contains("with the right key: passed"), "{text}");
        assert!(text.contains("X-API-Key: wrong_key"), "{text}");
    }

    #[test]
    fn a_stall_is_told_by_both_ways_of_counting() {
        let mut result = sample();
        let mut corrected = result.metrics.remove(0);
        corrected.name = "p99".to_owned();
        corrected.key = "p99".to_owned();
        corrected.values[0].value = 912.0;
        let mut uncorrected = corrected.clone();
        uncorrected.key = "p99_uncorrected".to_owned();
        uncorrected.values[0].value = 2.4;
        let ratio = Comparison {
            ratio: Some(380.0),
            low: Some(350.0),
            high: Some(410.0),
            ..Comparison::invalid("corrected", "uncorrected", "")
        };
        result.metrics = vec![corrected, uncorrected];
        result.stall = Some(Stall {
            command: "oha -q 1000 --latency-correction".to_owned(),
            rate: 1000.0,
            seconds: 8.0,
            began_s: 3.5,
            lasted_s: 1.0,
            timeout_ms: 3000,
            sides: vec![StalledSide {
                side: "kotlin".to_owned(),
                statuses: [("200".to_owned(), 8000)].into(),
                p99: ratio,
                course: Course::default(),
            }],
        });
        let text = lines(&result).join("\n");
        let row = text
            .lines()
            .rfind(|line| line.starts_with("p99, requests/s"))
            .expect("a row of the stall");
        let figures: Vec<&str> = row.split_whitespace().skip(2).collect();
        assert_eq!(figures, ["2.40", "912"], "{text}");
        assert!(
            text.contains("p99 is 380 times the uncorrected one of the same runs"),
            "{text}"
        );
    }

    #[test]
    fn the_knee_is_told_beside_the_database_alone() {
        let mut result = sample();
        result.pool = Some(PoolSweep {
            sizes: vec![2, 8],
            enough: 0.95,
            knees: vec![Knee {
                side: "kotlin".to_owned(),
                size: 8,
                share: 0.97,
                best: 32,
            }],
            database: [(2, 12_000.0), (8, 20_000.0)].into(),
            with_ping: "with-ping".to_owned(),
            without_ping: "without-ping".to_owned(),
        });
        let text = lines(&result).join("\n");
        assert!(
            text.contains(
                "- kotlin: the smallest pool with at least 95 % of the best throughput is 8 (97 %;"
            ),
            "{text}"
        );
        assert!(text.contains("12 000 by 2, 20 000 by 8"), "{text}");
    }

    #[test]
    fn a_pair_without_a_headline_has_no_verdict() {
        let mut result = sample();
        result.metrics[0].headline = false;
        let text = lines(&result).join("\n");
        assert!(!text.contains("held against"), "{text}");
    }

    #[test]
    fn an_invalid_measurement_says_why_and_claims_nothing() {
        let mut result = sample();
        result
            .invalid
            .push("no block of kotlin passed the gates under saturation".to_owned());
        let text = verdict(&result).join("\n");
        assert!(
            text.contains("invalid") && text.contains("no block of kotlin"),
            "{text}"
        );
        assert!(!text.contains("faster"), "{text}");
    }

    #[test]
    fn predictions_are_counted_against_the_confidence_in_them() {
        let judged = |held| JudgedPrediction {
            key: "p99".to_owned(),
            predicted: 0.2,
            confidence: 70.0,
            measured: 0.3,
            factor: 1.5,
            held,
        };
        let text = predictions(&[judged(true), judged(false)], &sample()).join("\n");
        assert!(
            text.contains("1 of 2 held within a factor of 2; by your confidence you expected 1.4"),
            "{text}"
        );
        assert!(text.contains("held") && text.contains("missed"));
    }
}
