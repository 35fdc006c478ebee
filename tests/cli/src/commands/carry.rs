//! `just carry` and `workshop starter-patch`: for the author, a change in one reference goes on to all that grows from it.

use std::path::Path;

use crate::chain::{
    carry::{self, CarryStep},
    merge,
};

use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::files;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::target::Target;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;

/// Carries the change. With a conflict anywhere nothing is written but the copies to decide about.
pub fn run(workspace: &Workspace, target: Target) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let Some(origin) = catalogue.of(target)? else {
        return Trouble::new(format!("nothing grows from {target}"))
            .expected(format!("one of: {}", catalogue.names().join(", ")))
            .next("just carry with the exercise whose reference you changed")
            .err();
    };
    let steps = carry::plan(workspace, &catalogue, origin)?;
    let open: Vec<_> = steps.iter().flat_map(|step| &step.open).collect();
    if !open.is_empty() {
        for (file, copy) in open {
            show(workspace, file, copy)?;
        }
        println!(
            "\nNothing else was written. In each file named above, put what it shall be in place of the markers (an empty file \
             removes it).\nnext: just carry {}",
            origin.name()
        );
        return Ok(Outcome::Failed);
    }
    for step in &steps {
        finish(workspace, step)?;
    }
    files::remove(&merge::desk(workspace))?;
    if steps.iter().any(|step| !step.writes.is_empty()) {
        println!("next: git diff, then just verify all");
    }
    Ok(Outcome::Passed)
}

/// Writes `starter.patch` beside the reference, from what lies in the starter's folder now.
pub fn starter_patch(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Outcome> {
    finish(workspace, &carry::starter_by_hand(workspace, exercise)?)?;
    Ok(Outcome::Passed)
}

/// Writes what a step has to write, and says so.
fn finish(workspace: &Workspace, step: &CarryStep) -> anyhow::Result<()> {
    step.finish()?;
    println!("{}", paint(Style::Strong, step.exercise.name()));
    if step.writes.is_empty() {
        println!("  has everything already");
    }
    for write in &step.writes {
        println!("  wrote {}", files::shown(workspace, &write.path));
    }
    for note in &step.notes {
        println!("  {note}");
    }
    Ok(())
}

/// A file to decide about, with both sides of each disagreement as git shows them.
fn show(workspace: &Workspace, file: &str, copy: &Path) -> anyhow::Result<()> {
    let conflict = paint(Style::Bad, "conflict");
    println!("{conflict} {file}: it has changed here, and in the reference before");
    let text = String::from_utf8_lossy(&std::fs::read(copy)?).into_owned();
    let copy = files::shown(workspace, copy);
    let mut inside = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with("<<<<<<< ") {
            inside = true;
            println!("  {}", paint(Style::Strong, format!("{copy}:{number}")));
        }
        if inside {
            println!("    {line}");
        }
        inside &= !line.starts_with(">>>>>>> ");
    }
    Ok(())
}
