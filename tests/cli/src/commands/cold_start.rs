//! `workshop cold-start`: what hyperfine times; starts a service, waits for its first 200, leaves it running.

use crate::cli::ColdStartArgs;
use workshop_base::outcome::Outcome;
use workshop_tasks::start_helper;

/// Starts, or stops what was started, or is the service that does nothing.
pub fn run(args: &ColdStartArgs) -> anyhow::Result<Outcome> {
    if args.answer {
        start_helper::answer()?;
    } else if args.stop {
        start_helper::stop(&start_helper::read(&args.launch)?)?;
    } else {
        start_helper::start(&start_helper::read(&args.launch)?)?;
    }
    Ok(Outcome::Passed)
}
