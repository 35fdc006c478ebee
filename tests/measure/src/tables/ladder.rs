//! Exercise 12: one endpoint at every depth, and the best tier by each figure.

use workshop_results::file::{Metric, ResultFile};
use workshop_results::metrics::{PSS_LOADED, text_end};
use workshop_results::shown::{Cell, Column, Row, Table};

/// A row of the ladder.
#[derive(Debug)]
pub struct Tier {
    /// How far up it is: 0 is Kotlin alone.
    pub tier: u8,
    /// The side's id.
    pub side: String,
}

/// The tables of tiers: an id, a title, and the metrics that are their columns.
const TABLES: [(&str, &str, &[&str]); 3] = [
    (
        "short-texts",
        "The ladder, texts of 32 bytes",
        &[
            "throughput",
            "p50_at_60",
            "p99",
            "cpu_per_request",
            "cpu_per_request_at_60",
            "image_at_32_bytes",
        ],
    ),
    (
        "long-texts",
        "The ladder, texts of 512 bytes",
        &[
            "throughput_at_512_bytes",
            "cpu_per_request_at_512_bytes",
            "image_at_512_bytes",
        ],
    ),
    (
        "besides",
        "What a tier takes besides",
        &[PSS_LOADED, "start_up", "warm_up", "threads", "size"],
    ),
];
/// What a tier can be best at; these are compared with tier 0. Threads and sizes are told as they are.
const BEST: [&str; 7] = [
    "throughput",
    "throughput_at_512_bytes",
    "p99",
    "cpu_per_request",
    "cpu_per_request_at_512_bytes",
    PSS_LOADED,
    "start_up",
];

/// All tables; the last two are for the page about the ladder.
pub fn tables(result: &ResultFile, tiers: &[Tier]) -> Vec<Table> {
    let ladder = Ladder { result, tiers };
    let of_tiers = TABLES.map(|(id, title, keys)| ladder.tiers(id, title, keys));
    of_tiers
        .into_iter()
        .chain([ladder.best(), ladder.beside_published()])
        .collect()
}

struct Ladder<'a> {
    result: &'a ResultFile,
    tiers: &'a [Tier],
}

impl Ladder<'_> {
    /// `3: A call away`.
    fn heading(&self, tier: &Tier) -> String {
        format!("{}: {}", tier.tier, self.result.label(&tier.side))
    }

    /// A row per tier, with its ratio to the first where that says something.
    fn tiers(&self, id: &str, title: &str, keys: &[&str]) -> Table {
        let metrics: Vec<&Metric> = keys
            .iter()
            .filter_map(|key| self.result.metric(key))
            .collect();
        let columns = metrics.iter().flat_map(|metric| {
            let ratio = compares(metric).then(|| Column::from("÷ tier 0"));
            [Some(Column::from(metric.heading().as_str())), ratio]
        });
        let mut table = Table::new(id, title, columns.flatten().collect());
        table.corner = "Tier".to_owned();
        for tier in self.tiers {
            let cells = metrics.iter().flat_map(|metric| {
                let ratio = compares(metric).then(|| self.against_ground(metric, tier));
                [Some(metric.value(&tier.side).into()), ratio]
            });
            table.row(self.heading(tier), cells.flatten().collect());
        }
        table
    }

    /// A tier compared with the first: 1 for the first itself.
    fn against_ground(&self, metric: &Metric, tier: &Tier) -> Cell {
        match self.tiers.first() {
            Some(ground) if ground.side == tier.side => Cell::Count(1),
            Some(ground) => metric.comparison(&tier.side, &ground.side).into(),
            None => Cell::Empty,
        }
    }

    /// The best tier by each figure: among those that leave the service in Kotlin, and among all. By the means alone one
    /// is always best; whether it is shown to be better than Kotlin alone is said beside.
    fn best(&self) -> Table {
        let top = self
            .tiers
            .iter()
            .map(|tier| tier.tier)
            .max()
            .unwrap_or_default();
        let groups = ["The service stays in Kotlin", "All tiers"];
        let columns = groups.iter().flat_map(|group| {
            ["best", "÷ tier 0"].map(|heading| Column {
                group: (*group).to_owned(),
                heading: heading.to_owned(),
            })
        });
        let mut table = Table::new("best", "The best tier by each figure", columns.collect());
        table.by_name_only = true;
        for metric in BEST.iter().filter_map(|key| self.result.metric(key)) {
            let cells = [top, top + 1].into_iter().flat_map(|below| {
                let tiers = self.tiers.iter().filter(|tier| tier.tier < below);
                match self.best_of(metric, tiers) {
                    Some(tier) => [
                        Cell::Text(self.heading(tier)),
                        self.against_ground(metric, tier),
                    ],
                    None => [Cell::Empty, Cell::Empty],
                }
            });
            table.row(metric.heading(), cells.collect());
        }
        table
    }

    fn best_of<'t>(
        &self,
        metric: &Metric,
        tiers: impl Iterator<Item = &'t Tier>,
    ) -> Option<&'t Tier> {
        // The start of a row behind a front is that of its service alone: it must not win over itself.
        let mut seen = Vec::new();
        let tiers: Vec<&Tier> = tiers
            .filter(|tier| {
                let again = metric.key == "start_up" && seen.contains(&tier.tier);
                seen.push(tier.tier);
                !again
            })
            .collect();
        let best = metric.best(tiers.iter().filter_map(|tier| metric.value(&tier.side)))?;
        tiers.into_iter().find(|tier| tier.side == best.side)
    }

    /// What stands beside the published ladder; the rows are named by their tiers.
    fn beside_published(&self) -> Table {
        let columns = [
            "Requests/s",
            "÷ tier 0",
            "p99 (ms)",
            "Image (bytes)",
            "Memory (MB)",
        ];
        let title = "The published ladder beside ours, texts of 32 bytes";
        let mut table = Table::new("beside-published", title, Column::list(columns));
        table.by_name_only = true;
        for tier in self.tiers {
            let value = |key: &str| {
                let metric = self.result.metric(key);
                Cell::from(metric.and_then(|metric| metric.value(&tier.side)))
            };
            let ratio = self.result.metric("throughput");
            let ratio = ratio.map(|metric| self.against_ground(metric, tier));
            table.rows.push(Row {
                heading: self.heading(tier),
                key: tier.tier.to_string(),
                cells: vec![
                    value("throughput"),
                    ratio.unwrap_or_default(),
                    value("p99"),
                    value(&format!("image{}", text_end(32))),
                    value(PSS_LOADED),
                ],
            });
        }
        table
    }
}

fn compares(metric: &Metric) -> bool {
    BEST.contains(&metric.key.as_str())
}
