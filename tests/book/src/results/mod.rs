//! `{{#results exercise-3}}`: the committed reference figures next to the reader's own, as table and chart.

mod article;
mod calibration;
mod calls;
mod ceiling;
mod chart;
mod guard;
mod knob;
mod ladder;
mod numbers;
mod paging;
mod pool;
mod profile;
mod program;
mod published;
mod published_ladder;
pub mod report;
mod stall;
mod table;

use std::path::{Path, PathBuf};

pub use calibration::render as calibration;
pub use ceiling::render as ceiling;
pub use profile::render as profile;
pub use published::{beside_ours as article, render as published};
pub use published_ladder::render as ladder;

use anyhow::Context;
use serde::de::DeserializeOwned;

use crate::fault::Problem;
use crate::html::block;
use crate::html::escape;
use workshop_base::outcome::Trouble;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_results::file::Language;
use workshop_results::file::Mode;
use workshop_results::file::ResultFile;

/// The reader's own measurement, as far as there is one.
enum Own {
    /// None yet.
    Missing,
    /// There, but of no use; why, in one sentence.
    Unreadable(String),
    /// There.
    Read(Box<ResultFile>),
}

/// The figures of one exercise.
///
/// # Errors
/// When the committed reference file is there but cannot be read. The reader's own file never is an error: whatever is
/// wrong with it is said on the page.
pub fn render(workspace: &Workspace, number: u8) -> Result<String, Problem> {
    let exercise = format!("exercise-{number}");
    let reference = reference(
        &ResultFile::reference_path(workspace, &exercise),
        ResultFile::read,
    )?;
    let own = own(workspace, number);
    let mut html = format!("<section class=\"results\" aria-label=\"Figures of {exercise}\">\n");
    match &reference {
        Some(file) => html.push_str(&about("Reference", file)),
        None => html.push_str("<p class=\"results-about\"><strong>Reference:</strong> no figures are committed yet.</p>\n"),
    }
    match &own {
        Own::Read(file) => html.push_str(&about("Yours", file)),
        Own::Missing => html.push_str(&format!(
            "<p class=\"results-about\"><strong>Yours:</strong> not measured yet. Type <code>just measure {exercise}</code>, and this page shows your figures beside the reference.</p>\n"
        )),
        Own::Unreadable(why) => html.push_str(&format!(
            "<p class=\"results-about\"><strong>Yours:</strong> {} Type <code>just measure {exercise}</code> to measure anew.</p>\n",
            escape(why)
        )),
    }
    let own = match &own {
        Own::Read(file) => Some(file.as_ref()),
        _ => None,
    };
    html.push_str(&chart::figure(reference.as_ref(), own));
    html.push_str(&table::headline(reference.as_ref(), own));
    html.push_str(&stall::render(reference.as_ref(), own));
    html.push_str(&pool::render(reference.as_ref(), own));
    html.push_str(&paging::render(reference.as_ref(), own));
    html.push_str(&article::render(reference.as_ref(), own));
    html.push_str(&ladder::render(reference.as_ref(), own));
    html.push_str(&program::render(reference.as_ref(), own));
    html.push_str(&calls::render(reference.as_ref(), own));
    html.push_str(&guard::price(reference.as_ref(), own));
    html.push_str(&guard::wrong_key(reference.as_ref(), own));
    if let Some(own) = own {
        html.push_str(&table::predictions(own));
    }
    html.push_str(&table::details(reference.as_ref(), own));
    html.push_str("</section>");
    Ok(block(&html))
}

/// `{{#report}}`: all measurements of the reader on one page.
///
/// # Errors
/// When what it is made of cannot be read.
pub fn report(workspace: &Workspace) -> Result<String, Problem> {
    let markdown = match report::gather(workspace)? {
        Some(report) => report.markdown(),
        None => format!(
            "You have measured nothing yet. Begin with `{}`; this page then shows what you have.\n",
            report::FIRST
        ),
    };
    Ok(format!("\n\n{markdown}\n"))
}

