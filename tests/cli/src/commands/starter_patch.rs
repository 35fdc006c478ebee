//! `workshop starter-patch`: for the author, writes the patch that makes the starter out of the reference.

use crate::chain::carry;
use crate::commands::carry::tell;
use workshop_base::exercise::Exercise;
use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;

/// Writes `starter.patch` beside the reference, from what lies in the starter's folder now.
///
/// # Errors
/// When starter and reference differ outside the edit list, a mistake does not fit, or a file cannot be written.
pub fn run(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Outcome> {
    let step = carry::starter_by_hand(workspace, exercise)?;
    carry::write(workspace, &step)?;
    tell(workspace, &step);
    Ok(Outcome::Passed)
}
