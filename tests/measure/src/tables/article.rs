//! Exercise 8: the rows of the article's table, the knobs of the port, how the heap was found, and the distance to the
//! ceiling.

use super::sides_by_metrics;
use workshop_results::figures::{figure, interval};
use workshop_results::file::{Comparison, ResultFile, Side};
use workshop_results::metrics::{CPU_ONCE, DATABASE};
use workshop_results::shown::{Cell, Column, Row, Table};

/// Both sides in several set-ups, in one run. The values are metrics; here is which side is which row.
#[derive(Debug)]
pub struct Article {
    /// The set-ups of Kotlin, by their sides' ids. The first is as shipped; each of the others adds something to the one
    /// before it.
    pub kotlin: Vec<String>,
    /// The port, as it would be shipped.
    pub rust: String,
    /// What each knob is compared with: the reference as it would be shipped.
    pub reference: String,
    /// The reference with something changed.
    pub knobs: Vec<Knob>,
    /// The same read with as little as possible around it.
    pub ceiling: String,
    /// The article's load, in requests per second.
    pub rate: f64,
    /// How long it lasted, in seconds.
    pub seconds: f64,
    /// How the smaller heap was found.
    pub heap: HeapSearch,
    /// The images of both languages.
    pub images: Vec<Image>,
}

/// One thing that is changed in the reference.
#[derive(Debug)]
pub struct Knob {
    /// The side's id.
    pub side: String,
    /// What is changed, in a few words.
    pub title: String,
}

/// The search for the smallest heap that meets the latency goal.
#[derive(Debug, Clone, PartialEq)]
pub struct HeapSearch {
    /// The rate of the trials, in requests per second.
    pub rate: f64,
    /// The p99 with the JVM's own heap, in milliseconds.
    pub usual_p99_ms: f64,
    /// The p99 that a heap must keep to.
    pub goal_p99_ms: f64,
    /// The heaps that were tried, in the order of the trials.
    pub trials: Vec<HeapTrial>,
    /// The smallest that kept to it, in MB; none when not even the largest did.
    pub chosen_mb: Option<u32>,
}

/// A heap that was tried.
#[derive(Debug, Clone, PartialEq)]
pub struct HeapTrial {
    /// `-Xmx`, in MB.
    pub megabytes: u32,
    /// The p99; none when the gates refused the run.
    pub p99_ms: Option<f64>,
    /// Why it is too small; none when it isn't.
    pub refused: Option<String>,
}

/// A container image of a side.
#[derive(Debug)]
pub struct Image {
    /// The side's id.
    pub side: String,
    /// Its unpacked size in MB; none where there is no such image.
    pub unpacked_mb: Option<f64>,
    /// Why there is none.
    pub missing: Option<String>,
}

/// What a knob may change.
const KNOB: [&str; 5] = [
    "throughput",
    "cpu_per_request",
    "memory",
    "start_up",
    "size",
];

/// What the port is compared with.
enum Against {
    BestKotlin,
    KotlinAsShipped,
    Ceiling,
}

/// What the port was meant to reach, set before it was measured: what, of which metric, against what, and from where to where.
type Goal = (&'static str, &'static str, Against, f64, f64);

const GOALS: [Goal; 5] = [
    (
        "throughput ÷ that of the best row of Kotlin",
        "throughput",
        Against::BestKotlin,
        2.5,
        f64::INFINITY,
    ),
    (
        "CPU per request ÷ that of the best row of Kotlin",
        "cpu_per_request",
        Against::BestKotlin,
        0.0,
        0.3,
    ),
    (
        "memory ÷ that of Kotlin as shipped",
        "memory",
        Against::KotlinAsShipped,
        0.0,
        1.0 / 20.0,
    ),
    (
        "start-up ÷ that of the best row of Kotlin",
        "start_up",
        Against::BestKotlin,
        0.0,
        1.0 / 30.0,
    ),
    (
        "throughput ÷ that of the ceiling",
        "throughput",
        Against::Ceiling,
        0.7,
        f64::INFINITY,
    ),
];

/// The published rows that are measured here as well.
const PUBLISHED: [&str; 6] = [
    "size",
    "memory_at_ten",
    "p50_at_ten",
    "cpu_load_at_ten",
    "cpu_in_all_at_ten",
    "threads_at_ten",
];

