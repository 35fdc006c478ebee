//! `{{#profile}}`: what one read costs, counted in calls and instructions, from the ceiling to the port.

use serde::Deserialize;

use crate::fault::Problem;
use crate::html::block;
use crate::html::escape;
use crate::results::committed;
use crate::results::numbers::grouped;
use crate::results::numbers::value;
use crate::results::table::wrapped;
use workshop_base::workspace::Workspace;

/// The committed counts, in the folder of the reference results.
const FILE: &str = "read-profile.toml";

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    machine: String,
    taken_at: String,
    tools: String,
    read: Vec<Read>,
}

/// What a read of one service costs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    what: String,
    round_trips: u32,
    system_calls: f64,
    allocations: f64,
    /// In user mode, those of the next three included.
    instructions: u64,
    copying: u64,
    allocator: u64,
    hashing: u64,
    /// CPU time as a multiple of the ceiling's in the same trial; none where there was no trial.
    cpu_to_ceiling: Option<f64>,
}

/// The table.
///
/// # Errors
/// When the committed file cannot be read.
pub fn render(workspace: &Workspace) -> Result<String, Problem> {
    let profile: Profile = committed(workspace, FILE, "the profile of a read")?;
    Ok(block(&table(&profile)))
}

fn table(profile: &Profile) -> String {
    let rows: String = profile.read.iter().map(row).collect();
    let title = "One read, from the ceiling to the port";
    format!(
        "<section class=\"results\" aria-label=\"{title}\">\n<p class=\"results-about\"><strong>Counted:</strong> {}, {}. {}.</p>\n{}</section>",
        escape(&profile.machine),
        escape(&profile.taken_at),
        escape(&profile.tools),
        wrapped(
            title,
            "figures",
            &format!(
                "<caption>{title}</caption>\n<thead><tr><td></td><th scope=\"col\">Round trips</th><th scope=\"col\">System calls</th><th scope=\"col\">Allocations</th><th scope=\"col\">Instructions</th><th scope=\"col\">for copying</th><th scope=\"col\">for the allocator</th><th scope=\"col\">for hashing</th><th scope=\"col\">CPU ÷ ceiling</th></tr></thead>\n<tbody>\n{rows}</tbody>\n"
            )
        )
    )
}

fn row(read: &Read) -> String {
    let cpu = read.cpu_to_ceiling.map_or_else(|| "–".to_owned(), value);
    let cells = [
        read.round_trips.to_string(),
        value(read.system_calls),
        value(read.allocations),
        grouped(read.instructions),
        grouped(read.copying),
        grouped(read.allocator),
        grouped(read.hashing),
        cpu,
    ];
    let cells: String = cells
        .iter()
        .map(|cell| format!("<td class=\"number\">{cell}</td>"))
        .collect();
    format!(
        "<tr><th scope=\"row\">{}</th>{cells}</tr>\n",
        escape(&read.what)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_profile_begins_with_the_ceiling_and_no_read_costs_less() {
        let checkout = Workspace::at(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let text = std::fs::read_to_string(checkout.reference_results().join(FILE)).unwrap();
        let profile: Profile = toml::from_str(&text).unwrap();
        let ceiling = &profile.read[0];
        assert!(ceiling.what.contains("the ceiling"));
        for read in &profile.read {
            assert!(read.instructions >= ceiling.instructions, "{}", read.what);
            let parts = read.copying + read.allocator + read.hashing;
            assert!(parts < read.instructions, "{}", read.what);
        }
        assert!(render(&checkout).unwrap().contains("37\u{202f}608"));
    }
}
