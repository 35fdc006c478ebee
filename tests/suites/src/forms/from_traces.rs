//! The form of an incident that is solved from traces alone: the span whose work is the cause, what is wrong, and a trace that shows it.
//! It is judged line by line, and knows a sentence for each wrong answer.

use std::collections::HashSet;

use toml::Table;
use workshop_base::incidents::Incident;
use workshop_harness::failure::Failure;
use workshop_harness::report::{Report, TestStatus};

use super::diagnosis::{FILE, Line, said};

/// The suite of its tests.
const SUITE: &str = "diagnosis";
/// This much of a trace's id is enough.
const FEWEST_DIGITS: usize = 8;

/// What can be wrong with a service under load: a name, a description, and what traces and metrics would show in that case.
const MECHANISMS: [(&str, &str, &str); 9] = [
    (
        "connection-held-while-calling",
        "a connection of the pool is kept while another service is asked",
        "then all connections would be in use while the database has next to nothing to do",
    ),
    (
        "one-at-a-time",
        "calls that could run side by side wait for each other",
        "then of two traces at the same time, one call would begin when the other has ended, with nothing in between",
    ),
    (
        "query-per-row",
        "a query for each row, where one could ask for all",
        "then one request would have as many queries as its answer has rows",
    ),
    (
        "slow-query",
        "a query is slow in the database, perhaps because an index is missing",
        "then the span of a query would be long by itself",
    ),
    (
        "slow-supplier",
        "another service takes longer than it says",
        "then the span of the call would be as long as the whole request",
    ),
    (
        "pool-too-small",
        "there are fewer connections than the queries need",
        "then the queries' own time, times their rate, would come near the number of connections",
    ),
    (
        "retry-storm",
        "each failure causes more calls",
        "then one request would have several calls, most of them with an error",
    ),
    (
        "connection-not-returned",
        "connections leak until none is left",
        "then the number in use would only ever grow, also when the load is gone",
    ),
    (
        "busy-machine",
        "the service gets no CPU, or blocks its own threads",
        "then every span would be longer than usual, also those in which nothing is waited for",
    ),
];

/// What a diagnosis is compared with.
pub struct Truth<'a> {
    /// The incident.
    pub incident: &'a Incident,
    /// The traces of the last run that show it, by their ids.
    pub showing: &'a [String],
}

/// One test of the form: its name, and how it judges.
type FormTest = (&'static str, fn(&Table, &Truth<'_>) -> Result<(), Failure>);

const TESTS: [FormTest; 4] = [
    ("every_line_is_filled_in", is_filled_in),
    ("the_span_is_the_one_whose_work_is_the_cause", is_the_span),
    (
        "the_mechanism_is_the_one_that_the_traces_show",
        is_the_mechanism,
    ),
    ("the_trace_is_one_of_the_last_run_that_shows_it", is_a_trace),
];

const SPAN: Line = (None, "span");
const MECHANISM: Line = (None, "mechanism");
const TRACE: Line = (None, "trace");

/// The names of the tests.
pub fn tests() -> impl Iterator<Item = &'static str> {
    TESTS.iter().map(|(name, _)| *name)
}

/// The empty form of an incident.
pub fn empty(incident: &Incident) -> String {
    let mechanisms = MECHANISMS.iter();
    let mechanisms = mechanisms.map(|(name, what, _)| format!("#   {name}: {what}\n"));
    let (title, mechanisms) = (&incident.title, mechanisms.collect::<String>());
    format!(
        "# Your diagnosis: {title}. just check hunt judges it, line by line.\n\n\
         # The span whose work is the cause, by its name as in the traces. It may be in another request than those that suffer.\n\
         span = \"?\"\n\n\
         # What is wrong, by one of these names:\n{mechanisms}mechanism = \"?\"\n\n\
         # A trace of the last run in which it shows: its id, or the first {FEWEST_DIGITS} digits of that.\n\
         trace = \"?\"\n"
    )
}

/// Judges a form. Where it isn't TOML, every test fails with the parser's words, line and column.
pub fn judge(form: &str, truth: &Truth<'_>) -> Report {
    let table = form.parse::<Table>().map_err(|error| {
        let expected = format!("{FILE} in TOML: words in quotes");
        Failure::new(expected, error.to_string())
    });
    let mut report = Report::new(FILE);
    for (name, test) in TESTS {
        let judged = table.as_ref().map_err(Clone::clone);
        let status = match judged.and_then(|table| test(table, truth)) {
            Ok(()) => TestStatus::Passed,
            Err(failure) => TestStatus::Failed {
                failure,
                log: String::new(),
            },
        };
        report.add(SUITE, name, status);
    }
    report
}

fn is_filled_in(form: &Table, _: &Truth<'_>) -> Result<(), Failure> {
    let mut lines = [SPAN, MECHANISM, TRACE].into_iter();
    lines.try_for_each(|line| said(form, line).map(drop))
}

