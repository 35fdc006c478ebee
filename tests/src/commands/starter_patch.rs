//! `workshop starter-patch`: for the author, writes the patch that makes the starter out of the reference.

use super::carry::tell;
use crate::chain::carry;
use crate::exercise::Exercise;
use crate::outcome::Outcome;
use crate::workspace::Workspace;

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
