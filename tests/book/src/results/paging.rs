//! What only the measurement of exercise 7 has: a page by key and by OFFSET.

use crate::results::numbers::grouped;

use crate::results::numbers::value;
use crate::results::table::ratio;
use crate::results::table::wrapped;
use workshop_results::file::Paging;
use workshop_results::file::ResultFile;

/// The table of each file that has timed pages.
pub fn render(reference: Option<&ResultFile>, own: Option<&ResultFile>) -> String {
    [("reference", reference), ("yours", own)]
        .into_iter()
        .filter_map(|(whose, file)| Some(table(whose, file?.paging.as_ref()?)))
        .collect()
}

fn table(whose: &str, paging: &Paging) -> String {
    let title = format!(
        "A page of {} rows of {}, {whose}",
        paging.limit,
        grouped(u64::from(paging.rows))
    );
    let rows: String = paging
        .pages
        .iter()
        .map(|page| {
            format!(
                "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
                grouped(u64::from(page.page)),
                value(page.key_ms),
                value(page.offset_ms),
                ratio(&page.offset_against_key),
                page.repetitions,
            )
        })
        .collect();
    wrapped(
        &title,
        "figures",
        &format!(
            "<caption>{title}</caption>\n<thead><tr><th scope=\"col\">Page</th><th scope=\"col\">By key <span class=\"unit\">(ms, median)</span></th><th scope=\"col\">By OFFSET <span class=\"unit\">(ms, median)</span></th><th scope=\"col\">OFFSET ÷ key <span class=\"unit\">(95 % interval)</span></th><th scope=\"col\">Times each</th></tr></thead>\n<tbody>\n{rows}</tbody>\n"
        ),
    )
}