/// All tables; the last three are for pages that ask for them.
pub fn tables(result: &ResultFile, article: &Article) -> Vec<Table> {
    let load = format!(
        "Under the article's load: {} requests/s for {} s",
        figure(article.rate),
        figure(article.seconds)
    );
    let rows = |id, title: &str, keys: &[&str]| sides_by_metrics(id, title, result, keys);
    let mut saturated = rows(
        "saturated",
        "Saturated",
        &["throughput", "cpu_per_request", "memory", "pss", "threads"],
    );
    saturated.notes.extend(database(result).map(|rate| {
        format!(
            "pgbench alone, without a service, reads {} records/s",
            figure(rate)
        )
    }));
    let at_ten = [
        "memory_at_idle",
        "memory_at_ten",
        "pss_at_ten",
        "p50_at_ten",
        "p99_at_ten",
        "threads_at_ten",
        "cpu_load_at_ten",
        "cpu_per_request_at_ten",
        "cpu_in_all_at_ten",
    ];
    vec![
        size_and_start(result, article),
        rows("at-ten", &load, &at_ten),
        rows(
            "at-rates",
            "At fixed rates, in percent of the slowest row's saturation",
            &[
                "p50_at_30",
                "p99_at_30",
                "p50_at_60",
                "p99",
                "p50_at_90",
                "p99_at_90",
            ],
        ),
        saturated,
        knobs(result, article),
        heap(&article.heap),
        ceiling(result, article),
        goals(result, article),
        beside_published(result, article),
    ]
}

fn database(result: &ResultFile) -> Option<f64> {
    Some(result.metric(DATABASE)?.values.first()?.value)
}

fn size_and_start(result: &ResultFile, article: &Article) -> Table {
    let keys = ["size", "start_up", "start_up_cpu", "warm_up", CPU_ONCE];
    let mut table = sides_by_metrics("size-and-start", "Size and start", result, &keys);
    table.columns.push("Image, unpacked (MB)".into());
    for row in &mut table.rows {
        let of_row = |image: &&Image| result.label(&image.side) == row.heading;
        let image = article.images.iter().find(of_row);
        row.cells.push(
            match image.map(|image| (image.unpacked_mb, &image.missing)) {
                Some((Some(megabytes), _)) => Cell::Number(megabytes),
                Some((None, Some(reason))) => Cell::text(reason),
                _ => Cell::Empty,
            },
        );
    }
    table
}

/// Each knob compared with the reference without it.
fn knobs(result: &ResultFile, article: &Article) -> Table {
    let metrics: Vec<_> = KNOB.iter().filter_map(|key| result.metric(key)).collect();
    let mut table = Table::new(
        "knobs",
        "The knobs of the port: the reference with one thing changed ÷ the reference as shipped",
        metrics
            .iter()
            .map(|metric| Column::from(metric.name.as_str()))
            .collect(),
    );
    table.corner = "Changed".to_owned();
    for knob in &article.knobs {
        let ratios = metrics
            .iter()
            .map(|metric| metric.comparison(&knob.side, &article.reference).into());
        table.row(&knob.title, ratios.collect());
    }
    let of_ceiling = result
        .metric("throughput")
        .and_then(|metric| metric.comparison(&article.rust, &article.ceiling));
    if let Some((ratio, interval)) =
        of_ceiling.and_then(|share| Some((share.ratio?, interval(share.low, share.high)?)))
    {
        table.notes.push(format!(
            "{} reaches {} ({interval}) of the ceiling's throughput",
            result.label(&article.rust),
            figure(ratio)
        ));
    }
    table
}

/// How the heap was found.
fn heap(search: &HeapSearch) -> Table {
    let title = format!(
        "The heap: at {} requests/s the default one has a p99 of {} ms; a smaller one may have {} ms",
        figure(search.rate),
        figure(search.usual_p99_ms),
        figure(search.goal_p99_ms)
    );
    let mut table = Table::new("heap", title, Column::list(["p99 (ms)", "Verdict"]));
    table.corner = "Tried (MB)".to_owned();
    for trial in &search.trials {
        let verdict = match &trial.refused {
            Some(reason) => format!("too small: {reason}"),
            None => "large enough".to_owned(),
        };
        let cells = vec![trial.p99_ms.into(), Cell::Text(verdict)];
        table.row(trial.megabytes.to_string(), cells);
    }
    table.notes.push(search.chosen_mb.map_or_else(
        || "none of them keeps to it, so the default stays".to_owned(),
        |chosen| {
            format!(
                "the right-sized rows have {chosen} MB, the smallest that was tried and keeps to it"
            )
        },
    ));
    table
}

