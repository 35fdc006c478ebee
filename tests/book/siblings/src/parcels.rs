//! Parcels of log lines, for the page "More rows than memory": a stream, taken in portions.

use std::io;

use rocket::futures::{Stream, TryStreamExt};

// ANCHOR: parcels
/// The next lines of a log, at most fifty; none when it has ended.
pub async fn next_parcel(
    lines: &mut (impl Stream<Item = io::Result<String>> + Unpin),
) -> io::Result<Vec<String>> {
    let mut parcel = Vec::new();
    while let Some(line) = lines.try_next().await? {
        parcel.push(line);
        if parcel.len() == 50 {
            break;
        }
    }
    Ok(parcel)
}
// ANCHOR_END: parcels
