//! The decision guide: which figure speaks for which answer to "Should we?". A figure says no more here than its verdict does,
//! and what is not measured says so.

use anyhow::Context;
use serde::Deserialize;

use crate::file::{CALIBRATION, Comparison, Metric, Mode, ResultFile, TURNS, Verdict};
use crate::key::Key;
use crate::metrics::compared;
use crate::shown::{Cell, Column, Table};
use crate::view::{Item, claim};
use workshop_base::target::Language;

/// The questions, by what a yes costs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Guide {
    question: Vec<Question>,
}

/// A question that figures can speak to, each a line of its table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    id: String,
    title: String,
    compares: GuidePair,
    otherwise: String,
    note: String,
    figures: Vec<Figure>,
}

/// What is compared in a measurement.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum GuidePair {
    /// The best of Kotlin's set-ups with the first.
    KotlinWithItself,
    /// The Rust that was asked for with the best of Kotlin.
    RustWithKotlin,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Figure {
    name: String,
    key: Key,
    from: Vec<String>,
    answer: String,
}

/// The guide, filled with these measurements.
pub fn items(results: &[ResultFile]) -> anyhow::Result<Vec<Item>> {
    let guide: Guide =
        toml::from_str(include_str!("guide.toml")).context("guide.toml is malformed")?;
    let tables = guide.question.iter().map(|question| {
        let columns = Column::list(["Ratio", "Speaks for", "Ratio of", "Measured in"]);
        let mut table = Table::new(&question.id, &question.title, columns);
        table.corner = "Figure".to_owned();
        for figure in &question.figures {
            table.row(&figure.name, cells(question, figure, results));
        }
        table.notes = vec![question.note.clone()];
        Item::Table(table)
    });
    let mut items: Vec<Item> = tables.collect();
    items.push(Item::Text(
        "What figures can't say".to_owned(),
        "Each row is one figure, from one load on one machine. Rows can't be added up: look at what you pay for, and skip the \
         others. No figure says what a port costs you, or who carries the pager."
            .to_owned(),
    ));
    Ok(items)
}

fn cells(question: &Question, figure: &Figure, results: &[ResultFile]) -> Vec<Cell> {
    let Some((result, comparison)) = found(question, figure, results) else {
        let first = figure.from.last().map_or("", String::as_str);
        return vec![
            Cell::Empty,
            Cell::text(format!("not measured yet: just measure {first}")),
        ];
    };
    let [side, against] = [&comparison.side, &comparison.against].map(|id| result.label(id));
    let ratio = claim(result, (&comparison).into());
    let speaks_for = match ratio.verdict {
        _ if comparison.side == comparison.against => {
            format!("{}: no set-up was better", question.otherwise)
        }
        Verdict::Faster | Verdict::Less => figure.answer.clone(),
        Verdict::Slower | Verdict::More => format!("{}: Kotlin is better here", question.otherwise),
        Verdict::NoDifferenceShown => format!("{}: no difference shown", question.otherwise),
        Verdict::Invalid => "nothing: it is invalid".to_owned(),
        Verdict::NotJudged => format!(
            "nothing yet, a quick run isn't judged: just measure {}",
            result.target
        ),
    };
    vec![
        Cell::Ratio(ratio),
        Cell::text(speaks_for),
        Cell::text(format!("{side} ÷ {against}")),
        Cell::text(&result.target),
    ]
}

/// The measurement that tells most about this figure: the reader's own code comes before the reference's on the same machine.
fn found<'a>(
    question: &Question,
    figure: &Figure,
    results: &'a [ResultFile],
) -> Option<(&'a ResultFile, Comparison)> {
    figure.from.iter().find_map(|exercise| {
        let mut of: Vec<&ResultFile> = results
            .iter()
            .filter(|result| {
                result.exercise == *exercise && ![CALIBRATION, TURNS].contains(&&*result.task)
            })
            .collect();
        of.sort_by_key(|result| result.target.starts_with("solution"));
        of.into_iter().find_map(|result| {
            let metric = result.metric(&figure.key)?;
            let comparison = match question.compares {
                GuidePair::KotlinWithItself => tuned(result, metric)?,
                GuidePair::RustWithKotlin => result.rust_against_kotlin(metric)?.clone(),
            };
            Some((result, comparison))
        })
    })
}

/// The best of Kotlin's set-ups compared with the first, round by round; none where there is only one.
fn tuned(result: &ResultFile, metric: &Metric) -> Option<Comparison> {
    let mut kotlin = result.sides_in(Language::Kotlin);
    let shipped = &kotlin.next()?.id;
    kotlin.next()?;
    let best = &result.kotlin(metric)?.side;
    let value = |round: usize, side: &str| {
        let blocks = result.blocks.iter();
        let mut of_round = blocks.filter(|block| block.round == round && block.side == side);
        of_round.find_map(|block| block.valid(&metric.key))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::read_references;
    use workshop_base::workspace::Workspace;

    #[test]
    fn every_figure_is_one_that_is_measured() -> anyhow::Result<()> {
        let checkout = Workspace::at(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let committed = read_references(&checkout)?;
        let guide: Guide = toml::from_str(include_str!("guide.toml"))?;
        for question in &guide.question {
            for figure in &question.figures {
                assert!(
                    found(question, figure, &committed).is_some(),
                    "{}",
                    figure.name
                );
            }
        }
        Ok(())
    }
}