/// A committed file: read, or not there.
fn reference<T>(
    path: &Path,
    read: impl Fn(&Path) -> anyhow::Result<T>,
) -> Result<Option<T>, Problem> {
    if !path.is_file() {
        return Ok(None);
    }
    read(path).map(Some).map_err(|error| {
        Problem::new(
            format!("the reference figures cannot be shown: {error}"),
            "measure the reference again, or git restore book/reference-results",
        )
    })
}

/// A committed file of figures that are not measured by the tool: what they are is named for people.
fn committed<T: DeserializeOwned>(
    workspace: &Workspace,
    file: &str,
    what: &str,
) -> Result<T, Problem> {
    let path = workspace.reference_results().join(file);
    let read = || {
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        toml::from_str(&text).with_context(|| format!("{} is malformed", path.display()))
    };
    read().map_err(|error: anyhow::Error| {
        Problem::new(
            format!("{what} cannot be shown: {error:#}"),
            format!("git restore book/reference-results/{file}"),
        )
    })
}

/// The reader's own file: of the exercise, else of the reference run on this machine.
fn own(workspace: &Workspace, number: u8) -> Own {
    let targets = [Target::Exercise(number), Target::Solution(number)];
    let baseline = (number == 1).then_some(Target::Kotlin);
    let found = targets
        .into_iter()
        .chain(baseline)
        .map(|target| ResultFile::own_path(workspace, target))
        .find(|path| path.is_file());
    found.map_or(Own::Missing, |path| match ResultFile::read(&path) {
        Ok(file) => Own::Read(Box::new(file)),
        Err(error) => Own::Unreadable(unreadable(workspace, &path, &error)),
    })
}

/// Why the reader's own file is not shown, in one sentence.
fn unreadable(workspace: &Workspace, path: &Path, error: &anyhow::Error) -> String {
    let shown: PathBuf = path.strip_prefix(workspace.root()).unwrap_or(path).into();
    let text = error
        .downcast_ref::<Trouble>()
        .map_or_else(|| format!("{error:#}"), ToString::to_string);
    let first = text.lines().next().unwrap_or_default();
    let first = first.replace(&path.display().to_string(), &shown.display().to_string());
    format!("{}.", first.trim_end_matches('.'))
}

/// What a measurement was taken on and how, in one line.
fn provenance(file: &ResultFile) -> String {
    let day = file.taken_at.get(..10).unwrap_or(&file.taken_at);
    let mut parts = vec![file.machine.clone(), day.to_owned()];
    if let Some(commit) = &file.manifest.commit {
        let dirty = if file.manifest.dirty == Some(true) {
            " with changes"
        } else {
            ""
        };
        parts.push(format!("commit {commit}{dirty}"));
    }
    let blocks = file.manifest.blocks;
    let sides = if file.sides.len() > 1 { " a side" } else { "" };
    parts.push(format!(
        "{blocks} block{}{sides}",
        if blocks == 1 { "" } else { "s" }
    ));
    parts.push(format!(
        "data set {} ({} rows)",
        file.manifest.data_set,
        numbers::grouped(file.manifest.rows)
    ));
    if file.mode == Mode::Quick {
        parts.push("a quick run, for orientation".to_owned());
    }
    parts.join(", ")
}

/// Whose figures these are and what they were taken on.
fn about(whose: &str, file: &ResultFile) -> String {
    let note = match (whose, file.target.as_str()) {
        ("Yours", target) if target.starts_with("solution") => {
            " (the reference's code on your machine)"
        }
        _ => "",
    };
    let mut html = format!(
        "<p class=\"results-about\"><strong>{whose}{note}:</strong> {}.</p>\n",
        escape(&provenance(file))
    );
    if file.article.is_some() {
        html.push_str("<p class=\"results-about\">Kotlin was measured in several set-ups; where one figure stands for it, it is that of the best of them.</p>\n");
    }
    for reason in &file.invalid {
        html.push_str(&format!(
            "<p class=\"results-invalid\"><strong>Invalid:</strong> {}</p>\n",
            escape(reason)
        ));
    }
    html
}

