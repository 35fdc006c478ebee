//! The form of a debugging case, `diagnosis.toml`: where the fault is, what it is, and what shows that. It is judged line by line, and
//! knows a sentence for each wrong answer.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use toml::{Table, Value};
use workshop_base::cases::{DebugCase, lines_of};
use workshop_harness::failure::Failure;
use workshop_harness::report::{Report, TestStatus};

/// The name of its file.
pub const FILE: &str = "diagnosis.toml";
/// The suite of its tests.
const SUITE: &str = "diagnosis";

/// What can be wrong with a service under load: a name, a description, and what you would see in that case.
const MECHANISMS: [(&str, &str, &str); 14] = [
    (
        "lock-held-while-waiting",
        "a lock is held by code that waits for something else",
        "then threads or tasks would wait for a lock whose holder waits, too",
    ),
    (
        "lock-order",
        "two locks are taken in opposite orders",
        "then two tasks would wait, each for a lock that the other holds",
    ),
    (
        "blocking-in-async",
        "a long calculation or a blocking call keeps a worker busy",
        "then a worker would be inside that call or calculation, and go on when it ends",
    ),
    (
        "unbounded-queue",
        "a queue is filled faster than it is emptied",
        "then the queue's length would grow, and a consumer would lag behind",
    ),
    (
        "task-never-ends",
        "a task carries on when nobody needs its work anymore",
        "then there would be more tasks after each client, all from one line",
    ),
    (
        "cycle-of-arcs",
        "two values keep each other alive by Arc",
        "then memory would grow with values that no task can reach",
    ),
    (
        "cache-never-evicts",
        "a map or a list only ever grows",
        "then one collection would grow with each new key, whether clients stay or go",
    ),
    (
        "connection-not-returned",
        "a connection or a permit isn't given back",
        "then requests would wait for the pool while the database has idle sessions",
    ),
    (
        "cancelled-halfway",
        "a future is dropped between two awaits, and what it had is lost",
        "then something would be taken and never delivered, whenever another event comes in between",
    ),
    (
        "check-then-act",
        "something is read and then changed, and another task comes in between",
        "then two requests over the same row or value would be needed to see it",
    ),
    (
        "stale-copy",
        "a copy is used after the original has changed",
        "then the wrong value would be one that was right before",
    ),
    (
        "slow-query",
        "the database is slow, perhaps because an index is missing",
        "then pg_stat_activity would show an active statement, and EXPLAIN its plan",
    ),
    (
        "retry-storm",
        "each failure causes more requests",
        "then the log would have more attempts than clients have sent requests",
    ),
    (
        "number-wraps",
        "a number overflows and is truncated",
        "then the wrong number would differ by a power of two",
    ),
];

/// The tools to look with, and what each is.
const LOOKS: [(&str, &str); 7] = [
    (
        "threads",
        "a debugger's backtraces, sample, or /proc/PID/task",
    ),
    ("pg_stat_activity", "the sessions of the database"),
    ("explain", "the plan of a statement"),
    ("log", "the service's own log, at any level"),
    ("tasks", "tokio's count of tasks, or tokio-console"),
    ("cpu", "perf, samply, top"),
    ("bytes", "strace, or what the harness says that it sent"),
];

/// The right diagnosis, to compare with.
pub struct Truth<'a> {
    /// The case.
    pub case: &'a DebugCase,
    /// The file at fault, as it was planted and as it is now.
    pub texts: [&'a str; 2],
    /// The values of the last run that count as evidence.
    pub evidence: &'a [String],
}

/// One test of the form: its name, and how it judges.
type FormTest = (&'static str, fn(&Table, &Truth<'_>) -> Result<(), Failure>);

