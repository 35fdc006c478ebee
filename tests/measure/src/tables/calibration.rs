//! The measuring compared with itself: what it must say, and whether it does.

use workshop_results::file::Comparison;
use workshop_results::shown::{Cell, Column, Table};

/// One claim that the measuring must fulfill about itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The claim as a sentence.
    pub claim: String,
    /// Whether it held.
    pub holds: bool,
    /// The comparison that decides.
    pub decides: Comparison,
}

/// A row per claim; `what` is compared.
pub fn claims(claims: &[Claim], what: &str) -> Table {
    let ratio = format!("Ratio of {what}");
    let mut table = Table::new(
        "claims",
        "What is claimed",
        Column::list([ratio.as_str(), "Holds"]),
    );
    table.corner = "Claim".to_owned();
    for claim in claims {
        let holds = if claim.holds { "yes" } else { "no" };
        table.row(
            &claim.claim,
            vec![Some(&claim.decides).into(), Cell::text(holds)],
        );
    }
    table
}
