//! `just catch-up`: on to an exercise, past those that are not done. They are marked as skipped, and their files stay as they are.

use crate::commands::reset::put_in_place;
use crate::state;
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::originals;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::workspace::Workspace;

/// Marks what comes before the exercise and is not green as skipped, and puts its starter in place.
pub fn run(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Outcome> {
    let name = exercise.name();
    if state::recall(workspace, exercise).is_green() {
        return Trouble::new(format!("{name} is green: you have caught up with it"))
            .expected("an exercise that isn't green yet")
            .next("just progress says which one is next")
            .err();
    }
    let catalogue = Catalogue::read(workspace)?;
    let is_earlier = |other: &&Exercise| other.number < exercise.number;
    let earlier: Vec<&Exercise> = catalogue.iter().filter(is_earlier).collect();
    if earlier.is_empty() {
        return Trouble::new(format!("nothing comes before {name}"))
            .expected("an exercise that others come before")
            .next(format!("just check {name}"))
            .err();
    }
    // What may fail comes first.
    let starter = originals::starter(workspace, exercise)?;
    let mut skipped = Vec::new();
    for other in earlier {
        if state::mark_skipped(workspace, other)? {
            skipped.push(other.name());
        }
    }
    if !skipped.is_empty() {
        println!("Skipped: {}.", skipped.join(", "));
        println!("Your files there stay as they are. When you check one, it's no longer skipped.");
    }
    state::take_up(workspace, exercise)?;
    put_in_place(workspace, exercise, &starter, "the starter")
}
