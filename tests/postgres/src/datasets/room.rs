//! Whether a data set fits on the disk, asked before it is made.

use crate::datasets::set::DataSet;
use crate::server::Server;
use crate::settings::Provider;
use workshop_base::outcome::Trouble;

/// Bytes per row: 65 in the table (with its share of the page's overhead), 22 in the index.
const PER_ROW: u64 = 88;

/// Bytes that building an index of ten million rows sorts on the disk, per row.
const SORTING_PER_ROW: u64 = 20;

/// The most that the write-ahead log grows to (`max_wal_size` and some), where all rows go through it.
const LOG_AT_MOST: u64 = 1 << 30;

/// For the catalogue of a new database, twice, and so that the disk is not full to the last byte.
const SPARE: u64 = 64 << 20;

/// The bytes that must be free before a data set is made.
pub fn needed(set: DataSet) -> u64 {
    let rows = u64::from(set.rows());
    let data = rows * PER_ROW;
    // Rows in the log are a little larger than in the table.
    data + rows * SORTING_PER_ROW + LOG_AT_MOST.min(data * 5 / 4) + SPARE
}

/// Refuses a disk that is too small.
pub(super) async fn check(server: &Server, set: DataSet) -> anyhow::Result<()> {
    match server.free_bytes().await? {
        Some(free) => judge(free, set, server.provider()).map_err(Into::into),
        None if set == DataSet::Small => Ok(()),
        None => {
            eprintln!(
                "{set} needs {} free; the tool can't see the disk of a server that you run",
                readable(needed(set))
            );
            Ok(())
        }
    }
}

fn judge(free: u64, set: DataSet, provider: Provider) -> Result<(), Trouble> {
    let needed = needed(set);
    if free >= needed {
        return Ok(());
    }
    Err(too_small(
        format!(
            "{set} needs {} on the database's disk, {} is free",
            readable(needed),
            readable(free)
        ),
        set,
        provider,
    ))
}

/// What to say when the disk was full in the middle.
pub(super) fn ran_out(set: DataSet, provider: Provider) -> Trouble {
    too_small(
        format!(
            "the database's disk is full; {set} was not made, and its unfinished part was removed"
        ),
        set,
        provider,
    )
    .expected(format!("{} free", readable(needed(set))))
}

fn too_small(what: String, set: DataSet, provider: Provider) -> Trouble {
    let smaller = match set {
        DataSet::Small => String::new(),
        DataSet::Pi => ", or work with small: just seed small".to_owned(),
        DataSet::Full => ", or take a smaller set: just seed pi".to_owned(),
    };
    let place = match provider {
        Provider::Embedded => {
            "free some space, or name a folder on a larger disk in WORKSHOP_DATA_DIR"
        }
        Provider::Docker => "free some space (docker system df shows what Docker uses)",
        Provider::Url => "free some space on the server",
    };
    Trouble::new(what)
        .expected("room for the rows, their index and the write-ahead log")
        .next(format!("{place}{smaller}"))
}

fn readable(bytes: u64) -> String {
    if bytes >= 1_000_000_000 {
        format!("{:.1} GB", bytes as f64 / 1e9)
    } else {
        format!("{} MB", bytes / 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_is_too_small_is_refused_with_both_figures_and_a_way_out() {
        let refusal = judge(1_300_000_000, DataSet::Full, Provider::Embedded)
            .expect_err("too small")
            .to_string();
        assert!(
            refusal.contains("full needs 2.2 GB") && refusal.contains("1.3 GB is free"),
            "{refusal}"
        );
        assert!(
            refusal.contains("WORKSHOP_DATA_DIR") && refusal.contains("just seed pi"),
            "{refusal}"
        );
    }

    #[test]
    fn a_disk_with_room_is_taken() {
        assert!(judge(needed(DataSet::Full), DataSet::Full, Provider::Docker).is_ok());
    }

    #[test]
    fn a_larger_set_needs_more() {
        assert!(needed(DataSet::Small) < needed(DataSet::Pi));
        assert!(needed(DataSet::Pi) < needed(DataSet::Full));
    }
}