/// pgbench, the ceiling, the port with its knobs, Kotlin: the fastest first.
fn ceiling(result: &ResultFile, article: &Article) -> Table {
    let of = |key: &str, side: &str| Some(result.metric(key)?.value(side)?.value);
    let ceiling = of("throughput", &article.ceiling);
    let columns = [
        "Reads (per second)",
        "÷ ceiling",
        "CPU per request (µs)",
        "Round trips per read",
    ];
    let title = "From the ceiling down: saturated, the fastest first";
    let mut table = Table::new("ceiling", title, Column::list(columns));
    table.by_name_only = true;
    let mut row = |label: &str, rate: Option<f64>, cpu: Option<f64>, trips: Option<f64>| {
        let share = rate.zip(ceiling).map(|(rate, ceiling)| rate / ceiling);
        table.row(label, [rate, share, cpu, trips].map(Cell::from).into());
    };
    row("pgbench, no service", database(result), None, Some(1.0));
    let rate = |side: &Side| of("throughput", &side.id);
    let mut sides: Vec<&Side> = result.sides.iter().collect();
    sides.sort_by(|one, other| {
        rate(other)
            .unwrap_or(0.0)
            .total_cmp(&rate(one).unwrap_or(0.0))
    });
    for side in sides {
        let trips = result.manifest.round_trips.get(&side.id).copied();
        row(
            &side.label,
            rate(side),
            of("cpu_per_request", &side.id),
            trips,
        );
    }
    table
}

/// What the port was meant to reach, and what it reached.
fn goals(result: &ResultFile, article: &Article) -> Table {
    let title = "What the port was meant to reach";
    let mut table = Table::new(
        "goals",
        title,
        Column::list(["Goal", "Measured", "Verdict"]),
    );
    table.by_name_only = true;
    for (what, metric, against, least, most) in &GOALS {
        let reached = result.metric(metric).and_then(|metric| match against {
            Against::BestKotlin => result.rust_against_kotlin(metric),
            Against::KotlinAsShipped => metric.comparison(&article.rust, article.kotlin.first()?),
            Against::Ceiling => metric.comparison(&article.rust, &article.ceiling),
        });
        let goal = if most.is_finite() {
            format!("at most {}", figure(*most))
        } else {
            format!("at least {}", figure(*least))
        };
        let verdict = match reached.and_then(|reached: &Comparison| reached.ratio) {
            Some(ratio) if (*least..=*most).contains(&ratio) => "reached",
            Some(_) => "not reached",
            None => "not measured",
        };
        table.row(
            *what,
            vec![Cell::Text(goal), reached.into(), Cell::text(verdict)],
        );
    }
    table
}

/// What stands beside the published figures; the rows are named by their metrics.
fn beside_published(result: &ResultFile, article: &Article) -> Table {
    let columns = [
        "Kotlin as shipped",
        "Rust",
        "Rust ÷ Kotlin as shipped",
        "Rust ÷ best row of Kotlin",
        "which is",
    ];
    let title = "The published figures beside ours";
    let mut table = Table::new("beside-published", title, Column::list(columns));
    table.by_name_only = true;
    let shipped = article.kotlin.first().map_or("", String::as_str);
    for metric in PUBLISHED.iter().filter_map(|key| result.metric(key)) {
        let best = result.rust_against_kotlin(metric);
        table.rows.push(Row {
            heading: metric.heading(),
            key: metric.key.clone(),
            cells: vec![
                metric.value(shipped).into(),
                metric.value(&article.rust).into(),
                metric.comparison(&article.rust, shipped).into(),
                best.into(),
                best.map_or(Cell::Empty, |best| Cell::text(result.label(&best.against))),
            ],
        });
    }
    table
}
