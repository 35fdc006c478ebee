//! The debugging cases by their names: each is played, and the service stays as it is for a person to look at.

use anyhow::bail;

use super::{Place, hang, leak, wrong};

pub use super::reproduction::{QUIET, Reproduction};

/// Plays the case of this name, on a service with this `LOG_LEVEL`.
pub async fn reproduce(
    case: &str,
    place: &Place<'_>,
    log_level: &str,
) -> anyhow::Result<Reproduction> {
    match case {
        "hang" => hang::reproduce(place, log_level).await,
        "leak" => leak::reproduce(place, log_level).await,
        "wrong" => wrong::reproduce(place, log_level).await,
        _ => bail!("the case {case} has no scenario"),
    }
}
