//! The board: what everybody in a room has measured, on one page and on one axis per exercise.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::file::{CALIBRATION, ResultFile, TURNS};
use crate::report::{heading, place, result_files, unreadable};
use crate::shown::{Cell, Chart, Column, Drawing, Table, unique};
use crate::view::{self, Item, Whose};
use crate::write::html;
use workshop_base::exercise::Catalogue;
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::terminal::{before_more, of_others};
use workshop_base::workspace::Workspace;

/// The longest name of a folder that is shown, in columns.
const LONGEST_NAME: usize = 40;

/// A measurement, and the name of who took it.
type NamedResult = (String, ResultFile);

/// What is on the board.
#[derive(Debug)]
pub struct Board {
    /// By exercise, then by name.
    measured: Vec<NamedResult>,
    /// What isn't on it, each with the reason.
    pub left_out: Vec<String>,
    /// Where each file was seen first. A laptop that is a copy of another one has that one's results, too.
    first: BTreeMap<Vec<u8>, String>,
}

impl Board {
    /// Reads what people have measured: `folder` holds a folder per person, with that person's `results` or with the files
    /// themselves.
    pub fn gather(folder: &Path) -> anyhow::Result<Board> {
        let mut board = Board {
            measured: Vec::new(),
            left_out: Vec::new(),
            first: BTreeMap::new(),
        };
        for (name, results) in people(folder)? {
            let files = result_files(&results).unwrap_or_default();
            if files.is_empty() {
                let fault = format!("There is no result in the folder {name}.");
                board.left_out.push(fault);
            }
            for path in files {
                board.take(folder, &name, &path);
            }
        }
        board.measured.sort_by_key(|(_, result)| place(result));
        Ok(board)
    }

    fn take(&mut self, folder: &Path, name: &str, path: &Path) {
        // Paths are shown as those below the folder.
        let here = Workspace::at(folder);
        let shown = files::shown(&here, path);
        if let Ok(bytes) = fs::read(path)
            && let Some(first) = self.first.insert(bytes, shown.clone())
        {
            let fault = format!("{shown} is a copy of {first}, so it is on the board once.");
            self.left_out.push(fault);
            return;
        }
        match ResultFile::read(path) {
            Ok(result) if [CALIBRATION, TURNS].contains(&&*result.task) => {}
            Ok(result) => match unfit(&result) {
                Some(why) => self.left_out.push(format!("{shown} {why}.")),
                None => self.measured.push((label(name, &result), result)),
            },
            Err(error) => self.left_out.push(unreadable(&here, path, &error)),
        }
    }

    /// How many measurements are on it.
    pub fn count(&self) -> usize {
        self.measured.len()
    }

    /// The page; `style` is the book's.
    pub fn page(&self, catalogue: &Catalogue, style: &str) -> String {
        let title = "Everybody's results";
        let mut sections = vec![(title.to_owned(), vec![self.machines()])];
        let is_one_exercise =
            |(_, one): &NamedResult, (_, next): &NamedResult| place(one) == place(next);
        for measured in self.measured.chunk_by(is_one_exercise) {
            let items = of_one_exercise(measured);
            if !items.is_empty() {
                sections.push((heading(catalogue, &measured[0].1), items));
            }
        }
        if !self.left_out.is_empty() {
            let left_out = "Each with the reason".to_owned();
            let items = vec![Item::List(left_out, self.left_out.clone())];
            sections.push(("Not on the board".to_owned(), items));
        }
        html::page(title, style, &sections)
    }

    /// Who measured on what.
    fn machines(&self) -> Item {
        let mut machines: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, result) in &self.measured {
            machines.entry(name).or_default().push(&result.machine);
        }
        let mut table = Table::new("machines", "", Column::list(["Machine"]));
        table.corner = "Who".to_owned();
        for (name, machines) in machines {
            table.row(name, vec![Cell::text(unique(machines).join("; "))]);
        }
        Item::Table(table)
    }
}

/// The folders of people, and where their results are.
fn people(folder: &Path) -> anyhow::Result<Vec<(String, PathBuf)>> {
    let entries = fs::read_dir(folder).map_err(|error| {
        Trouble::new(format!("{} cannot be listed: {error}", folder.display()))
            .expected("a folder that holds a folder per person")
            .next("just board with the path of that folder")
    })?;
    let folders = entries.flatten().filter(|entry| entry.path().is_dir());
    let people = folders.map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let name = before_more(&of_others(&name, LONGEST_NAME));
        let results = entry.path().join("results");
        match results.is_dir() {
            true => (name, results),
            false => (name, entry.path()),
        }
    });
    let mut people: Vec<(String, PathBuf)> = people.collect();
    people.sort();
    Ok(people)
}

/// Who is named beside a mark.
fn label(name: &str, result: &ResultFile) -> String {
    match result.target.starts_with("solution") {
        true => format!("{name} (the reference's code)"),
        false => name.to_owned(),
    }
}

/// Why a result cannot be compared with the others.
fn unfit(result: &ResultFile) -> Option<String> {
    let current = env!("CARGO_PKG_VERSION");
    Some(match result.manifest.versions.get("course") {
        Some(version) if version == current => format!("is invalid: {}", result.invalid.first()?),
        Some(version) => {
            format!("was measured by version {version} of the course, and this is {current}")
        }
        None => format!("was measured before version {current} of the course"),
    })
}

/// Everybody's ratios on one axis, and under which conditions they were taken; nothing where nothing was compared.
fn of_one_exercise(measured: &[NamedResult]) -> Vec<Item> {
    let files = measured.iter().map(|(name, result)| Whose { name, result });
    let files: Vec<Whose<'_>> = files.collect();
    let rows = view::ratio_rows(&files, true);
    if rows.is_empty() {
        return Vec::new();
    }
    let conditions = files
        .iter()
        .map(|whose| format!("{}: {}", whose.name, view::provenance(whose.result)));
    let taken = "How it was measured".to_owned();
    vec![
        Item::Chart(Chart {
            id: "ratios".to_owned(),
            title: "Rust divided by Kotlin, by metric; whiskers: 95 % interval; diamonds: what was predicted."
                .to_owned(),
            drawing: Drawing::Ratios(rows),
        }),
        Item::Folded(taken.clone(), vec![Item::List(taken, conditions.collect())]),
    ]
}
