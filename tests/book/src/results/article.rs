//! What only the measurement of exercise 8 has: the rows of the article's table, the knobs of the port, and how the heap was
//! found.

use std::fmt::Write;

use crate::html::escape;
use crate::results::numbers::value;
use crate::results::table::name;
use crate::results::table::ratio;
use crate::results::table::wrapped;
use workshop_results::file::Article;
use workshop_results::file::HeapSearch;
use workshop_results::file::ResultFile;
use workshop_results::file::Side;
use workshop_results::metrics::CPU_ONCE;

/// The tables of rows: a title, and the metrics that are their columns.
const TABLES: [(&str, &[&str]); 4] = [
    (
        "Size and start",
        &["size", "start_up", "start_up_cpu", "warm_up", CPU_ONCE],
    ),
    (
        "Under the article's load",
        &[
            "memory_at_idle",
            "memory_at_ten",
            "pss_at_ten",
            "p50_at_ten",
            "p99_at_ten",
            "threads_at_ten",
            "cpu_load_at_ten",
            "cpu_per_request_at_ten",
            "cpu_in_all_at_ten",
        ],
    ),
    (
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
    (
        "Saturated",
        &["throughput", "cpu_per_request", "memory", "pss", "threads"],
    ),
];
/// What a knob may change.
const KNOB: [&str; 5] = [
    "throughput",
    "cpu_per_request",
    "memory",
    "start_up",
    "size",
];

/// The tables of each file that has the article's rows.
pub fn render(reference: Option<&ResultFile>, own: Option<&ResultFile>) -> String {
    let mut html = String::new();
    for (whose, file) in [("reference", reference), ("yours", own)] {
        let Some((file, article)) = file.and_then(|file| Some((file, file.article.as_ref()?)))
        else {
            continue;
        };
        for (title, keys) in TABLES {
            html.push_str(&rows(&format!("{title}, {whose}"), file, article, keys));
        }
        html.push_str(&knobs(whose, file, article));
        html.push_str(&heap(&article.heap));
    }
    html
}

/// A row for each side that has one of these metrics.
fn rows(title: &str, file: &ResultFile, article: &Article, keys: &[&str]) -> String {
    let metrics: Vec<_> = keys.iter().filter_map(|key| file.metric(key)).collect();
    let with_images = keys.contains(&"size");
    let mut head = String::from("<td></td>");
    for metric in &metrics {
        let _ = write!(head, "<th scope=\"col\">{}</th>", name(metric));
    }
    if with_images {
        head.push_str("<th scope=\"col\">Image, unpacked <span class=\"unit\">(MB)</span></th>");
    }
    let mut body = String::new();
    for side in &file.sides {
        let values: Vec<_> = metrics
            .iter()
            .map(|metric| metric.value(&side.id))
            .collect();
        if values.iter().all(Option::is_none) {
            continue;
        }
        let _ = write!(body, "<tr><th scope=\"row\">{}</th>", escape(&side.label));
        for measured in values {
            let text = measured.map_or_else(|| "–".to_owned(), |measured| value(measured.value));
            let _ = write!(body, "<td class=\"number\">{text}</td>");
        }
        if with_images {
            body.push_str(&image(article, side));
        }
        body.push_str("</tr>\n");
    }
    if body.is_empty() {
        return String::new();
    }
    wrapped(
        title,
        "figures",
        &format!(
            "<caption>{title}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n"
        ),
    )
}

/// The size of a side's image, or why there is none.
fn image(article: &Article, side: &Side) -> String {
    let image = article.images.iter().find(|image| image.side == side.id);
    match image.map(|image| (image.unpacked_mb, &image.missing)) {
        Some((Some(megabytes), _)) => format!("<td class=\"number\">{}</td>", value(megabytes)),
        Some((None, Some(reason))) => format!("<td>{}</td>", escape(reason)),
        _ => "<td class=\"number\">–</td>".to_owned(),
    }
}

/// Each knob held against the reference without it.
fn knobs(whose: &str, file: &ResultFile, article: &Article) -> String {
    let metrics: Vec<_> = KNOB.iter().filter_map(|key| file.metric(key)).collect();
    let mut head = String::from("<th scope=\"col\">Changed</th>");
    for metric in &metrics {
        let _ = write!(head, "<th scope=\"col\">{}</th>", escape(&metric.name));
    }
    let mut body = String::new();
    for knob in &article.knobs {
        let _ = write!(body, "<tr><th scope=\"row\">{}</th>", escape(&knob.title));
        for metric in &metrics {
            let comparison = metric.comparison(&knob.side, &article.reference);
            let text = comparison.map_or_else(|| "–".to_owned(), ratio);
            let _ = write!(body, "<td class=\"number\">{text}</td>");
        }
        body.push_str("</tr>\n");
    }
    let title = format!("The knobs of the port, {whose}");
    wrapped(
        &title,
        "figures",
        &format!(
            "<caption>{title}: the reference with one thing changed ÷ the reference as shipped (95 % interval)</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}</tbody>\n"
        ),
    )
}

/// How the heap was found, in words.
fn heap(search: &HeapSearch) -> String {
    let trials: Vec<String> = search
        .trials
        .iter()
        .map(|trial| {
            let said = match (&trial.refused, trial.p99_ms) {
                (Some(reason), _) => format!("too small, {}", escape(reason)),
                (None, Some(p99_ms)) => format!("{} ms", value(p99_ms)),
                (None, None) => "unknown".to_owned(),
            };
            format!("{} MB: {said}", trial.megabytes)
        })
        .collect();
    let chosen = search.chosen_mb.map_or_else(
        || "None of them keeps to it, so the default stays.".to_owned(),
        |chosen| format!("The right-sized rows have {chosen} MB."),
    );
    format!(
        "<p class=\"results-about\"><strong>The heap:</strong> at {} requests a second the default heap has a p99 of {} ms; a smaller one may have {} ms. Tried: {}. {chosen}</p>\n",
        value(search.rate),
        value(search.usual_p99_ms),
        value(search.goal_p99_ms),
        trials.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::article_table::tests::article;

    #[test]
    fn each_row_stands_where_it_was_measured_and_each_knob_beside_its_ratios() {
        let html = render(Some(&article()), None);
        let saturated = html.split("<caption>Saturated").nth(1).unwrap();
        assert!(
            saturated.contains("axum, tokio-postgres</th><td class=\"number\">40\u{202f}000</td>"),
            "{html}"
        );
        let minute = html
            .split("<caption>Under the article's load")
            .nth(1)
            .unwrap();
        let minute = minute.split("</table>").next().unwrap();
        assert!(
            minute.contains("Kotlin raw JDBC</th><td class=\"number\">120</td>"),
            "{html}"
        );
        assert!(!minute.contains("axum"), "{html}");
        let knob = "no ping</th><td class=\"number\">1.10 <span class=\"interval\">(1.05 to 1.16)</span></td>";
        assert!(html.contains(knob), "{html}");
        assert!(
            html.contains("16 MB: too small, it did not start. The right-sized rows have 24 MB."),
            "{html}"
        );
        assert!(
            !html.contains("\n\n"),
            "an empty line would end the HTML block"
        );
    }

    #[test]
    fn an_image_that_is_missing_has_its_reason() {
        let mut file = article();
        let mut size = file.metrics[0].clone();
        size.key = "size".to_owned();
        file.metrics.push(size);
        let html = render(Some(&file), None);
        assert!(html.contains("<td>no engine</td>"), "{html}");
    }
}
