//! The module (exercise 10): what a call of WebAssembly costs inside of the JVM, by size, compiled and interpreted; then the
//! service that calls it, beside the one that draws in Kotlin.

use std::path::PathBuf;
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
const TAKES: Duration = Duration::from_secs(30);

/// Measures calls of the second subject's module, and both subjects' answers to `/qrcode`; the first is Kotlin.
///
/// # Errors
/// As [`qrcode::measure`]; also when the calls cannot be timed.
pub async fn measure(
    lab: &Lab<'_>,
    subjects: &[Subject; 2],
    wanted: &Wanted,
) -> anyhow::Result<ResultFile> {
    let timed = async |progress: &Progress| {
        progress.part("calls by size, compiled, interpreted, and in Kotlin itself");
        let module = subjects[1].launch.parts.first();
        calls::times(&subjects[1], module.map(PathBuf::as_path)).await
    };
    let plan = Plan::codes(wanted.mode);
    let (mut result, calls) = qrcode::measure(lab, subjects, wanted, plan, TAKES, timed).await?;
    result.notes.push("a copy of the module goes into its memory and out of it again; a code of either side changes threads besides, as it does in the service, which never interprets".to_owned());
    Ok(ResultFile {
        tables: vec![tables::calls::calls(&calls)],
        ..result
    })
}
