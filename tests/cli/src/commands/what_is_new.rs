//! `just what-is-new`: what a starter has that the reference before it hasn't, hunk by hunk, each with a sentence why.

use crate::commands::solution::print_line;

use workshop_base::exercise::{Catalogue, Exercise, Kind};
use workshop_base::files;
use workshop_base::news::{FileNews, News};
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;

/// Tells what is new in the starter of one exercise.
pub fn run(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Outcome> {
    let name = exercise.name();
    if exercise.kind != Kind::Crate {
        return Trouble::new(format!("{name} has no starter that grew from another one"))
            .next("just what-is-new")
            .err();
    }
    let news = News::of(workspace, &Catalogue::read(workspace)?, exercise)?;
    let since = match news.since {
        Some(before) => format!("since the reference of exercise {before}"),
        None => "in the starter".to_owned(),
    };
    println!(
        "{}",
        paint(Style::Strong, format!("{name}: what is new {since}"))
    );
    println!("{}\n", news.in_short());
    let folder = exercise.starter(workspace);
    for file in &news.files {
        let path = file.path.display().to_string();
        match &file.news {
            FileNews::Whole { lines, why } => {
                println!("{}", paint(Style::Strong, format!("{path}, new")));
                let place = files::shown(workspace, &folder.join(&file.path));
                println!("{why}\n{lines} lines, in {place}\n");
            }
            FileNews::Hunks(hunks) => {
                println!("{}", paint(Style::Strong, path));
                for hunk in hunks {
                    println!("{}", hunk.why);
                    hunk.text.lines().for_each(print_line);
                    println!();
                }
            }
        }
    }
    if !news.questions.is_empty() {
        println!("{}", paint(Style::Strong, "Two questions about it"));
        news.questions
            .iter()
            .for_each(|asked| println!("- {asked}"));
        println!();
    }
    println!(
        "next: {}",
        paint(Style::Strong, format!("just check {name}"))
    );
    Ok(Outcome::Passed)
}

/// Tells of each exercise how many lines are given, and how many typed.
pub fn tell_all(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    println!("{:<12} {:>6} {:>6} {:>6}", "", "since", "given", "typed");
    for exercise in catalogue.iter().filter(|one| one.kind == Kind::Crate) {
        let news = News::of(workspace, &catalogue, exercise)?;
        let since = news.since.map(|number| number.to_string());
        println!(
            "{:<12} {:>6} {:>6} {:>6}",
            exercise.name(),
            since.unwrap_or_default(),
            news.given,
            news.typed
        );
    }
    println!("Lines of Rust, without tests, blank lines and comments.");
    println!(
        "next: {}",
        paint(Style::Strong, "just what-is-new exercise-3")
    );
    Ok(Outcome::Passed)
}
