//! The ladder (exercise 20): `GET /qrcode` at every depth in one run, from the Kotlin service alone to a service in Rust.

use crate::codes;
use crate::tables::ladder::best;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::rows::Asked;
use workshop_results::file::ResultFile;

/// What a reader of the table must know.
const NOTES: [&str; 6] = [
    "all tiers up to the library are the Kotlin service on the same JVM; they differ in who draws the code, and the crates are those of the references",
    "the service in Rust has this one route, and is asked directly; its row behind nginx counts nginx, and a Kotlin service that has the other routes and is asked for none",
    "the row with slower libraries is the service in Rust with qrcodegen instead of fast_qr, and with miniz_oxide instead of zlib-rs: the same code otherwise, and the same deflate level",
    "the start of the row behind nginx is that of the service in Rust alone; a start ends with the first code",
    "the shared rate comes from the slowest tier; for the others it is light work",
    "memory is that of all processes of a tier together; on a JVM it is what the policy of the default heap takes, not what the tier needs",
];

/// Measures the tiers' answers to `/qrcode`.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let (mut session, subjects) = codes::begin(lab, asked).await?;
    let found = codes::compare(&mut session, &subjects).await?;
    session.notes.extend(NOTES.map(str::to_owned));
    let mut result = session.finish(&subjects, found).await?;
    let tiers = subjects.iter().filter(|subject| subject.row.tier.is_some());
    result
        .tables
        .push(best(&result, &tiers.collect::<Vec<_>>()));
    Ok(result)
}
