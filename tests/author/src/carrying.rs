//! `just carry` and `just starter-patch`: for the author, a change in one reference goes on to all that grows from it.

use crate::chain::carry;
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::files;
use workshop_base::originals;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::target::Target;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;

/// Carries what has changed since a commit, and says what was written, what to look at, and what to resolve.
pub fn run(
    workspace: &Workspace,
    target: Target,
    since: Option<String>,
) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let Some(origin) = catalogue.of(target)? else {
        return Trouble::new(format!("nothing grows from {target}"))
            .expected(format!("one of: {}", catalogue.names().join(", ")))
            .next("just carry with the exercise whose reference you changed")
            .err();
    };
    let steps = carry::carry(workspace, &catalogue, origin, since)?;
    let mut stuck = Vec::new();
    for step in &steps {
        println!("{}", paint(Style::Strong, step.exercise.name()));
        if step.written.is_empty() && step.conflicts.is_empty() {
            println!("  has everything already");
        }
        for path in &step.written {
            println!("  wrote {}", files::shown(workspace, path));
        }
        for note in &step.notes {
            println!("  {note}");
        }
        for path in &step.conflicts {
            let conflict = paint(Style::Bad, "conflict");
            println!("  {conflict} in {}", files::shown(workspace, path));
        }
        if !step.conflicts.is_empty() {
            stuck.push(format!("just carry {}", step.exercise.name()));
        }
    }
    if stuck.is_empty() {
        println!("next: git diff, then just verify all");
        return Ok(Outcome::Passed);
    }
    println!(
        "Nothing was carried beyond the conflicts. In each of these files, put what it shall be in place of git's markers.\nnext: {}",
        stuck.join("; ")
    );
    Ok(Outcome::Failed)
}

/// Writes `starter.patch` beside the reference, from what lies in the starter's folder now.
pub fn starter_patch(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Outcome> {
    match originals::write_patch(workspace, exercise)? {
        Some(path) => println!("wrote {}", files::shown(workspace, &path)),
        None => println!("{} has everything already", originals::STARTER_PATCH),
    }
    Ok(Outcome::Passed)
}
