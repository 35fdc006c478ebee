//! A page by key and by OFFSET: the same rows, asked for in two ways, by the tool's own connection.
//!
//! No service is between: the difference is PostgreSQL's. By key it walks the index to the first row of the page; by OFFSET
//! it reads all rows before the page and throws them away.

use std::time::Instant;

use anyhow::Context;
use sqlx::{PgConnection, Row};

use workshop_measure::protocol::plan::{self, shuffled};
use workshop_results::figures::count;
use workshop_results::file::Mode;
use workshop_results::metrics;
use workshop_results::shown::{Cell, Column, Table};
use workshop_results::statistics::median;

/// Rows of a page, the service's default.
const LIMIT: u32 = 100;

/// The two ways of asking for a page: by key, and by OFFSET.
const WAYS: [&str; 2] = [
    "SELECT id, value, odd, divisible_by_3, visited FROM records WHERE id > $1::int8::int4 ORDER BY id LIMIT $2",
    "SELECT id, value, odd, divisible_by_3, visited FROM records ORDER BY id OFFSET $1 LIMIT $2",
];

/// Times the first page, and the one in the middle of all rows.
pub async fn measure(
    connection: &mut PgConnection,
    rows: u32,
    mode: Mode,
) -> anyhow::Result<Table> {
    let (near, far): (usize, usize) = plan::extent("paging", mode)?;
    let middle = (rows / 2 / LIMIT).max(2);
    let all = count(u64::from(rows));
    let title = format!("A page of {LIMIT} rows of {all}, by key and by OFFSET");
    let columns = [
        "By key (ms, median)",
        "By OFFSET (ms, median)",
        "OFFSET ÷ key",
        "Times each",
    ];
    let mut table = Table::new("paging", title, Column::list(columns));
    table.corner = "Page".to_owned();
    for (page, repetitions) in [(1, near), (middle, far)] {
        let [key, offset] = times(connection, page, repetitions).await?;
        let compared = metrics::compared_times("offset", &offset, "key", &key);
        let cells = vec![
            median(&key).into(),
            median(&offset).into(),
            Some(&compared).into(),
            Cell::Count(repetitions as u64),
        ];
        table.row(count(u64::from(page)), cells);
    }
    Ok(table)
}

/// Times one page, both ways as often, in random order; in milliseconds.
async fn times(
    connection: &mut PgConnection,
    page: u32,
    repetitions: usize,
) -> anyhow::Result<[Vec<f64>; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    // One pair more, which is not counted: it prepares the statements and brings the rows into the cache.
    for repetition in 0..=repetitions {
        let mut ids = Vec::new();
        for way in shuffled(times.len()) {
            let began = Instant::now();
            ids.push(ask(connection, WAYS[way], page).await?);
            if repetition > 0 {
                times[way].push(began.elapsed().as_secs_f64() * 1e3);
            }
        }
        anyhow::ensure!(
            ids[0] == ids[1],
            "page {page} has other rows by key than by OFFSET"
        );
    }
    Ok(times)
}

async fn ask(
    connection: &mut PgConnection,
    way: &'static str,
    page: u32,
) -> anyhow::Result<Vec<i32>> {
    // Ids run from 1 without gaps, so as many rows lie before the page as the last id before it says.
    let before = i64::from((page - 1) * LIMIT);
    let query = sqlx::query(way).bind(before).bind(i64::from(LIMIT));
    let rows = query.fetch_all(connection).await?;
    rows.iter()
        .map(|row| row.try_get("id").context("a page without ids"))
        .collect()
}
