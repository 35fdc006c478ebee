//! What only the measurements of exercises 10 and 11 have: calls of Rust inside of the JVM, by size, beside the same in Kotlin.

use crate::results::numbers::grouped;

use crate::html::escape;
use crate::results::numbers::value;
use crate::results::table::ratio;
use crate::results::table::wrapped;
use workshop_results::file::CallTimes;
use workshop_results::file::ResultFile;

/// The table of each file that has timed calls.
pub fn render(reference: Option<&ResultFile>, own: Option<&ResultFile>) -> String {
    [("reference", reference), ("yours", own)]
        .into_iter()
        .filter_map(|(whose, file)| Some((whose, file?.calls.as_ref()?)))
        .map(|(whose, calls)| table(whose, calls))
        .collect()
}

fn table(whose: &str, calls: &CallTimes) -> String {
    let rows: String = calls
        .calls
        .iter()
        .map(|call| {
            let interpreted = call.interpreted_us.map_or_else(String::new, |microseconds| {
                format!(
                    "<tr><th scope=\"row\">the same, interpreted</th><td class=\"number\">–</td><td class=\"number\">{}</td><td class=\"number\">–</td></tr>\n",
                    value(microseconds)
                )
            });
            format!(
                "<tr><th scope=\"row\">A {} of {} bytes</th><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n{interpreted}",
                escape(&call.call),
                grouped(call.bytes as u64),
                value(call.kotlin_us),
                value(call.rust_us),
                ratio(&call.rust_against_kotlin)
            )
        })
        .collect();
    let title = format!("A call inside of the JVM, {whose}, in µs");
    wrapped(
        &title,
        "figures",
        &format!(
            "<caption>{title}</caption>\n<thead><tr><td></td><th scope=\"col\">Kotlin</th><th scope=\"col\">Rust</th><th scope=\"col\">Rust ÷ Kotlin <span class=\"unit\">(95 % interval)</span></th></tr></thead>\n<tbody>\n{rows}</tbody>\n"
        ),
    )
}
