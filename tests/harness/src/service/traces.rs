//! Traces and metrics as text: the tree of a trace's spans with a bar for each, and what the metrics said over time.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::otlp::{Kind, Series, Span, Value};

/// How many characters the longest bar of a trace has.
const BAR: f64 = 40.0;
/// So many spans of a trace have a line of their own.
const LINES: usize = 14;
/// Attributes that every line has in its name already, or that the trace's own line has.
const SAID: [&str; 7] = [
    "http.request.method",
    "http.route",
    "db.query.summary",
    "db.system.name",
    "url.scheme",
    "request_id",
    "trace_id",
];

/// A request, with all spans below it.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// The span of the request.
    pub root: Span,
    /// The others, by their begin.
    pub below: Vec<Span>,
}

/// The requests among these spans, by their begin.
pub fn traces(spans: &[Span]) -> Vec<Trace> {
    let mut by_trace: BTreeMap<&str, Vec<&Span>> = BTreeMap::new();
    for span in spans {
        by_trace.entry(&span.trace).or_default().push(span);
    }
    let traces = by_trace.into_values().filter_map(|mut spans| {
        spans.sort_by_key(|span| span.start);
        let root = spans.iter().position(|span| span.kind == Kind::Server)?;
        let root = spans.remove(root).clone();
        let below = spans.into_iter().cloned().collect();
        Some(Trace { root, below })
    });
    let mut traces: Vec<Trace> = traces.collect();
    traces.sort_by_key(|trace| trace.root.start);
    traces
}

/// How long a span took, in milliseconds.
pub fn milliseconds(span: &Span) -> f64 {
    span.end.saturating_sub(span.start) as f64 / 1e6
}

impl Trace {
    /// Its id, and a line per span: when it began, its bar, its name below that of its parent, and how long it took.
    pub fn drawn(&self) -> String {
        let mut text = format!("trace {}\n", self.root.trace);
        self.draw(&mut text, &self.root, 0);
        let mut drawn = 1;
        self.draw_below(&mut text, &self.root.id, 1, &mut drawn);
        let mut others: BTreeMap<&str, (usize, f64)> = BTreeMap::new();
        for span in self.below.iter().skip(LINES - 1) {
            let (count, all) = others.entry(&span.name).or_default();
            *count += 1;
            *all += milliseconds(span);
        }
        for (name, (count, all)) in others {
            let _ = writeln!(text, "  … and {count} more {name}, {all:.1} ms in all");
        }
        text
    }

    fn draw_below(&self, text: &mut String, parent: &str, depth: usize, drawn: &mut usize) {
        for span in self.below.iter().filter(|span| span.parent == parent) {
            if *drawn >= LINES {
                return;
            }
            *drawn += 1;
            self.draw(text, span, depth);
            self.draw_below(text, &span.id, depth + 1, drawn);
        }
    }

    fn draw(&self, text: &mut String, span: &Span, depth: usize) {
        let begun = span.start.saturating_sub(self.root.start) as f64 / 1e6;
        let scale = BAR / milliseconds(&self.root).max(0.001);
        let before = ((begun * scale) as usize).min(BAR as usize - 1);
        let length =
            ((milliseconds(span) * scale).round() as usize).clamp(1, BAR as usize - before);
        let bar = format!("{}{}", " ".repeat(before), "#".repeat(length));
        let name = format!("{}{}", "  ".repeat(depth), span.name);
        let (width, took) = (BAR as usize, milliseconds(span));
        let _ = write!(
            text,
            "{begun:8.1} ms |{bar:width$}| {name:26} {took:8.1} ms"
        );
        let attributes = span.attributes.iter();
        for (name, value) in attributes.filter(|(name, _)| !SAID.contains(&name.as_str())) {
            let _ = write!(text, "  {name}={}", without_quotes(value));
        }
        text.push('\n');
    }
}

fn without_quotes(value: &Value) -> String {
    value
        .text()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// For each route and each span in it: how many there were, their median, and the slowest.
pub fn by_span(traces: &[Trace]) -> String {
    let mut durations: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for trace in traces {
        for span in std::iter::once(&trace.root).chain(&trace.below) {
            let of_span = durations.entry((&trace.root.name, &span.name)).or_default();
            of_span.push(milliseconds(span));
        }
    }
    let mut text = format!(
        "{:20} {:20} {:>7} {:>10} {:>10}\n",
        "request", "span", "spans", "median", "slowest"
    );
    for ((route, span), mut durations) in durations {
        durations.sort_by(f64::total_cmp);
        let median = durations[durations.len() / 2];
        let slowest = durations.last().copied().unwrap_or_default();
        let count = durations.len();
        let _ = writeln!(
            text,
            "{route:20} {span:20} {count:7} {median:7.1} ms {slowest:7.1} ms"
        );
    }
    text
}

/// What the metrics said at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Seconds since the beginning.
    pub at: f64,
    /// By route, how many requests have been answered so far, and for how many seconds in all.
    pub routes: BTreeMap<String, (u64, f64)>,
    /// Connections in use, connections there may be, and requests that wait for one.
    pub pool: [f64; 3],
}

