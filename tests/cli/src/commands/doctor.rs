//! `just doctor`: what is here, what is missing, and the command that fixes it.

use crate::doctor;
use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;

/// Examines the machine and prints the report. Exit code 0: ready. 1: you can fix it. 2: it needs an administrator.
pub async fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let report = doctor::examine(workspace).await?;
    print!("{report}");
    Ok(report.outcome())
}
