//! `just carry`: for the author, carries a change in one reference on to all that grows from it.

use crate::chain::carry;

use crate::chain::carry::Carried;

use crate::chain::carry::Open;

use crate::chain::carry::Step;
use crate::chain::conflicts;
use workshop_base::exercise::Catalogue;
use workshop_base::files;
use workshop_base::outcome::Outcome;
use workshop_base::outcome::Trouble;
use workshop_base::target::Target;
use workshop_base::terminal::Style;
use workshop_base::terminal::paint;
use workshop_base::workspace::Workspace;

/// Carries the change. With a conflict anywhere nothing is written but the copies to decide about.
///
/// # Errors
/// When there is no such exercise, files cannot be read or written, or a patch or a record does not fit.
pub fn run(workspace: &Workspace, target: Target) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let (Target::Exercise(number) | Target::Solution(number)) = target else {
        return Err(Trouble::new(format!("nothing grows from {target}"))
            .expected(format!("one of: {}", catalogue.names().join(", ")))
            .next("just carry with the exercise whose reference you changed")
            .into());
    };
    let origin = catalogue.get(number)?;
    match carry::plan(workspace, &catalogue, origin)? {
        Carried::Ready(steps, desk) => {
            for step in &steps {
                carry::write(workspace, step)?;
                tell(workspace, step);
            }
            desk.clear()?;
            if steps.iter().any(|step| !step.changes.is_empty()) {
                println!("next: git diff, then just verify all");
            }
            Ok(Outcome::Passed)
        }
        Carried::Stuck(open) => {
            show(workspace, &open)?;
            println!(
                "\nNothing else was written. In each file named above, put what it shall be in place of the markers (an \
                 empty file removes it).\nnext: just carry {}",
                origin.name()
            );
            Ok(Outcome::Failed)
        }
    }
}

/// What a step has written.
pub(super) fn tell(workspace: &Workspace, step: &Step) {
    println!("{}", paint(Style::Strong, step.exercise.name()));
    for source in &step.trusted {
        println!("  {source} is recorded as it is; what grows from it is taken to have it already");
    }
    if step.changes.is_empty() {
        println!("  has everything already");
    }
    for change in &step.changes {
        println!("  wrote {}", files::shown(workspace, &change.path));
    }
    for file in &step.kept {
        println!("  kept lines of its own where the reference has changed: {file}");
    }
}

/// The files to decide about: what stands at each place, and the change that does not fit there.
fn show(workspace: &Workspace, open: &[Open]) -> anyhow::Result<()> {
    for open in open {
        let copy = files::shown(workspace, &open.copy);
        println!(
            "{} {}: it has changed here, and before",
            paint(Style::Bad, "conflict"),
            open.file
        );
        let text = String::from_utf8_lossy(&std::fs::read(&open.copy)?).into_owned();
        for place in conflicts::disagreements(&text) {
            println!(
                "  {}",
                paint(Style::Strong, format!("{copy}:{}", place.line))
            );
            println!(
                "  here there is{}",
                if place.ours.is_empty() {
                    " nothing any more"
                } else {
                    ":"
                }
            );
            print_indented(&place.ours);
            println!("  the change is:");
            let change = diffy::create_patch(&place.base, &place.theirs).to_string();
            // Without the names of the two sides.
            print_indented(change.splitn(3, '\n').last().unwrap_or_default());
        }
    }
    Ok(())
}

fn print_indented(text: &str) {
    for line in text.lines() {
        println!("    {line}");
    }
}
