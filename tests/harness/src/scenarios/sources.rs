//! The source of a service, read once: the tests judge the source, and no service is started.

use super::{Place, Played, Scenario, When, judge_all};
use crate::build::reading::{self, ReadSource};
use crate::scenarios::ContractTest;

pub use super::judged as test;

/// The clippy lints besides the default ones: code that can panic, is too long, or copies or moves without a reason.
const LINTS: [&str; 14] = [
    "clone_on_ref_ptr",
    "excessive_nesting",
    "expect_used",
    "implicit_clone",
    "indexing_slicing",
    "match_wildcard_for_single_variants",
    "needless_pass_by_value",
    "panic",
    "str_to_string",
    "string_slice",
    "too_many_arguments",
    "too_many_lines",
    "unwrap_used",
    "wildcard_enum_match_arm",
];

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: false,
    ..Scenario::new("sources", When::First, 6, |place, tests| {
        Box::pin(play(place, tests))
    })
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let source: ReadSource = reading::read(place.workspace, place.launch, &LINTS).await?;
    Ok(Played {
        statuses: judge_all(&source, "", tests).await?,
        leaving: Vec::new(),
    })
}
