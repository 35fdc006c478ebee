//! What only the measurement of exercise 4 has: Rust held against Rust, with the guard and without it, and the run that the
//! load generator takes for a success.

use crate::html::escape;
use crate::results::knob;
use crate::results::numbers::grouped;
use crate::results::numbers::value;
use crate::results::table::wrapped;
use workshop_results::file::KeyRun;
use workshop_results::file::Language;
use workshop_results::file::ResultFile;
use workshop_results::file::Side;
use workshop_results::file::Task;
use workshop_results::file::WrongKey;

/// The price of the guard, of each file that has measured it.
pub fn price(reference: Option<&ResultFile>, own: Option<&ResultFile>) -> String {
    files(reference, own)
        .filter(|(_, file)| file.task == Task::Guard)
        .filter_map(|(whose, file)| Some((whose, file, sides(file)?)))
        .map(|(whose, file, sides)| table(whose, file, sides))
        .collect()
}

/// The runs with a right and a wrong key, of each file that has them.
pub fn wrong_key(reference: Option<&ResultFile>, own: Option<&ResultFile>) -> String {
    files(reference, own)
        .filter_map(|(whose, file)| Some((whose, file.wrong_key.as_ref()?)))
        .map(|(whose, runs)| demonstration(whose, runs))
        .collect()
}

fn files<'a>(
    reference: Option<&'a ResultFile>,
    own: Option<&'a ResultFile>,
) -> impl Iterator<Item = (&'static str, &'a ResultFile)> {
    [("Reference", reference), ("Yours", own)]
        .into_iter()
        .filter_map(|(whose, file)| Some((whose, file?)))
}

/// The two Rust sides, the guarded one first.
fn sides(file: &ResultFile) -> Option<(&Side, &Side)> {
    let mut rust = file
        .sides
        .iter()
        .filter(|side| side.language == Language::Rust);
    rust.next().zip(rust.next())
}

fn table(whose: &str, file: &ResultFile, (side, against): (&Side, &Side)) -> String {
    let pairs = file
        .metrics
        .iter()
        .filter(|metric| metric.headline)
        .filter_map(|metric| Some((metric, metric.comparison(&side.id, &against.id)?)));
    let title = format!("The price of the guard, {}", whose.to_lowercase());
    knob::table(&title, side, against, pairs)
}

fn demonstration(whose: &str, runs: &WrongKey) -> String {
    let whose = whose.to_lowercase();
    let row = |name: &str, cell: &dyn Fn(&KeyRun) -> String| {
        format!(
            "<tr><th scope=\"row\">{name}</th><td>{}</td><td>{}</td></tr>\n",
            cell(&runs.right),
            cell(&runs.wrong)
        )
    };
    let rows = [
        row("Answers a second", &|run| value(run.rate)),
        row("Successes, as oha counts", &|run| {
            run.success.map_or_else(
                || "–".to_owned(),
                |share| format!("{} %", value(share * 100.0)),
            )
        }),
        row("Answers by status", &|run| {
            let counts = run
                .statuses
                .iter()
                .map(|(status, count)| format!("{}: {}", escape(status), grouped(*count)));
            counts.collect::<Vec<_>>().join(", ")
        }),
        row("The gate", &|run| match &run.refused {
            Some(reason) => format!("refused: {}", escape(reason)),
            None => "passed".to_owned(),
        }),
    ];
    wrapped(
        &format!("The same load with a right and a wrong key, {whose}"),
        "figures",
        &format!(
            "<caption>The same load with a right and a wrong key, {} s each, {whose}</caption>\n<thead><tr><td></td><th scope=\"col\">Right key</th><th scope=\"col\">Wrong key</th></tr></thead>\n<tbody>\n{}</tbody>\n",
            value(runs.seconds),
            rows.concat()
        ),
    )
}
