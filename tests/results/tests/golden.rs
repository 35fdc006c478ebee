//! What every committed result looks like: as terminal text and as HTML, held against the files in `golden/`.
//! After a change that is meant: `WORKSHOP_BLESS=1 cargo test --package workshop-results --test golden`, then read the diff.

// A test that cannot read its files has to fail; helpers count as tests.
#![allow(clippy::expect_used)]

use std::path::{Path, PathBuf};

use workshop_results::file::ResultFile;
use workshop_results::shown::Cell;
use workshop_results::view::{self, REFERENCE, Whose};
use workshop_results::write::{html, text};

const BLESS: &str = "WORKSHOP_BLESS";

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn committed() -> Vec<PathBuf> {
    let folder = crate_folder().join("../../book/reference-results");
    let entries = std::fs::read_dir(folder).expect("the committed results");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let mut results: Vec<_> = paths
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    results.sort();
    results
}

#[test]
fn every_committed_result_looks_as_it_did() {
    let bless = std::env::var_os(BLESS).is_some();
    let mut changed = Vec::new();
    let results = committed();
    assert!(results.len() >= 13, "{results:?}");
    for path in results {
        let result = ResultFile::read(&path).expect("a committed result");
        let reference = Whose {
            name: REFERENCE,
            result: &result,
        };
        let page = view::page(&[reference]);
        let terminal = text::write(&view::terminal(&result));
        for line in terminal.lines() {
            let command = line.contains("http://") || line.contains("-XX:");
            assert!(line.chars().count() <= 100 || command, "{path:?}: {line}");
        }
        let forms = [
            ("txt", terminal),
            ("html", html::section("Measured", &page) + "\n"),
        ];
        let stem = path.file_stem().expect("a name");
        for (extension, now) in forms {
            let golden = crate_folder()
                .join("golden")
                .join(stem)
                .with_extension(extension);
            if bless {
                std::fs::create_dir_all(crate_folder().join("golden")).expect("the folder");
                std::fs::write(&golden, now).expect("a golden file");
            } else if std::fs::read_to_string(&golden).unwrap_or_default() != now {
                changed.push(golden);
            }
        }
    }
    assert!(
        changed.is_empty(),
        "these look different: {changed:#?}; if that is meant, run again with {BLESS}=1 and read the diff"
    );
}

/// A column of ratios has one denominator: the side that its heading names, whose own row says 1.
#[test]
fn ratios_are_to_the_side_that_the_heading_names() {
    for path in committed() {
        let result = ResultFile::read(&path).expect("a committed result");
        let labels: Vec<&str> = result
            .sides
            .iter()
            .map(|side| side.label.as_str())
            .collect();
        for table in &result.tables {
            for (place, column) in table.columns.iter().enumerate() {
                let Some(against) = column.heading.strip_prefix("÷ ") else {
                    continue;
                };
                // Of a row, or of nothing at all.
                if ["tier 0", "nothing", "the row with 1"].contains(&against) {
                    continue;
                }
                let told = format!("{}: {}: {against}", path.display(), table.id);
                assert!(labels.contains(&against), "{told}: no side is called so");
                for row in table
                    .rows
                    .iter()
                    .filter(|row| *row.cell(place) == Cell::Count(1))
                {
                    assert!(
                        row.heading.ends_with(against),
                        "{told}: 1 for {}",
                        row.heading
                    );
                }
            }
        }
    }
}