fn is_the_span(form: &Table, truth: &Truth<'_>) -> Result<(), Failure> {
    let span = said(form, SPAN)?;
    if span == truth.incident.span {
        return Ok(());
    }
    let got = match truth.incident.near.get(&span) {
        Some(says) => format!("{span}: {says}"),
        None => format!("{span}, which no trace of that run has"),
    };
    Err(Failure::new("the span whose work is the cause", got))
}

fn is_the_mechanism(form: &Table, truth: &Truth<'_>) -> Result<(), Failure> {
    let said = said(form, MECHANISM)?;
    if said == truth.incident.mechanism {
        return Ok(());
    }
    match MECHANISMS.iter().find(|(name, ..)| *name == said) {
        Some((name, _, shows)) => {
            let expected = "the mechanism that fits all that you saw";
            Err(Failure::new(expected, format!("{name}: {shows}")))
        }
        None => {
            let expected = "one of the names above mechanism in the form";
            Err(Failure::new(expected, said))
        }
    }
}

fn is_a_trace(form: &Table, truth: &Truth<'_>) -> Result<(), Failure> {
    let trace = said(form, TRACE)?.to_ascii_lowercase();
    let expected = format!("a trace in which it shows, by {FEWEST_DIGITS} digits or more");
    if truth.showing.is_empty() {
        let got = "no run so far: just run hunt plays what happened";
        return Err(Failure::new(expected, got));
    }
    let mut showing = truth.showing.iter();
    if trace.len() >= FEWEST_DIGITS && showing.any(|id| id.starts_with(&trace)) {
        return Ok(());
    }
    let got = format!("{trace}: not of that run, or as it should be");
    Err(Failure::new(expected, got))
}

/// The faults of an incident: its form has to accept the right diagnosis, and refuse each wrong line by that one test, in words of its
/// own. `showing` and `healthy` are of a run, traces that show the fault and others.
pub fn faults(incident: &Incident, showing: &[String], healthy: &str) -> Vec<String> {
    let Some(trace) = showing.first() else {
        return vec!["no trace of a run shows it".to_owned()];
    };
    let (span, mechanism) = (incident.span.as_str(), incident.mechanism.as_str());
    let truth = Truth { incident, showing };
    let failing = |span: &str, mechanism: &str, trace: &str| -> Vec<(String, String)> {
        let form = format!("span = \"{span}\"\nmechanism = \"{mechanism}\"\ntrace = \"{trace}\"\n");
        let judged = judge(&form, &truth).tests.into_iter();
        let failed = judged.filter_map(|judged| match judged.status {
            TestStatus::Failed { failure, .. } => Some((judged.test, failure.actual)),
            _ => None,
        });
        failed.collect()
    };
    let mut faults = Vec::new();
    for trace in [trace, &trace[..FEWEST_DIGITS]] {
        let right = failing(span, mechanism, trace);
        if !right.is_empty() {
            faults.push(format!("the right diagnosis is refused: {right:?}"));
        }
    }
    let mut words = HashSet::new();
    let mut refused = |wrong: &str, failed: Vec<(String, String)>, test: &str| match &failed[..] {
        [(failed, said)] if failed == test && words.insert(said.clone()) => {}
        failed => faults.push(format!("{wrong} is answered by {failed:?}")),
    };
    let [_, of_span, of_mechanism, of_trace] = TESTS.map(|(name, _)| name);
    for wrong in incident
        .near
        .keys()
        .map(String::as_str)
        .chain(["GET /nothing"])
    {
        refused(wrong, failing(wrong, mechanism, trace), of_span);
    }
    let names = MECHANISMS.iter().map(|(name, ..)| *name);
    for wrong in names.filter(|name| *name != mechanism).chain(["something"]) {
        refused(wrong, failing(span, wrong, trace), of_mechanism);
    }
    for wrong in [healthy, &trace[..FEWEST_DIGITS - 1]] {
        refused(wrong, failing(span, mechanism, wrong), of_trace);
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn incident() -> Incident {
        toml::from_str(
            r#"
            title = "reads wait"
            symptoms = "…"
            span = "GET /prices/{id}"
            mechanism = "connection-held-while-calling"
            answer = "…"
            ask = "…"
            [near]
            "pool.acquire" = "there they wait: for whom?"
            "#,
        )
        .unwrap()
    }

    fn failing(form: &str, showing: &[String]) -> Vec<String> {
        let incident = incident();
        let truth = Truth {
            incident: &incident,
            showing,
        };
        judge(form, &truth).failed()
    }

    #[test]
    fn right_and_wrong_answers_are_told_apart_line_by_line() {
        let showing = ["0123456789abcdef".to_owned()];
        assert_eq!(faults(&incident(), &showing, "fedcba9876543210"), [""; 0]);
        // One that accepts what isn't so is noticed.
        let found = faults(&incident(), &showing, "0123456789abcdef");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(faults(&incident(), &[], "fedcba9876543210").len(), 1);
    }

    #[test]
    fn an_empty_form_fails_every_test_and_so_does_one_that_is_no_toml() {
        let names: Vec<&str> = tests().collect();
        assert_eq!(failing(&empty(&incident()), &["aa".to_owned()]), names);
        assert_eq!(failing("span = GET", &["aa".to_owned()]), names);
    }
}
