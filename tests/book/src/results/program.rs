//! What only the measurement of exercise 9 has: the program by itself, beside one that does nothing.

use crate::results::numbers::grouped;

use crate::html::escape;
use crate::results::numbers::value;
use crate::results::table::ratio;
use crate::results::table::wrapped;
use workshop_results::file::ProgramTime;
use workshop_results::file::ProgramTimes;
use workshop_results::file::ResultFile;

/// The table of each file that has timed a program.
pub fn render(reference: Option<&ResultFile>, own: Option<&ResultFile>) -> String {
    [("reference", reference), ("yours", own)]
        .into_iter()
        .filter_map(|(whose, file)| Some((whose, file?.program.as_ref()?)))
        .map(|(whose, program)| table(whose, program))
        .collect()
}

fn table(whose: &str, program: &ProgramTimes) -> String {
    let mut rows = row("A program that does nothing", &program.nothing, "–", "1");
    for text in &program.texts {
        rows.push_str(&row(
            &format!("A text of {} bytes", text.text_bytes),
            &text.time,
            &grouped(text.image_bytes as u64),
            &ratio(&text.against_nothing),
        ));
    }
    wrapped(
        &format!("The program by itself, {whose}"),
        "figures",
        &format!(
            "<caption>The program by itself, {whose}, by <code>{}</code> in rounds</caption>\n<thead><tr><td></td><th scope=\"col\">From start to end <span class=\"unit\">(ms)</span></th><th scope=\"col\">Image <span class=\"unit\">(bytes)</span></th><th scope=\"col\">÷ nothing <span class=\"unit\">(95 % interval)</span></th></tr></thead>\n<tbody>\n{rows}</tbody>\n",
            escape(&program.command)
        ),
    )
}

fn row(name: &str, time: &ProgramTime, image: &str, ratio: &str) -> String {
    format!(
        "<tr><th scope=\"row\">{name}</th><td class=\"number\">{} <span class=\"interval\">({} to {})</span></td><td class=\"number\">{image}</td><td class=\"number\">{ratio}</td></tr>\n",
        value(time.ms),
        value(time.least_ms),
        value(time.most_ms),
    )
}