/// True when Kotlin and Rust were both measured.
fn compares(file: &ResultFile) -> bool {
    file.side(Language::Kotlin).is_some() && file.side(Language::Rust).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::file::Better;
    use workshop_results::file::CallTime;
    use workshop_results::file::CallTimes;
    use workshop_results::file::Comparison;
    use workshop_results::file::Course;
    use workshop_results::file::JudgedPrediction;
    use workshop_results::file::KeyRun;
    use workshop_results::file::Knee;
    use workshop_results::file::Metric;
    use workshop_results::file::PageTimes;
    use workshop_results::file::Paging;
    use workshop_results::file::PoolSweep;
    use workshop_results::file::ProgramTime;
    use workshop_results::file::ProgramTimes;
    use workshop_results::file::SCHEMA;
    use workshop_results::file::Side;
    use workshop_results::file::SideValue;
    use workshop_results::file::Stall;
    use workshop_results::file::StalledSide;
    use workshop_results::file::Task;
    use workshop_results::file::TextTime;
    use workshop_results::file::Verdict;
    use workshop_results::file::WrongKey;
    use workshop_results::manifest::Machine;
    use workshop_results::manifest::Manifest;

    fn metric(key: &str, name: &str, better: Better, kotlin: f64, rust: f64) -> Metric {
        let value = |side: &str, value: f64| SideValue {
            side: side.into(),
            value,
            least: value * 0.9,
            most: value * 1.1,
            blocks: 5,
        };
        let ratio = rust / kotlin;
        Metric {
            key: key.into(),
            name: name.into(),
            unit: "units".into(),
            how: "made up".into(),
            better,
            headline: true,
            values: vec![value("kotlin", kotlin), value("solution-3", rust)],
            comparisons: vec![Comparison {
                side: "solution-3".into(),
                against: "kotlin".into(),
                ratio: Some(ratio),
                low: Some(ratio * 0.95),
                high: Some(ratio * 1.05),
                rounds: 5,
                verdict: Verdict::Faster,
                reason: None,
            }],
        }
    }

    fn sample() -> ResultFile {
        let side = |id: &str, label: &str, language| Side {
            id: id.into(),
            label: label.into(),
            language,
            command: "run".into(),
            runtime: "1.0".into(),
        };
        ResultFile {
            schema: SCHEMA,
            task: Task::Reads,
            exercise: "exercise-3".into(),
            target: "solution-3".into(),
            mode: Mode::Standard,
            taken_at: "2025-11-21T09:30:00Z".into(),
            machine: "A <small> machine".into(),
            manifest: Manifest {
                commit: Some("abc1234".into()),
                dirty: Some(false),
                machine: Machine {
                    cpu: "CPU".into(),
                    cores: 2,
                    memory_mb: 1000,
                    kernel: "Linux".into(),
                    governor: None,
                    throttled: None,
                    virtualised: None,
                },
                versions: Default::default(),
                flags: Default::default(),
                database: "embedded".into(),
                data_set: "full".into(),
                rows: 10_000_000,
                fingerprint: String::new(),
                pool_size: 10,
                connections: 32,
                blocks: 5,
                order: Vec::new(),
                round_trips: Default::default(),
                rates: Default::default(),
                took_s: 100.0,
            },
            sides: vec![
                side("kotlin", "Kotlin", Language::Kotlin),
                side("solution-3", "Rust", Language::Rust),
            ],
            metrics: vec![
                metric("throughput", "Throughput", Better::Higher, 5000.0, 15_000.0),
                metric("memory", "Peak memory", Better::Lower, 300.0, 9.0),
            ],
            predictions: Vec::new(),
            notes: vec!["heap & collector as shipped".into()],
            invalid: Vec::new(),
            blocks: Vec::new(),
            wrong_key: None,
            stall: None,
            pool: None,
            paging: None,
            article: None,
            program: None,
            calls: None,
            ladder: None,
        }
    }

    fn page(reference: Option<&ResultFile>, own: Option<(&str, &ResultFile)>) -> String {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let workspace = Workspace::at(folder.path());
        if let Some(file) = reference {
            file.write(&ResultFile::reference_path(&workspace, "exercise-3"))
                .expect("written");
        }
        if let Some((name, file)) = own {
            file.write(&workspace.results().join(format!("{name}.json")))
                .expect("written");
        }
        render(&workspace, 3).expect("figures")
    }

    #[test]
    fn the_reference_stands_with_machine_day_and_figures_and_says_how_to_get_your_own() {
        let html = page(Some(&sample()), None);
        assert!(
            html.contains("A &lt;small&gt; machine, 2025-11-21, commit abc1234, 5 blocks a side"),
            "{html}"
        );
        assert!(
            html.contains("3 <span class=\"interval\">(2.85 to 3.15)</span>"),
            "{html}"
        );
        assert!(
            html.contains("Rust is faster") && html.contains("Rust needs less"),
            "{html}"
        );
        assert!(html.contains("heap &amp; collector"), "{html}");
        assert!(
            html.contains("<code>just measure exercise-3</code>"),
            "{html}"
        );
        assert!(!html.contains(">Yours</th>"), "{html}");
        assert!(
            !html.trim().contains("\n\n"),
            "an empty line would end the HTML block"
        );
    }

    #[test]
    fn your_figures_stand_beside_the_reference_with_marks_of_another_shape() {
        let html = page(Some(&sample()), Some(("exercise-3", &sample())));
        assert!(
            html.contains(">Reference</th>") && html.contains(">Yours</th>"),
            "{html}"
        );
        let plot = &html[html.find("<svg role=\"img\"").expect("a chart")..];
        assert!(
            plot.contains("<circle") && plot.contains("<path d=\"M0 -6L6"),
            "{plot}"
        );
        assert!(
            plot.contains("Throughput (yours): 3, 95 % interval 2.85 to 3.15, Rust is faster."),
            "{plot}"
        );
        assert!(html.contains("The data behind the chart"), "{html}");
    }

    #[test]
    fn the_references_code_measured_here_is_labelled_so() {
        let html = page(None, Some(("solution-3", &sample())));
        assert!(
            html.contains("Yours (the reference&#39;s code on your machine)")
                || html.contains("Yours (the reference's code on your machine)"),
            "{html}"
        );
        assert!(html.contains("no figures are committed yet"), "{html}");
    }

    #[test]
    fn an_invalid_measurement_says_why_and_draws_no_ratio() {
        let mut file = sample();
        file.invalid = vec!["the bodies differ at id <7>".into()];
        for metric in &mut file.metrics {
            metric.comparisons = vec![Comparison::invalid("solution-3", "kotlin", "errors & such")];
        }
        let html = page(Some(&file), None);
        assert!(html.contains("the bodies differ at id &lt;7&gt;"), "{html}");
        assert!(html.contains("invalid: errors &amp; such"), "{html}");
        assert!(!html.contains("<svg role"), "{html}");
    }

    #[test]
    fn rust_against_rust_and_the_run_with_the_wrong_key_have_tables_of_their_own() {
        let mut file = sample();
        file.task = Task::Guard;
        file.sides.push(Side {
            id: "solution-2".into(),
            label: "without".into(),
            ..file.sides[1].clone()
        });
        let price = Comparison {
            against: "solution-2".into(),
            ratio: Some(0.99),
            low: Some(0.97),
            high: Some(1.01),
            verdict: Verdict::NoDifferenceShown,
            ..file.metrics[0].comparisons[0].clone()
        };
        file.metrics[0].comparisons.push(price);
        let run = |status: &str, refused: Option<&str>| KeyRun {
            rate: 1000.0,
            success: Some(1.0),
            statuses: [(status.to_owned(), 3000)].into(),
            refused: refused.map(str::to_owned),
        };
        file.wrong_key = Some(WrongKey {
            command: "oha".into(),
            seconds: 3.0,
            right: run("200", None),
            wrong: run("401", Some("3000 of 3000 answers had status 401, not 200")),
        });
        let html = page(Some(&file), None);
        assert!(html.contains("Rust ÷ without"), "{html}");
        assert!(
            html.contains("0.990 <span class=\"interval\">(0.970 to 1.01)</span>"),
            "{html}"
        );
        assert!(html.contains("<td>refused: 3000 of 3000 answers"), "{html}");
        assert!(!page(Some(&sample()), None).contains("price of the guard"));
    }

    #[test]
    fn a_program_stands_beside_one_that_does_nothing() {
        let time = |ms| ProgramTime {
            ms,
            least_ms: ms * 0.9,
            most_ms: ms * 1.1,
        };
        let mut file = sample();
        file.program = Some(ProgramTimes {
            command: "hyperfine <x>".into(),
            runs: 60,
            nothing: time(0.5),
            texts: vec![TextTime {
                text_bytes: 512,
                image_bytes: 1057,
                time: time(2.0),
                against_nothing: Comparison {
                    ratio: Some(4.0),
                    low: Some(3.9),
                    high: Some(4.1),
                    ..file.metrics[0].comparisons[0].clone()
                },
            }],
        });
        let html = page(Some(&file), None);
        assert!(html.contains("<code>hyperfine &lt;x&gt;</code>"), "{html}");
        assert!(
            html.contains("A text of 512 bytes</th><td class=\"number\">2 "),
            "{html}"
        );
        assert!(html.contains("<td class=\"number\">1057</td>"), "{html}");
        assert!(
            html.contains("4 <span class=\"interval\">(3.90 to 4.10)</span>"),
            "{html}"
        );
        assert!(!page(Some(&sample()), None).contains("by itself"));
    }

    #[test]
    fn a_call_stands_beside_the_same_in_kotlin() {
        let mut file = sample();
        file.calls = Some(CallTimes {
            calls: vec![CallTime {
                call: "copy".into(),
                bytes: 100_000,
                kotlin_us: 4.0,
                rust_us: 12.0,
                interpreted_us: Some(250.0),
                rust_against_kotlin: file.metrics[0].comparisons[0].clone(),
            }],
        });
        let html = page(Some(&file), None);
        assert!(
            html.contains("A copy of 100\u{202f}000 bytes</th>"),
            "{html}"
        );
        assert!(
            html.contains("<td class=\"number\">4</td><td class=\"number\">12</td>"),
            "{html}"
        );
        assert!(
            html.contains(
                "the same, interpreted</th><td class=\"number\">–</td><td class=\"number\">250</td>"
            ),
            "{html}"
        );
        assert!(!page(Some(&sample()), None).contains("A call"));
    }

    #[test]
    fn a_stall_is_drawn_over_time_and_told_by_both_ways_of_counting() {
        let mut file = sample();
        file.metrics = vec![
            metric("p99", "p99", Better::Lower, 912.0, 915.0),
            metric(
                "p99_uncorrected",
                "p99, uncorrected",
                Better::Lower,
                4.0,
                2.0,
            ),
        ];
        let side = |side: &str| StalledSide {
            side: side.into(),
            statuses: [("200".to_owned(), 24_000)].into(),
            p99: Comparison {
                ratio: Some(228.0),
                low: Some(210.0),
                high: Some(250.0),
                ..Comparison::invalid("corrected", "uncorrected", "")
            },
            course: Course {
                moment_s: 0.5,
                uncorrected_ms: vec![Some(1.0), Some(1000.0), None, Some(2.0)],
                corrected_ms: vec![Some(1.0), Some(1000.0), Some(500.0), Some(2.0)],
            },
        };
        file.stall = Some(Stall {
            command: "oha".into(),
            rate: 3000.0,
            seconds: 2.0,
            began_s: 0.5,
            lasted_s: 1.0,
            timeout_ms: 3000,
            sides: vec![side("kotlin"), side("solution-3")],
        });
        let html = page(Some(&file), None);
        let row = "<td class=\"number\">4</td><td class=\"number\">912</td><td class=\"number\">2</td><td class=\"number\">915</td>";
        assert!(html.contains(row), "{html}");
        assert!(
            html.contains("228 <span class=\"interval\">(210 to 250)</span>"),
            "{html}"
        );
        let bars = |class: &str| html.matches(&format!("<rect class=\"{class}\"")).count();
        assert_eq!((bars("chart-bar-faint"), bars("chart-bar")), (6, 8));
        assert!(
            html.contains("Kotlin, from when it was sent: a request took more than 100 ms in 1 of 4 moments; in 1 there was none."),
            "{html}"
        );
        assert!(
            !html.trim().contains("\n\n"),
            "an empty line would end the HTML block"
        );
    }

    #[test]
    fn pools_of_several_sizes_have_their_knee_marked_and_the_ping_a_table_of_its_own() {
        let mut file = sample();
        let side = |id: &str, label: &str| Side {
            id: id.into(),
            label: label.into(),
            ..file.sides[1].clone()
        };
        let (with, without) = (
            side("with-ping", "with ping"),
            side("without-ping", "no ping"),
        );
        file.sides.extend([with, without]);
        let mut ping = metric("throughput", "Throughput", Better::Higher, 9000.0, 10_000.0);
        ping.values[0].side = "with-ping".into();
        ping.values[1].side = "without-ping".into();
        ping.comparisons[0].side = "without-ping".into();
        ping.comparisons[0].against = "with-ping".into();
        file.metrics = vec![
            metric(
                "throughput_pool_2",
                "Pool 2",
                Better::Higher,
                4000.0,
                6000.0,
            ),
            metric(
                "throughput_pool_8",
                "Pool 8",
                Better::Higher,
                5000.0,
                11_000.0,
            ),
            ping,
        ];
        for pool in &mut file.metrics[..2] {
            pool.headline = false;
        }
        let knee = |side: &str, size| Knee {
            side: side.into(),
            size,
            share: 1.0,
            best: size,
        };
        file.pool = Some(PoolSweep {
            sizes: vec![2, 8],
            enough: 0.95,
            knees: vec![knee("kotlin", 8), knee("solution-3", 8)],
            database: [(2, 12_000.0)].into(),
            with_ping: "with-ping".into(),
            without_ping: "without-ping".into(),
        });
        let html = page(Some(&file), None);
        assert!(
            html.contains("<td class=\"number\">5000 <span class=\"sense\">knee</span></td>"),
            "{html}"
        );
        assert!(!html.contains("4000 <span class=\"sense\">knee"), "{html}");
        assert!(html.contains(">5000, the knee</text>"), "{html}");
        assert!(html.contains("no ping ÷ with ping"), "{html}");
        assert!(
            html.contains("1.11 <span class=\"interval\">(1.06 to 1.17)</span>"),
            "{html}"
        );
        assert!(
            !html.contains("Measured figures"),
            "neither Kotlin nor the port has a headline: {html}"
        );
        assert!(!html.contains("price of the guard"), "{html}");
        assert!(
            !html.trim().contains("\n\n"),
            "an empty line would end the HTML block"
        );
    }

    #[test]
    fn a_page_stands_by_key_and_by_offset() {
        let mut file = sample();
        file.paging = Some(Paging {
            limit: 100,
            rows: 10_000_000,
            pages: vec![PageTimes {
                page: 50_000,
                repetitions: 7,
                key_ms: 0.4,
                offset_ms: 410.0,
                offset_against_key: Comparison {
                    ratio: Some(1025.0),
                    low: Some(980.0),
                    high: Some(1070.0),
                    ..Comparison::invalid("offset", "key", "")
                },
            }],
        });
        let html = page(Some(&file), None);
        assert!(
            html.contains("A page of 100 rows of 10\u{202f}000\u{202f}000, reference"),
            "{html}"
        );
        assert!(html.contains("50\u{202f}000</th><td class=\"number\">0.400</td><td class=\"number\">410</td><td class=\"number\">1025 <span"), "{html}");
        assert!(!page(Some(&sample()), None).contains("By OFFSET"));
    }

    #[test]
    fn one_side_alone_has_no_ratio_and_no_chart() {
        let mut file = sample();
        file.sides.truncate(1);
        for metric in &mut file.metrics {
            metric.values.truncate(1);
            metric.comparisons.clear();
        }
        let html = page(Some(&file), None);
        assert!(html.contains("5000") && !html.contains("÷"), "{html}");
        assert!(!html.contains("<svg"), "{html}");
    }

    #[test]
    fn predictions_are_held_against_the_measurement() {
        let mut file = sample();
        file.predictions = vec![JudgedPrediction {
            key: "memory".into(),
            predicted: 0.1,
            confidence: 80.0,
            measured: 0.03,
            factor: 3.33,
            held: false,
        }];
        let html = page(None, Some(("exercise-3", &file)));
        assert!(
            html.contains("Your predictions") && html.contains("did not hold"),
            "{html}"
        );
        assert!(html.contains("80 %"), "{html}");
    }
}