const TESTS: [FormTest; 6] = [
    ("the_form_is_filled_in", is_filled_in),
    ("the_file_is_the_one_at_fault", is_the_file),
    ("the_line_is_in_the_statement_at_fault", is_the_line),
    ("the_mechanism_is_the_one_that_you_saw", is_the_mechanism),
    ("the_evidence_is_of_the_last_run", is_evidence),
    ("a_suspect_is_cleared_by_what_shows_it", is_cleared),
];

/// The names of the tests.
pub fn tests() -> impl Iterator<Item = &'static str> {
    TESTS.iter().map(|(name, _)| *name)
}

/// The empty form of a case.
pub fn empty(case: &DebugCase) -> String {
    let list = |names: &mut dyn Iterator<Item = (&str, &str)>| {
        let lines = names.map(|(name, what)| format!("#   {name}: {what}\n"));
        lines.collect::<String>()
    };
    let mechanisms = list(&mut MECHANISMS.iter().map(|(name, what, _)| (*name, *what)));
    let looks = list(&mut LOOKS.iter().copied());
    let suspects: Vec<&str> = case.suspects.keys().map(String::as_str).collect();
    let (title, evidence, suspects) = (&case.title, &case.evidence, suspects.join(", "));
    format!(
        "# Your diagnosis: {title}. Fill it in before you change any code; just check hunt judges it, line by line.\n\n\
         # The statement at fault: its file, and one of its lines, any of them.\n\
         file = \"?\"\nline = 0\n\n\
         # What is wrong there, by one of these names:\n{mechanisms}mechanism = \"?\"\n\n\
         # A value that only this run has: {evidence}\n\
         evidence = \"?\"\n\n\
         # Who didn't do it, and what shows that. One suspect is enough: {suspects}\n\
         # What shows it is one of these:\n{looks}[cleared]\nsuspect = \"?\"\nby = \"?\"\n"
    )
}

