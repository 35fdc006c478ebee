//! `{{#ceiling}}`: how far each service of exercise 8's measurement is from the ceiling, and what the port was meant to reach.

use crate::fault::Problem;
use crate::html::block;
use crate::html::escape;
use crate::results::Own;
use crate::results::about;
use crate::results::numbers::value;
use crate::results::own;
use crate::results::reference;
use crate::results::table::ratio;
use crate::results::table::wrapped;
use workshop_base::workspace::Workspace;
use workshop_results::file::Article;
use workshop_results::file::Comparison;
use workshop_results::file::ResultFile;
use workshop_results::metrics::DATABASE;

/// The exercise whose measurement holds the port against the ceiling.
const EXERCISE: u8 = 8;

/// What the port is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Against {
    BestKotlin,
    KotlinAsShipped,
    Ceiling,
}

/// What the port was meant to reach, set before it was measured.
struct Goal {
    what: &'static str,
    metric: &'static str,
    against: Against,
    bound: Bound,
}

enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bound {
    fn holds(&self, ratio: f64) -> bool {
        match self {
            Bound::AtLeast(least) => ratio >= *least,
            Bound::AtMost(most) => ratio <= *most,
        }
    }

    fn words(&self) -> String {
        match self {
            Bound::AtLeast(least) => format!("at least {}", value(*least)),
            Bound::AtMost(most) => format!("at most {}", value(*most)),
        }
    }
}

const GOALS: [Goal; 5] = [
    Goal {
        what: "throughput ÷ that of the best row of Kotlin",
        metric: "throughput",
        against: Against::BestKotlin,
        bound: Bound::AtLeast(2.5),
    },
    Goal {
        what: "CPU per request ÷ that of the best row of Kotlin",
        metric: "cpu_per_request",
        against: Against::BestKotlin,
        bound: Bound::AtMost(0.3),
    },
    Goal {
        what: "memory ÷ that of Kotlin as shipped",
        metric: "memory",
        against: Against::KotlinAsShipped,
        bound: Bound::AtMost(1.0 / 20.0),
    },
    Goal {
        what: "start-up ÷ that of the best row of Kotlin",
        metric: "start_up",
        against: Against::BestKotlin,
        bound: Bound::AtMost(1.0 / 30.0),
    },
    Goal {
        what: "throughput ÷ that of the ceiling",
        metric: "throughput",
        against: Against::Ceiling,
        bound: Bound::AtLeast(0.7),
    },
];

/// The table of all services, and of the goals.
///
/// # Errors
/// When the committed reference file cannot be read.
pub fn render(workspace: &Workspace) -> Result<String, Problem> {
    let exercise = format!("exercise-{EXERCISE}");
    let path = ResultFile::reference_path(workspace, &exercise);
    let reference = reference(&path, ResultFile::read)?;
    let own = match own(workspace, EXERCISE) {
        Own::Read(file) => Some(*file),
        Own::Missing | Own::Unreadable(_) => None,
    };
    let mut html =
        String::from("<section class=\"results\" aria-label=\"The distance to the ceiling\">\n");
    let mut tables = 0;
    for (whose, file) in [("Reference", &reference), ("Yours", &own)] {
        let Some((file, article)) = file
            .as_ref()
            .and_then(|file| Some((file, file.article.as_ref()?)))
        else {
            continue;
        };
        html.push_str(&about(whose, file));
        html.push_str(&services(whose, file, article));
        html.push_str(&goals(whose, file, article));
        tables += 1;
    }
    if tables == 0 {
        html.push_str(&format!(
            "<p class=\"results-about\"><strong>Not measured yet.</strong> Type <code>just measure {exercise}</code>, and this page shows how far each service is from the ceiling.</p>\n"
        ));
    }
    html.push_str("</section>");
    Ok(block(&html))
}

