//! The library (exercise 11): what a call of native code costs inside of the JVM, by size; then the service that calls it,
//! beside the one that draws in Kotlin.

use std::time::Duration;

use crate::protocol::lab::Lab;
use crate::protocol::plan::Plan;
use crate::protocol::progress::Progress;
use crate::protocol::subject::Subject;
use crate::tables;
use crate::tasks::calls;
use crate::tasks::load::Wanted;
use crate::tasks::qrcode;
use workshop_results::file::ResultFile;

/// What it takes, roughly.
const TAKES: Duration = Duration::from_secs(20);

/// Measures calls of the second subject's library, and both subjects' answers to `/qrcode`; the first is Kotlin.
///
/// # Errors
/// As [`qrcode::measure`]; also when the calls cannot be timed.
pub async fn measure(
    lab: &Lab<'_>,
    subjects: &[Subject; 2],
    wanted: &Wanted,
) -> anyhow::Result<ResultFile> {
    let timed = async |progress: &Progress| {
        progress.part("calls by size, through the border and without it");
        calls::times(&subjects[1], None).await
    };
    let plan = Plan::codes(wanted.mode);
    let (mut result, calls) = qrcode::measure(lab, subjects, wanted, plan, TAKES, timed).await?;
    result.notes.push("a call of the library copies its bytes out of the heap and the result into it; a code of either side changes threads besides, as it does in the service".to_owned());
    Ok(ResultFile {
        tables: vec![tables::calls::calls(&calls)],
        ..result
    })
}
