//! A page by key and by OFFSET: the same rows, asked for in two ways, by the tool's own connection.
//!
//! No service is between: the difference is PostgreSQL's. By key it walks the index to the first row of the page; by OFFSET
//! it reads all rows before the page and throws them away.

use std::time::Instant;

use anyhow::Context;
use rand::seq::SliceRandom;
use sqlx::{PgConnection, Row};

use crate::tables::export::{PageTimes, Paging};
use workshop_results::file::{Better, Mode};
use workshop_results::metrics;
use workshop_results::statistics::median;

/// Rows of a page, the service's default.
const LIMIT: u32 = 100;

/// The two ways of asking for a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Key,
    Offset,
}

impl Way {
    fn sql(self) -> &'static str {
        match self {
            Way::Key => {
                "SELECT id, value, odd, divisible_by_3, visited FROM records WHERE id > $1 ORDER BY id LIMIT $2"
            }
            Way::Offset => {
                "SELECT id, value, odd, divisible_by_3, visited FROM records ORDER BY id OFFSET $1 LIMIT $2"
            }
        }
    }
}

/// Times the first page, and the one in the middle of all rows.
pub async fn measure(
    connection: &mut PgConnection,
    rows: u32,
    mode: Mode,
) -> anyhow::Result<Paging> {
    let (near, far) = match mode {
        Mode::Quick => (50, 3),
        Mode::Standard => (300, 7),
        Mode::Thorough => (1000, 20),
    };
    let middle = (rows / 2 / LIMIT).max(2);
    Ok(Paging {
        limit: LIMIT,
        rows,
        pages: vec![
            page(connection, 1, near).await?,
            page(connection, middle, far).await?,
        ],
    })
}

/// Times one page, both ways as often, in random order.
async fn page(
    connection: &mut PgConnection,
    page: u32,
    repetitions: usize,
) -> anyhow::Result<PageTimes> {
    let (mut by_key, mut by_offset) = (Vec::new(), Vec::new());
    // One pair more, which is not counted: it prepares the statements and brings the rows into the cache.
    for repetition in 0..=repetitions {
        let mut order = [Way::Key, Way::Offset];
        order.shuffle(&mut rand::rng());
        let mut ids = Vec::new();
        for way in order {
            let began = Instant::now();
            let of_page = ask(connection, way, page).await?;
            let took = began.elapsed().as_secs_f64() * 1e3;
            ids.push(of_page);
            match way {
                _ if repetition == 0 => {}
                Way::Key => by_key.push(took),
                Way::Offset => by_offset.push(took),
            }
        }
        anyhow::ensure!(
            ids[0] == ids[1],
            "page {page} has other rows by key than by OFFSET"
        );
    }
    let ratios: Vec<f64> = by_offset
        .iter()
        .zip(&by_key)
        .map(|(offset, key)| offset / key)
        .collect();
    Ok(PageTimes {
        page,
        repetitions,
        key_ms: median(&by_key).context("no page was read")?,
        offset_ms: median(&by_offset).context("no page was read")?,
        offset_against_key: metrics::compared("offset", "key", &ratios, Better::Lower),
    })
}

async fn ask(connection: &mut PgConnection, way: Way, page: u32) -> anyhow::Result<Vec<i32>> {
    // Ids run from 1 without gaps, so as many rows lie before the page as the last id before it says.
    let before = i64::from((page - 1) * LIMIT);
    let query = match way {
        Way::Key => sqlx::query(way.sql()).bind(i32::try_from(before)?),
        Way::Offset => sqlx::query(way.sql()).bind(before),
    };
    let rows = query.bind(i64::from(LIMIT)).fetch_all(connection).await?;
    rows.iter()
        .map(|row| row.try_get("id").context("a page without ids"))
        .collect()
}