/// pgbench, the ceiling, the port with its knobs, Kotlin: from above.
fn services(whose: &str, file: &ResultFile, article: &Article) -> String {
    let of = |key: &str, side: &str| Some(file.metric(key)?.value(side)?.value);
    let ceiling = of("throughput", &article.ceiling);
    let share = |rate: Option<f64>| {
        let share = rate.zip(ceiling).map(|(rate, ceiling)| rate / ceiling);
        share.map_or_else(|| "–".to_owned(), value)
    };
    let cell = |measured: Option<f64>| measured.map_or_else(|| "–".to_owned(), value);
    let row = |label: &str, rate: Option<f64>, cpu: Option<f64>, round_trips: Option<f64>| {
        format!(
            "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
            escape(label),
            cell(rate),
            share(rate),
            cell(cpu),
            cell(round_trips)
        )
    };
    // pgbench ran beside the ceiling, so that is the side of its figure.
    let mut rows = row(
        "pgbench, no service",
        of(DATABASE, &article.ceiling),
        None,
        Some(1.0),
    );
    let mut sides: Vec<_> = file.sides.iter().collect();
    sides.sort_by(|one, other| {
        let rate = |id: &str| of("throughput", id).unwrap_or_default();
        rate(&other.id).total_cmp(&rate(&one.id))
    });
    for side in sides {
        rows.push_str(&row(
            &side.label,
            of("throughput", &side.id),
            of("cpu_per_request", &side.id),
            file.manifest.round_trips.get(&side.id).copied(),
        ));
    }
    let title = format!("From the ceiling down, {whose}");
    wrapped(
        &title,
        "figures",
        &format!(
            "<caption>{title}: saturated, the fastest first</caption>\n<thead><tr><td></td><th scope=\"col\">Reads <span class=\"unit\">(a second)</span></th><th scope=\"col\">÷ ceiling</th><th scope=\"col\">CPU per request <span class=\"unit\">(µs)</span></th><th scope=\"col\">Round trips a read</th></tr></thead>\n<tbody>\n{rows}</tbody>\n"
        ),
    )
}

/// What the port was meant to reach, and what it reached.
fn goals(whose: &str, file: &ResultFile, article: &Article) -> String {
    let rows: String = GOALS
        .iter()
        .map(|goal| {
            let reached = comparison(goal, file, article);
            let verdict = match reached.and_then(|reached| reached.ratio) {
                Some(ratio) if goal.bound.holds(ratio) => "reached",
                Some(_) => "not reached",
                None => "not measured",
            };
            format!(
                "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"number\">{}</td><td>{verdict}</td></tr>\n",
                goal.what,
                goal.bound.words(),
                reached.map_or_else(|| "–".to_owned(), ratio)
            )
        })
        .collect();
    let title = format!("What the port was meant to reach, {whose}");
    wrapped(
        &title,
        "figures",
        &format!(
            "<caption>{title}</caption>\n<thead><tr><td></td><th scope=\"col\">Goal</th><th scope=\"col\">Measured <span class=\"unit\">(95 % interval)</span></th><th scope=\"col\">Verdict</th></tr></thead>\n<tbody>\n{rows}</tbody>\n"
        ),
    )
}

fn comparison<'a>(goal: &Goal, file: &'a ResultFile, article: &Article) -> Option<&'a Comparison> {
    let metric = file.metric(goal.metric)?;
    match goal.against {
        Against::BestKotlin => file.rust_against_kotlin(metric),
        Against::KotlinAsShipped => metric.comparison(&article.rust, article.kotlin.first()?),
        Against::Ceiling => metric.comparison(&article.rust, &article.ceiling),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::article_table::tests::article;

    fn page(file: Option<&ResultFile>) -> String {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(folder.path());
        if let Some(file) = file {
            file.write(&ResultFile::reference_path(&workspace, "exercise-8"))
                .unwrap();
        }
        render(&workspace).unwrap()
    }

    #[test]
    fn the_fastest_stands_first_with_its_share_of_the_ceiling() {
        let html = page(Some(&article()));
        let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text}: {html}"));
        assert!(place("tokio-postgres</th>") < place("no ping</th>"));
        assert!(place("no ping</th>") < place("Rust as shipped</th>"));
        assert!(place("Rust as shipped</th>") < place("Kotlin raw JDBC</th>"));
        assert!(
            html.contains("25\u{202f}000</td><td class=\"number\">0.625</td>"),
            "{html}"
        );
    }

    #[test]
    fn a_goal_is_reached_or_not_by_what_it_names() {
        let html = page(Some(&article()));
        let row = |what: &str| {
            let row = html.lines().find(|line| line.contains(what)).unwrap();
            row.contains("<td>reached</td>")
        };
        assert!(row("throughput ÷ that of the best row"), "{html}");
        assert!(!row("CPU per request ÷"), "{html}");
        assert!(row("memory ÷ that of Kotlin as shipped"), "{html}");
        assert!(row("start-up ÷"), "{html}");
        assert!(!row("÷ that of the ceiling"), "{html}");
        assert!(page(None).contains("Not measured yet"));
    }
}