/// Judges a form. Where it isn't TOML, every test fails with the parser's words, line and column.
pub fn judge(form: &str, truth: &Truth<'_>) -> Report {
    let table = form.parse::<Table>().map_err(|error| {
        let expected = format!("{FILE} in TOML: words in quotes, numbers without");
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

/// The faults of a case: its form has to accept the right diagnosis, and refuse each wrong line, mechanism and evidence by that one
/// test, in words of its own. `planted` is the file at fault; `evidence` is of a run.
pub fn faults(case: &DebugCase, planted: &str, evidence: &[String]) -> Vec<String> {
    let line_of = |statement: &str| lines_of(statement, planted).map(|lines| *lines.start());
    let (Some(line), Some(value)) = (line_of(&case.statement), evidence.first()) else {
        return vec![format!(
            "the statement isn't in {}, or no run gives evidence: {evidence:?}",
            case.file
        )];
    };
    let Some((suspect, by)) = case.suspects.iter().next() else {
        return vec!["nobody else is suspected".to_owned()];
    };
    let form = |line: usize, mechanism: &str, value: &str| {
        let (file, by) = (&case.file, by.by.first().cloned().unwrap_or_default());
        format!(
            "file = \"{file}\"\nline = {line}\nmechanism = \"{mechanism}\"\nevidence = \"{value}\"\n\
             [cleared]\nsuspect = \"{suspect}\"\nby = \"{by}\"\n"
        )
    };
    let truth = Truth {
        case,
        texts: [planted, planted],
        evidence,
    };
    let failing = |form: &str| -> Vec<(String, String)> {
        let judged = judge(form, &truth).tests.into_iter();
        let failed = judged.filter_map(|judged| match judged.status {
            TestStatus::Failed { failure, .. } => Some((judged.test, failure.actual)),
            _ => None,
        });
        failed.collect()
    };
    let (mechanism, mut faults, mut words) = (case.mechanism.as_str(), Vec::new(), HashSet::new());
    let right = failing(&form(line, mechanism, value));
    if !right.is_empty() {
        faults.push(format!("the right diagnosis is refused: {right:?}"));
    }
    let mut refused = |what: String, form: String, test: &str| match failing(&form).as_slice() {
        [(failed, said)] if failed == test && words.insert(said.clone()) => {}
        failed => faults.push(format!("{what} is answered by {failed:?}")),
    };
    let mut lines = vec![Some(1)];
    lines.extend(case.near.iter().map(|near| line_of(&near.statement)));
    for wrong in lines {
        let Some(wrong) = wrong else {
            refused(
                "a near miss that isn't in the file".to_owned(),
                String::new(),
                "",
            );
            continue;
        };
        let form = form(wrong, mechanism, value);
        refused(
            format!("line {wrong}"),
            form,
            "the_line_is_in_the_statement_at_fault",
        );
    }
    let names = MECHANISMS.iter().map(|(name, ..)| *name);
    for wrong in names.filter(|name| *name != mechanism) {
        let form = form(line, wrong, value);
        refused(
            wrong.to_owned(),
            form,
            "the_mechanism_is_the_one_that_you_saw",
        );
    }
    let form = form(line, mechanism, "-1");
    refused(
        "wrong evidence".to_owned(),
        form,
        "the_evidence_is_of_the_last_run",
    );
    faults
}

/// A line of the form: a table's name if it is in one, and a key.
pub(super) type Line = (Option<&'static str>, &'static str);

const FILE_LINE: Line = (None, "file");
const NUMBER_LINE: Line = (None, "line");
const MECHANISM_LINE: Line = (None, "mechanism");
const EVIDENCE_LINE: Line = (None, "evidence");
const SUSPECT_LINE: Line = (Some("cleared"), "suspect");
const BY_LINE: Line = (Some("cleared"), "by");
const LINES: [Line; 6] = [
    FILE_LINE,
    NUMBER_LINE,
    MECHANISM_LINE,
    EVIDENCE_LINE,
    SUSPECT_LINE,
    BY_LINE,
];

/// The value of a line, as text: numbers may be in quotes, and ids without them.
pub(super) fn said(form: &Table, (table, key): Line) -> Result<String, Failure> {
    let place = match table {
        Some(table) => form.get(table).and_then(Value::as_table),
        None => Some(form),
    };
    let name = table.map_or_else(|| key.to_owned(), |table| format!("[{table}] {key}"));
    let value = match place.and_then(|place| place.get(key)) {
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(Value::Integer(number)) => number.to_string(),
        Some(other) => {
            let expected = format!("{name} = a word in quotes, or a whole number");
            return Err(Failure::new(expected, format!("{name} = {other}")));
        }
        None => return Err(Failure::new(format!("{name} = …"), format!("no {name}"))),
    };
    match value.as_str() {
        "" | "?" | "0" => {
            let got = format!("{name} is still open");
            Err(Failure::new(format!("{name} = what you found"), got))
        }
        _ => Ok(value),
    }
}

fn is_filled_in(form: &Table, _: &Truth<'_>) -> Result<(), Failure> {
    LINES
        .into_iter()
        .try_for_each(|line| said(form, line).map(drop))
}

fn is_the_file(form: &Table, truth: &Truth<'_>) -> Result<(), Failure> {
    let file = said(form, FILE_LINE)?;
    let name = |path: &str| {
        path.trim_start_matches("./")
            .trim_start_matches("src/")
            .to_owned()
    };
    if name(&file) == name(&truth.case.file) {
        return Ok(());
    }
    let expected = "the file of the statement at fault, as in src/read.rs";
    let got = format!(
        "{file}: what you saw begins there or passes through it, or it has nothing to do with it"
    );
    Err(Failure::new(expected, got))
}

fn is_the_line(form: &Table, truth: &Truth<'_>) -> Result<(), Failure> {
    is_the_file(form, truth)?;
    let expected = "a line of the statement at fault";
    let number = said(form, NUMBER_LINE)?;
    let Ok(line) = number.parse::<usize>() else {
        return Err(Failure::new(expected, format!("line = {number}")));
    };
    let is_in = |statement: &str| {
        let ranges = truth.texts.iter().map(|text| lines_of(statement, text));
        ranges
            .flatten()
            .any(|range: RangeInclusive<usize>| range.contains(&line))
    };
    if is_in(&truth.case.statement) {
        return Ok(());
    }
    let near = truth.case.near.iter().find(|near| is_in(&near.statement));
    let [_, now] = truth.texts;
    let text = now.lines().nth(line - 1).map(str::trim);
    let got = match (near, text) {
        (Some(near), _) => format!("line {line}: {}", near.says),
        (None, Some("")) => format!("line {line}, which is empty"),
        (None, Some(text)) => format!("line {line}, `{text}`: that line is right"),
        (None, None) => format!("line {line}, and the file is shorter"),
    };
    Err(Failure::new(expected, got))
}

fn is_the_mechanism(form: &Table, truth: &Truth<'_>) -> Result<(), Failure> {
    let said = said(form, MECHANISM_LINE)?;
    if said == truth.case.mechanism {
        return Ok(());
    }
    match MECHANISMS.iter().find(|(name, ..)| *name == said) {
        Some((name, _, shows)) => {
            let expected = "the mechanism that fits all that you saw";
            Err(Failure::new(expected, format!("{name}: {shows}")))
        }
        None => {
            let expected = "one of the fourteen names above mechanism in the form";
            Err(Failure::new(expected, said))
        }
    }
}

fn is_evidence(form: &Table, truth: &Truth<'_>) -> Result<(), Failure> {
    let said = said(form, EVIDENCE_LINE)?;
    let expected = format!("of the last run: {}", truth.case.evidence);
    if truth.evidence.is_empty() {
        let got = "no run so far: just run hunt plays what happened, and leaves the service for you to look at";
        return Err(Failure::new(expected, got));
    }
    if truth.evidence.contains(&said) {
        return Ok(());
    }
    let got = format!("{said}, which that run doesn't have; each run has values of its own");
    Err(Failure::new(expected, got))
}

fn is_cleared(form: &Table, truth: &Truth<'_>) -> Result<(), Failure> {
    let (suspect, by) = (said(form, SUSPECT_LINE)?, said(form, BY_LINE)?);
    let suspects = &truth.case.suspects;
    let Some(known) = suspects.get(&suspect) else {
        let names: Vec<&str> = suspects.keys().map(String::as_str).collect();
        let expected = format!("a suspect of this case: {}", names.join(", "));
        return Err(Failure::new(expected, suspect));
    };
    if known.by.contains(&by) {
        return Ok(());
    }
    if LOOKS.iter().any(|(name, _)| *name == by) {
        let expected = format!("what shows that {suspect} didn't do it");
        let got = format!("{by}: there, you see nothing that clears {suspect}");
        return Err(Failure::new(expected, got));
    }
    let names: Vec<&str> = LOOKS.iter().map(|(name, _)| *name).collect();
    Err(Failure::new(
        format!("by = one of: {}", names.join(", ")),
        by,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLANTED: &str = "fn note() {\n    let x = lock();\n    wait(\n        x,\n    );\n}\n";
    const FILLED: &str = "file = \"src/seen.rs\"\nline = 4\nmechanism = \"lock-held-while-waiting\"\nevidence = 4711\n\
                          [cleared]\nsuspect = \"database\"\nby = \"pg_stat_activity\"\n";

    fn case() -> DebugCase {
        toml::from_str(
            r#"
            title = "It hangs"
            symptoms = "…"
            minutes = { reading = 1, doing = 1, reviewing = 1 }
            red = []
            file = "src/seen.rs"
            statement = "wait(\nx,\n);"
            near = [{ statement = "let x = lock();", says = "that one waits" }]
            mechanism = "lock-held-while-waiting"
            evidence = "the id of a thread"
            answer = "…"
            ask = "…"
            [suspects.database]
            by = ["pg_stat_activity"]
            why = "it has answered"
            "#,
        )
        .unwrap()
    }

    /// The tests that a form fails, each with what it says to it.
    fn failing(form: &str, evidence: &[&str]) -> Vec<(String, String)> {
        let evidence: Vec<String> = evidence.iter().map(|value| (*value).to_owned()).collect();
        let case = case();
        let moved = PLANTED.replace("fn note", "// mine\nfn note");
        let truth = Truth {
            case: &case,
            texts: [PLANTED, &moved],
            evidence: &evidence,
        };
        let judged = judge(form, &truth).tests.into_iter();
        let failed = judged.filter_map(|judged| match judged.status {
            TestStatus::Failed { failure, .. } => Some((judged.test, failure.actual)),
            _ => None,
        });
        failed.collect()
    }

    #[test]
    fn the_right_diagnosis_is_accepted_and_any_line_of_the_statement_is() {
        for line in ["= 3", "= 4", "= 5", "= 6", "= \"5\""] {
            let form = FILLED.replace("= 4\n", &format!("{line}\n"));
            assert_eq!(failing(&form, &["12", "4711"]), [], "{line}");
        }
    }

    #[test]
    fn each_wrong_answer_fails_its_own_test_in_words_of_its_own() {
        let slips = [
            (
                "src/seen.rs",
                "src/read.rs",
                "the_file_is_the_one_at_fault",
                "src/read.rs",
            ),
            (
                "line = 4",
                "line = 2",
                "the_line_is_in_the_statement_at_fault",
                "that one waits",
            ),
            (
                "line = 4",
                "line = 1",
                "the_line_is_in_the_statement_at_fault",
                "// mine",
            ),
            (
                "line = 4",
                "line = 400",
                "the_line_is_in_the_statement_at_fault",
                "shorter",
            ),
            (
                "lock-held-while-waiting",
                "slow-query",
                "the_mechanism_is_the_one_that_you_saw",
                "EXPLAIN",
            ),
            (
                "lock-held-while-waiting",
                "deadlock",
                "the_mechanism_is_the_one_that_you_saw",
                "deadlock",
            ),
            ("4711", "4712", "the_evidence_is_of_the_last_run", "4712"),
            (
                "\"database\"",
                "\"network\"",
                "a_suspect_is_cleared_by_what_shows_it",
                "network",
            ),
            (
                "pg_stat_activity",
                "cpu",
                "a_suspect_is_cleared_by_what_shows_it",
                "clears database",
            ),
        ];
        for (right, wrong, test, words) in slips {
            let failed = failing(&FILLED.replace(right, wrong), &["4711"]);
            let names: Vec<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
            assert!(
                names.contains(&test) && failed.len() <= 2,
                "{wrong}: {failed:?}"
            );
            assert!(
                failed.iter().any(|(_, said)| said.contains(words)),
                "{failed:?}"
            );
        }
    }

    #[test]
    fn an_empty_form_fails_every_test_and_a_run_is_asked_for() {
        let names: Vec<&str> = tests().collect();
        let failed = failing(&empty(&case()), &["4711"]);
        let failed: Vec<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(failed, names);
        let failed = failing(FILLED, &[]);
        assert!(
            failed.len() == 1 && failed[0].1.contains("just run hunt"),
            "{failed:?}"
        );
    }

    #[test]
    fn a_form_that_is_no_toml_fails_every_test_with_the_place() {
        for form in ["file = src/seen.rs", "[cleared\n", "line = 1\nline = 2"] {
            let failed = failing(form, &["4711"]);
            assert_eq!(failed.len(), TESTS.len(), "{form}");
            assert!(
                failed.iter().all(|(_, said)| said.contains("line ")),
                "{failed:?}"
            );
        }
        let failed = failing("cleared = 3\nline = [1]", &["4711"]);
        assert_eq!(failed.len(), TESTS.len(), "{failed:?}");
    }
}
