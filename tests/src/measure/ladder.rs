//! The ladder (exercise 12): `GET /qrcode` at every depth, from the Kotlin service alone to a service in Rust, in one run.

use std::time::Duration;

use super::lab::Lab;
use super::load::Wanted;
use super::qrcode;
use super::results::ResultFile;
use crate::target::Target;

/// Measures the answers of the Kotlin service and of a target to `/qrcode`.
///
/// # Errors
/// As [`qrcode::measure`].
pub async fn measure(lab: &Lab<'_>, target: Target, wanted: &Wanted) -> anyhow::Result<ResultFile> {
    let subjects = [
        lab.subject(Target::Kotlin).await?,
        lab.subject(target).await?,
    ];
    let nothing = async |_: &_| Ok(());
    let (result, ()) = qrcode::measure(lab, &subjects, wanted, Duration::ZERO, nothing).await?;
    Ok(result)
}