impl Tick {
    /// What these series say.
    pub fn of(at: f64, series: &[Series]) -> Tick {
        let mut tick = Tick {
            at,
            routes: BTreeMap::new(),
            pool: [0.0; 3],
        };
        let used = Value::from("used");
        for one in series {
            let is_used = one.attributes.get("db.client.connection.state") == Some(&used);
            let route = one.attributes.get("http.route").and_then(Value::text);
            match (one.metric.as_str(), route) {
                ("http.server.request.duration", Some(route)) => {
                    let (count, seconds) = tick.routes.entry(route.to_owned()).or_default();
                    *count += one.count;
                    *seconds += one.value;
                }
                ("db.client.connection.count", _) if is_used => tick.pool[0] += one.value,
                ("db.client.connection.max", _) => tick.pool[1] += one.value,
                ("db.client.connection.pending_requests", _) => tick.pool[2] += one.value,
                _ => {}
            }
        }
        tick
    }
}

/// A line per tick but the first: by route the requests per second and how long they took, and the pool, drawn as a line of its
/// connections in use (`#`), free (`.`), and of the requests that wait (`w`).
pub fn over_time(ticks: &[Tick], routes: &[&str]) -> String {
    let mut text = format!("{:>7}", "seconds");
    for route in routes {
        let _ = write!(text, " | {route:>22}");
    }
    text.push_str(" | connections\n");
    for pair in ticks.windows(2) {
        let [before, now] = pair else { continue };
        let _ = write!(text, "{:7.1}", now.at);
        for route in routes {
            let of = |tick: &Tick| tick.routes.get(*route).copied().unwrap_or_default();
            let ((count, seconds), (old_count, old_seconds)) = (of(now), of(before));
            let answered = count.saturating_sub(old_count) as f64;
            let rate = answered / (now.at - before.at).max(0.001);
            let mean = (seconds - old_seconds) * 1000.0 / answered.max(1.0);
            let _ = write!(text, " | {rate:6.0}/s {mean:9.1} ms");
        }
        let [used, most, waiting] = now.pool.map(|count| count as usize);
        let (used_bar, free) = ("#".repeat(used), ".".repeat(most.saturating_sub(used)));
        let waits = "w".repeat(waiting.min(30));
        let _ = writeln!(text, " | {used_bar}{free} {waits}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(id: &str, parent: &str, name: &str, (start, end): (u64, u64)) -> Span {
        Span {
            trace: "aa".to_owned(),
            id: id.to_owned(),
            parent: parent.to_owned(),
            name: name.to_owned(),
            kind: match parent {
                "" => Kind::Server,
                _ => Kind::Client,
            },
            start: start * 1_000_000,
            end: end * 1_000_000,
            ..Span::default()
        }
    }

    #[test]
    fn a_trace_is_drawn_as_a_tree_with_bars_where_the_time_went() {
        let spans = [
            span("3", "1", "SELECT records", (90, 100)),
            span("1", "", "GET /read/{id}", (0, 100)),
            span("2", "1", "pool.acquire", (0, 90)),
            span("9", "8", "of a request that has not ended", (0, 1)),
        ];
        let mut spans = spans.to_vec();
        spans[3].trace = "bb".to_owned();
        let traces = traces(&spans);
        assert_eq!(traces.len(), 1, "a trace without its request is left out");
        let drawn = traces[0].drawn();
        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines.len(), 4, "{drawn}");
        assert!(
            lines[2].contains("  pool.acquire") && lines[2].contains("90.0 ms"),
            "{drawn}"
        );
        assert_eq!(lines[2].matches('#').count(), 36, "{drawn}");
        assert_eq!(
            lines[3].find('#'),
            lines[2].rfind('#').map(|last| last + 1),
            "{drawn}"
        );
    }

    #[test]
    fn many_spans_of_a_kind_are_counted_and_not_drawn() {
        let mut spans = vec![span("1", "", "GET /records", (0, 100))];
        spans.extend((2..52).map(|id| span(&id.to_string(), "1", "SELECT records", (id, id + 1))));
        let drawn = traces(&spans)[0].drawn();
        assert!(
            drawn.contains("… and 37 more SELECT records, 37.0 ms in all"),
            "{drawn}"
        );
        assert_eq!(drawn.lines().count(), 2 + LINES, "{drawn}");
    }

    #[test]
    fn what_metrics_say_over_time_is_their_growth() {
        let tick = |at: f64, count: u64| Tick {
            at,
            routes: BTreeMap::from([("/read/{id}".to_owned(), (count, count as f64 * 0.01))]),
            pool: [3.0, 4.0, 2.0],
        };
        let told = over_time(&[tick(0.0, 100), tick(0.5, 150)], &["/read/{id}"]);
        assert!(told.contains("100/s      10.0 ms | ###. ww"), "{told}");
        assert_eq!(told.lines().count(), 2, "{told}");
    }
}
