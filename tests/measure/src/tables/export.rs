//! Exercise 7: a page by key and by OFFSET.

use workshop_results::figures::count;
use workshop_results::file::Comparison;
use workshop_results::shown::{Cell, Column, Table};

/// A page of rows asked for in two ways.
#[derive(Debug)]
pub struct Paging {
    /// Rows of a page.
    pub limit: u32,
    /// Rows of the table.
    pub rows: u32,
    /// The pages, near and far.
    pub pages: Vec<PageTimes>,
}

/// One page, by key and by OFFSET.
#[derive(Debug)]
pub struct PageTimes {
    /// The page, from 1.
    pub page: u32,
    /// How often it was asked for in each way.
    pub repetitions: usize,
    /// The median by key, in milliseconds.
    pub key_ms: f64,
    /// The median by OFFSET, in milliseconds.
    pub offset_ms: f64,
    /// OFFSET compared with the key.
    pub offset_against_key: Comparison,
}

/// A row per page.
pub fn paging(paging: &Paging) -> Table {
    let title = format!(
        "A page of {} rows of {}, by key and by OFFSET",
        paging.limit,
        count(u64::from(paging.rows))
    );
    let columns = [
        "By key (ms, median)",
        "By OFFSET (ms, median)",
        "OFFSET ÷ key",
        "Times each",
    ];
    let mut table = Table::new("paging", title, Column::list(columns));
    table.corner = "Page".to_owned();
    for page in &paging.pages {
        let cells = vec![
            Cell::Number(page.key_ms),
            Cell::Number(page.offset_ms),
            Some(&page.offset_against_key).into(),
            Cell::Count(page.repetitions as u64),
        ];
        table.row(count(u64::from(page.page)), cells);
    }
    table
}
