//! Exercise 22: how far response times spread, what the CPU does when the load ends, and what was published of it.

use std::collections::BTreeMap;

use workshop_results::file::ResultFile;
use workshop_results::key::{At, Key, MEAN, P10, P25, P50, P75, P90, P95, P99};
use workshop_results::shown::{Bar, Bars, Cell, Chart, Column, Drawing, Table, TableRow};
use workshop_results::statistics::mean;

/// The published load.
pub const READ_ONE: At = At::Load("read_one", "reading one");
/// The percentiles of it that the chart has. Beyond the last a single pause of the machine decides.
const CHARTED: [Key; 7] = [P10, P25, P50, P75, P90, P95, P99];
/// The side whose like was published.
const PYTHON: &str = "python-contacts";

/// The response times of reading one contact, by percentile: a steep end is a wide spread.
pub fn spread(result: &ResultFile) -> Chart {
    let point = |key: &Key, side: &str| {
        let value = result.value(&key.at(READ_ONE), side)?;
        Some(bar(key.to_string(), value))
    };
    let line = |side: &str| CHARTED.iter().filter_map(|key| point(key, side)).collect();
    chart(
        result,
        "response-times",
        "Response times in milliseconds when one contact is read, by percentile: half of all requests take no longer than p50. The number of a \
         row is at both ends of its line.",
        line,
    )
}

/// What the services took of the CPU before and after the end of the load, the mean over all blocks.
pub fn course(
    result: &ResultFile,
    labels: &[String],
    courses: &BTreeMap<String, Vec<Vec<Option<f64>>>>,
) -> Chart {
    let line = |side: &str| {
        let blocks = courses.get(side).map_or(&[][..], Vec::as_slice);
        let points = labels.iter().enumerate().filter_map(|(place, label)| {
            let seen: Vec<f64> = blocks
                .iter()
                .filter_map(|block| *block.get(place)?)
                .collect();
            (!seen.is_empty()).then(|| bar(label.clone(), mean(seen)))
        });
        points.collect()
    };
    chart(
        result,
        "cpu-over-time",
        "CPU of the service in percent of one core, each half second, while one contact is read; the load ends at 0 seconds. The number of a \
         row is at both ends of its line.",
        line,
    )
}

fn bar(label: String, value: f64) -> Bar {
    Bar {
        label,
        value,
        mark: String::new(),
    }
}

fn chart(result: &ResultFile, id: &str, title: &str, line: impl Fn(&str) -> Vec<Bar>) -> Chart {
    let lines = result.sides.iter().map(|side| Bars {
        name: result.heading(&side.id),
        bars: line(&side.id),
    });
    let lines = lines.filter(|line| !line.bars.is_empty());
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        drawing: Drawing::Lines(lines.collect()),
    }
}

/// What is beside the published mean: ours, of each side, and Rust divided by Python. None where no Python was measured.
pub fn beside_published(result: &ResultFile) -> Option<Table> {
    let metric = result.metric(&MEAN.at(READ_ONE))?;
    let rust = metric.value(&result.asked_for()?.id)?.value;
    let python = metric.value(PYTHON)?.value;
    let names = result.sides.iter().map(|side| result.heading(&side.id));
    let columns = names.chain(["Rust ÷ Python".to_owned()]);
    let columns = columns.map(|name| Column::from(name.as_str())).collect();
    let mut table = Table::new(
        "beside-published",
        "The published mean beside ours",
        columns,
    );
    table.by_name_only = true;
    let values = result
        .sides
        .iter()
        .map(|side| metric.value(&side.id).into());
    table.rows.push(TableRow {
        heading: "response time, mean (ms)".to_owned(),
        key: metric.key.to_string(),
        cells: values.chain([Cell::Number(rust / python)]).collect(),
    });
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result() -> ResultFile {
        let mut result: ResultFile =
            serde_json::from_str(include_str!("../../../results/src/sample.json")).unwrap();
        for key in CHARTED.map(|key| key.at(READ_ONE)) {
            let mut metric = result.metrics[0].clone();
            metric.key = key;
            result.metrics.push(metric);
        }
        result
    }

    #[test]
    fn each_side_has_a_line_with_a_point_for_each_percentile() {
        let result = result();
        let Drawing::Lines(lines) = spread(&result).drawing else {
            panic!("no lines");
        };
        assert_eq!(lines.len(), result.sides.len());
        let labels: Vec<&str> = lines[0].bars.iter().map(|bar| bar.label.as_str()).collect();
        assert_eq!(labels.first(), Some(&"p10"));
        assert_eq!(labels.last(), Some(&"p99"));
    }

    #[test]
    fn a_window_that_no_block_saw_has_no_point_and_the_others_have_the_mean() {
        let result = result();
        let side = result.sides[0].id.clone();
        let courses =
            BTreeMap::from([(side, vec![vec![None, Some(10.0)], vec![None, Some(30.0)]])]);
        let labels = ["−1".to_owned(), "0".to_owned()];
        let Drawing::Lines(lines) = course(&result, &labels, &courses).drawing else {
            panic!("no lines");
        };
        assert_eq!(lines.len(), 1);
        assert_eq!(lines[0].bars, [bar("0".to_owned(), 20.0)]);
    }

    #[test]
    fn without_python_nothing_is_beside_the_published_mean() {
        let mut result = result();
        let mut metric = result.metrics[0].clone();
        metric.key = MEAN.at(READ_ONE);
        result.metrics.push(metric);
        assert_eq!(beside_published(&result), None);
        result.sides[0].id = PYTHON.to_owned();
        for value in result
            .metrics
            .iter_mut()
            .flat_map(|metric| &mut metric.values)
        {
            if value.side == "kotlin" {
                value.side = PYTHON.to_owned();
            }
        }
        let table = beside_published(&result).unwrap();
        assert_eq!(table.rows[0].key, "mean_read_one");
        assert_eq!(table.rows[0].cells.len(), result.sides.len() + 1);
    }
}
