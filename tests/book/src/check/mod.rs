//! The book's checks: what mdBook lets pass and readers stumble over.

pub mod ids;
pub mod pages;
pub mod rendered;
pub mod words;

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::expand::Expander;
use crate::fault::Fault;
use crate::fault::Problem;
use crate::macros;
use crate::site::Site;
use crate::site::normal;
use workshop_base::exercise::Catalogue;
use workshop_base::workspace::Workspace;
use workshop_results::file::CALIBRATION;

/// Everything wrong with the book's source.
///
/// # Errors
/// When the source cannot be read at all.
pub fn source(workspace: &Workspace) -> anyhow::Result<Vec<Fault>> {
    let site = Site::from_disk(workspace)?;
    let files = markdown_files(&workspace.book())?;
    let expander = Expander::new(workspace, &site);
    let mut faults = Vec::new();
    for page in &site.pages {
        if let Err(found) = expander.expand(page) {
            faults.extend(found);
        }
        faults.extend(pages::check(workspace, &site, page));
    }
    faults.extend(orphans(&site, &files));
    faults.extend(missing_references(workspace, &site));
    faults.extend(missing_differences(workspace, &site));
    for file in files
        .iter()
        .map(|file| workspace.book().join(file))
        .chain(reference_results(workspace))
    {
        let text = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let shown = file
            .strip_prefix(workspace.root())
            .unwrap_or(&file)
            .to_path_buf();
        faults.extend(words::check(&shown, &text));
    }
    faults.sort();
    faults.dedup();
    Ok(faults)
}

/// Every Markdown file of the book, relative to its source folder.
fn markdown_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(relative) = folders.pop() {
        let here = folder.join(&relative);
        for entry in
            std::fs::read_dir(&here).with_context(|| format!("cannot list {}", here.display()))?
        {
            let entry = entry?;
            let path = relative.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Pages that no reader finds: neither in the table of contents nor included by a page.
fn orphans(site: &Site, files: &[PathBuf]) -> Vec<Fault> {
    let included: Vec<PathBuf> = site
        .pages
        .iter()
        .flat_map(|page| {
            let folder = page.path.parent().unwrap_or(Path::new("")).to_path_buf();
            macros::find(&page.text)
                .into_iter()
                .filter(|call| call.name == "include")
                .filter_map(move |call| {
                    let path = call.arguments.first()?.split(':').next()?;
                    Some(normal(&folder.join(path)))
                })
        })
        .collect();
    files
        .iter()
        .filter(|file| {
            *file != Path::new("SUMMARY.md")
                && site.page(file).is_none()
                && !included.contains(file)
        })
        .map(|file| {
            let problem = Problem::new(
                "this page is not in the table of contents",
                "name it in book/SUMMARY.md, or remove it",
            );
            Fault::new(Path::new("book").join(file), 0, problem)
        })
        .collect()
}

/// Chapters of exercises with code that do not show what leads from the starter to the reference.
fn missing_differences(workspace: &Workspace, site: &Site) -> Vec<Fault> {
    // A catalogue that cannot be read is a fault of each page that asks for it, and told there.
    let Ok(catalogue) = Catalogue::read(workspace) else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    for page in &site.pages {
        let calls = macros::find(&page.text);
        let named = |name: &str| {
            calls
                .iter()
                .find(|call| call.name == name && !call.escaped)
                .and_then(|call| call.exercise().ok())
        };
        let chapter_of = named("minutes").and_then(|number| catalogue.get(number).ok());
        let Some(exercise) = chapter_of.filter(|exercise| exercise.is_crate()) else {
            continue;
        };
        if named("diff") != Some(exercise.number) {
            let problem = Problem::new(
                "this exercise chapter does not show the difference between starter and reference",
                format!(
                    "write {{{{#diff {}}}}} below a heading of its own",
                    exercise.name()
                ),
            );
            faults.push(Fault::new(Path::new("book").join(&page.path), 0, problem));
        }
    }
    faults
}

/// Figures that a page promises and nobody has measured.
fn missing_references(workspace: &Workspace, site: &Site) -> Vec<Fault> {
    let mut faults = Vec::new();
    for page in &site.pages {
        for call in macros::find(&page.text)
            .into_iter()
            .filter(|call| !call.escaped)
        {
            let (name, command) = match (call.name.as_str(), call.arguments.first()) {
                ("results", Some(name)) => {
                    let command = match name.as_str() {
                        CALIBRATION => "just calibrate --reference".to_owned(),
                        "exercise-1" => "just measure exercise-1 --reference".to_owned(),
                        other => format!(
                            "just measure {} --reference",
                            other.replace("exercise", "solution")
                        ),
                    };
                    (name.clone(), command)
                }
                _ => continue,
            };
            if !workspace
                .reference_results()
                .join(format!("{name}.json"))
                .is_file()
            {
                let problem = Problem::new(
                    format!("there are no committed figures for {name}"),
                    format!("measure them on a quiet machine: {command}"),
                );
                faults.push(Fault::new(
                    Path::new("book").join(&page.path),
                    call.line,
                    problem,
                ));
            }
        }
    }
    faults
}

/// The committed result files.
fn reference_results(workspace: &Workspace) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(workspace.reference_results()) else {
        return Vec::new();
    };
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    files
}
