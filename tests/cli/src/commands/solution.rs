//! `just solution`: the difference between the learner's files and the reference, or the reference in their place.

use std::path::{Path, PathBuf};

use crate::commands::reset::{list, put_in_place};
use crate::katas;
use crate::references::Reference;
use crate::ways::OtherWay;

use workshop_base::exercise::{Exercise, Kind};
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_base::{files, originals, patches};

/// Prints the difference; with `apply`, puts the reference in place after keeping the learner's files as an attempt.
pub fn run(workspace: &Workspace, exercise: &Exercise, apply: bool) -> anyhow::Result<Outcome> {
    if exercise.is_own() {
        return of_ones_own(workspace, exercise, apply);
    }
    let reference = originals::reference(workspace, exercise)?;
    if apply {
        return put_in_place(workspace, exercise, &reference, "the reference");
    }
    let name = exercise.name();
    let mine = originals::in_place(workspace, exercise)?;
    let (differing, others): (Vec<_>, Vec<_>) = files::differing(&mine, &reference)
        .into_iter()
        .partition(|path| exercise.edit.contains(path));
    let (given, added): (Vec<PathBuf>, Vec<PathBuf>) = others
        .into_iter()
        .partition(|path| reference.contains_key(path));
    let opened = opened(workspace, exercise)?;
    let (differing, closed): (Vec<_>, Vec<_>) = differing
        .into_iter()
        .partition(|path| opened.contains(path));
    for path in &differing {
        let name = |folder: PathBuf, whose: &str| {
            let file = files::shown(workspace, &folder.join(path));
            format!("{file} ({whose})")
        };
        let names = [
            name(exercise.starter(workspace), "yours"),
            name(exercise.solution(workspace), "reference"),
        ];
        let (mine, theirs) = (patches::text(&mine, path), patches::text(&reference, path));
        print(&patches::difference(names, &mine, &theirs));
    }
    if differing.is_empty() {
        println!("No difference: your files of {name} are those of the reference.");
    }
    if !closed.is_empty() {
        println!(
            "{} katas are not open yet; just check {name} opens the next",
            closed.len()
        );
    }
    if !given.is_empty() {
        println!("Given, and not as the course ships them: {}.", list(&given));
    }
    if !added.is_empty() {
        println!("Added by you, not in the reference: {}.", list(&added));
    }
    if !differing.is_empty() || !given.is_empty() {
        println!("next: just solution {name} --apply puts the reference in place; yours is kept");
    }
    Ok(Outcome::Passed)
}

/// Prints the other good answers to an exercise; of katas only those to katas that are open.
pub fn tell_ways(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Outcome> {
    let name = exercise.name();
    let mut ways = OtherWay::all(&exercise.solution(workspace))?;
    if exercise.kind == Kind::Katas {
        let opened = opened(workspace, exercise)?;
        ways.retain(|way| changes(way, opened));
    }
    ways.iter().for_each(tell_way);
    match ways.len() {
        0 => {
            println!("{name} has no other answers yet; just solution {name} shows the reference's.")
        }
        _ => println!(
            "Each of them is green. They are differences to the reference, not to your files."
        ),
    }
    Ok(Outcome::Passed)
}

/// Prints the other good answers that change one of these files.
pub fn tell_ways_in(
    workspace: &Workspace,
    exercise: &Exercise,
    files: &[PathBuf],
) -> anyhow::Result<()> {
    let mut ways = OtherWay::all(&exercise.solution(workspace))?;
    ways.retain(|way| changes(way, files));
    ways.iter().for_each(tell_way);
    if !ways.is_empty() {
        println!("That's a difference to the reference, not to your file.\n");
    }
    Ok(())
}

fn changes(way: &OtherWay, files: &[PathBuf]) -> bool {
    patches::files(&way.patch).any(|path| files.iter().any(|file| file == Path::new(path)))
}

fn tell_way(way: &OtherWay) {
    let file = patches::files(&way.patch).next().unwrap_or_default();
    let title = format!("Another good answer in {file}: {}", way.title);
    println!("\n{}\n{}\n", paint(Style::Strong, title), way.when);
    print(&way.patch);
}

/// No reference takes the place of a crate that is the learner's own, and no file of the two is meant to be alike.
fn of_ones_own(workspace: &Workspace, exercise: &Exercise, apply: bool) -> anyhow::Result<Outcome> {
    if !apply {
        return tell_references(workspace, exercise, true, true);
    }
    let name = exercise.name();
    Trouble::new(format!(
        "{name} is a service of your own; no reference takes its place"
    ))
    .expected(format!(
        "just solution {name}, which says where to read one"
    ))
    .next(format!(
        "just check {} judges the reference",
        exercise.reference_name()
    ))
    .err()
}

/// The references of a crate that is the learner's own: their files, each with its job.
pub fn tell_references(
    workspace: &Workspace,
    exercise: &Exercise,
    axum: bool,
    rocket: bool,
) -> anyhow::Result<Outcome> {
    let name = exercise.name();
    if !exercise.is_own() {
        return Trouble::new(format!("{name} has one reference, on Rocket"))
            .next(format!("just solution {name}"))
            .err();
    }
    if axum {
        tell_files(workspace, "On axum", &exercise.solution(workspace))?;
    }
    for other in Reference::others(workspace, exercise).filter(|_| rocket) {
        tell_files(workspace, "On Rocket", &other.folder)?;
    }
    println!("{name} is a service of your own, so there is no difference to show.");
    println!("next: read the file that does what yours doesn't; just check {name}");
    Ok(Outcome::Passed)
}

fn tell_files(workspace: &Workspace, on: &str, folder: &Path) -> anyhow::Result<()> {
    let sources = folder.join("src");
    let shown = files::shown(workspace, &sources);
    println!("{}", paint(Style::Strong, format!("{on}: {shown}")));
    for (path, bytes) in files::read_tree(&sources)? {
        let text = String::from_utf8_lossy(&bytes);
        let comment: Vec<&str> = text
            .lines()
            .map_while(|line| line.strip_prefix("//!"))
            .map(str::trim)
            .collect();
        println!("  {:<16} {}", path.display(), comment.join(" "));
    }
    println!();
    Ok(())
}

/// The files whose reference may be shown: of katas those that are green, and the one after them.
fn opened<'a>(workspace: &Workspace, exercise: &'a Exercise) -> anyhow::Result<&'a [PathBuf]> {
    let count = exercise.edit.len();
    let green = katas::green(workspace, exercise)?.unwrap_or(count);
    Ok(&exercise.edit[..count.min(green + 1)])
}

/// Prints a difference in colors, the names of its files first.
fn print(difference: &str) {
    for (number, line) in difference.lines().enumerate() {
        match number < 2 {
            true => println!("{}", paint(Style::Strong, line)),
            false => print_line(line),
        }
    }
    println!();
}

/// Prints a line of a difference in its color.
pub(super) fn print_line(line: &str) {
    let style = match line.as_bytes().first() {
        Some(b'+') => Style::Good,
        Some(b'-') => Style::Bad,
        Some(b'@') => Style::Faint,
        _ => return println!("{line}"),
    };
    println!("{}", paint(style, line));
}
