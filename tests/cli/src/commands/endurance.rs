//! `just measure endurance`: a long run in chunks, which Ctrl-C stops and the same command carries on. Whatever has come of it is
//! written and shown, also when it is stopped.

use crate::cli::EnduranceArgs;
use crate::commands::{interrupted, measure};
use workshop_base::outcome::{Interrupted, Outcome};
use workshop_base::workspace::Workspace;
use workshop_tasks::endurance::{self, NAME, Wanted, in_full};

/// Runs until it is done, a service fails, or somebody stops it. Exit 1 when a service fails, 130 when it was stopped.
pub async fn run(workspace: &Workspace, args: &EnduranceArgs) -> anyhow::Result<Outcome> {
    let wanted = Wanted {
        targets: args.targets.clone(),
        requests: args.requests,
        anew: args.anew,
        data_set: args.result.data_set,
    };
    let ended = endurance::measure(workspace, &wanted, interrupted()).await?;
    let path = measure::place(workspace, &args.result, NAME);
    measure::write(workspace, &ended.result, &path)?;
    if let Some((answered, of)) = ended.stopped_at {
        let kept = format!(
            "stopped; {} of {} requests are kept, and the same command carries on from there",
            in_full(answered),
            in_full(of)
        );
        return Err(Interrupted::new(kept).into());
    }
    Ok(Outcome::of(ended.result.invalid.is_empty()))
}
