//! `workshop play-peers`: the load of exercise 15, in a process of its own.

use workshop_base::outcome::Outcome;
use workshop_measure::tools::crowd;

/// Plays peers, as the orders on standard input say.
pub async fn run(base_url: &str) -> anyhow::Result<Outcome> {
    crowd::play(base_url).await?;
    Ok(Outcome::Passed)
}
