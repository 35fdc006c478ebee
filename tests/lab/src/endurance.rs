//! `just measure endurance`: a long run in chunks. What has come of it is written and shown, also when Ctrl-C stops it.

use crate::measure;
use workshop::cli::EnduranceArgs;
use workshop::signals::interrupted;
use workshop_base::outcome::{Interrupted, Outcome};
use workshop_base::workspace::Workspace;
use workshop_results::figures::{THIN, count};
use workshop_tasks::endurance::{self, EnduranceOrder, NAME};

/// Runs until it is done, a service fails, or somebody stops it. Exit 1 when a service fails, 130 when it was stopped.
pub async fn run(workspace: &Workspace, args: &EnduranceArgs) -> anyhow::Result<Outcome> {
    let wanted = EnduranceOrder {
        targets: args.targets.clone(),
        requests: args.requests,
        data_set: args.result.data_set,
    };
    let ended = endurance::measure(workspace, &wanted, interrupted()).await?;
    let path = measure::place(workspace, &args.result, NAME);
    measure::write(workspace, &ended.result, &path)?;
    if let Some((answered, of)) = ended.stopped_at {
        let in_full = |number| count(number).replace(THIN, " ");
        let (answered, of) = (in_full(answered), in_full(of));
        let stopped = format!("stopped after {answered} of {of} requests");
        return Err(Interrupted::new(stopped).into());
    }
    Ok(Outcome::of(ended.result.invalid.is_empty()))
}
