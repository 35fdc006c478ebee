//! Carrying: from a changed reference to its starter and its mistakes, to the next reference, and so on to the end.
//!
//! Everything is merged in memory first. Files are written when all of it goes together; until then the only place that is
//! written to is `.workshop/carry`.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::chain::{
    merge::{self, Change, Decision},
    record::{self, Record},
    without_description,
};
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::files::{self, Tree};
use workshop_base::mistakes::Mistake;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;
use workshop_base::{originals, patches};

/// What is to be written for one exercise.
#[derive(Debug)]
pub struct CarryStep<'a> {
    workspace: &'a Workspace,
    /// The exercise.
    pub exercise: &'a Exercise,
    /// The files, in the order in which they are written: a step that was cut short is begun again without harm.
    pub writes: Vec<Write>,
    /// What the author should know about it.
    pub notes: Vec<String>,
    /// The copies in which the author has to decide first, each with the file that it is about.
    pub open: Vec<(String, PathBuf)>,
    record: Record,
    /// The reference as it will be.
    reference: Tree,
}

/// One file to be written.
#[derive(Debug)]
pub struct Write {
    /// The file.
    pub path: PathBuf,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

/// Merges the change to one reference into all that grows from it. Where the author has to decide, the last step says so; what
/// comes after it would be merged with what may not stay.
pub fn plan<'a>(
    workspace: &'a Workspace,
    catalogue: &'a Catalogue,
    origin: &'a Exercise,
) -> anyhow::Result<Vec<CarryStep<'a>>> {
    let mut steps: Vec<CarryStep> = Vec::new();
    for exercise in catalogue.iter() {
        let grows_from = exercise.grows_from.as_ref().map(|before| before.exercise);
        let before = steps
            .iter()
            .find(|step| Some(step.exercise.number) == grows_from);
        if exercise != origin && before.is_none() {
            continue;
        }
        let mut step = CarryStep::new(workspace, exercise)?;
        step.carry(before)?;
        let stuck = !step.open.is_empty();
        steps.push(step);
        if stuck {
            break;
        }
    }
    Ok(steps)
}

/// For an author who has made the starter by hand: what lies in its folder is the starter of the reference as it is. The
/// mistakes follow the reference as when it is carried.
pub fn starter_by_hand<'a>(
    workspace: &'a Workspace,
    exercise: &'a Exercise,
) -> anyhow::Result<CarryStep<'a>> {
    let mut step = CarryStep::new(workspace, exercise)?;
    if let Some(change) = step.change(exercise, step.reference.clone())? {
        step.mistakes(&change)?;
    }
    let reference = originals::reference(workspace, exercise)?;
    let starter = originals::in_place(workspace, exercise)?;
    step.patch(&reference, &starter)?;
    step.record.take(exercise, &step.reference);
    step.write(record::place(workspace, exercise), step.record.text()?)?;
    Ok(step)
}

impl<'a> CarryStep<'a> {
    fn new(workspace: &'a Workspace, exercise: &'a Exercise) -> anyhow::Result<Self> {
        Ok(CarryStep {
            workspace,
            exercise,
            writes: Vec::new(),
            notes: Vec::new(),
            open: Vec::new(),
            record: Record::read(workspace, exercise)?,
            reference: originals::reference_files(workspace, exercise)?,
        })
    }

    /// The reference takes over what has changed in the one before, its starter and its mistakes what has changed in it.
    fn carry(&mut self, before: Option<&CarryStep>) -> anyhow::Result<()> {
        let exercise = self.exercise;
        let folder = exercise.solution(self.workspace);
        let in_place = self.reference.clone();
        let mut change_before = None;
        if let Some(before) = before {
            let (source, new) = (
                before.exercise,
                without_description(before.reference.clone()),
            );
            if let Some(change) = self.change(source, new.clone())? {
                let change = named(change, &source.reference_name(), &exercise.reference_name());
                self.merge_reference(&folder, &change)?;
                change_before = Some(change);
            }
            self.record.take(source, &new);
        }
        // While the author has to decide about the reference, nothing can follow it; a reference that is new has no
        // starter yet.
        let has_starter = exercise.is_own() || folder.join(originals::STARTER_PATCH).exists();
        if self.open.is_empty() && has_starter {
            if let Some(change) = self.change(exercise, self.reference.clone())? {
                self.mistakes(&change)?;
                match exercise.is_own() {
                    true => self.given(change),
                    false => self.starter(change, change_before)?,
                }
            }
            self.record.take(exercise, &self.reference);
        }
        let reference = self.reference.clone();
        self.write_all(&folder, &in_place, &reference);
        self.write(record::place(self.workspace, exercise), self.record.text()?)
    }

    /// What has changed in a reference since it was last taken over; none when it never was.
    fn change(&mut self, source: &Exercise, new: Tree) -> anyhow::Result<Option<Change>> {
        let Some(taken) = self.record.taken_from(source) else {
            let note = "is recorded as it is; what grows from it is taken to have it already";
            self.notes.push(format!("{} {note}", source.name()));
            return Ok(None);
        };
        let now = originals::reference_files(self.workspace, source)?;
        let old = record::files_of(self.workspace, source, taken, &now)?;
        Ok(Some(Change { old, new }))
    }

    /// The change in the reference before; where both sides have changed, the author decides.
    fn merge_reference(&mut self, folder: &Path, change: &Change) -> anyhow::Result<()> {
        let (merged, conflicts) = merge::merge(&self.reference, change)?;
        self.reference = merged;
        for conflict in conflicts {
            let file = files::shown(self.workspace, &folder.join(&conflict.path));
            match merge::decide(self.workspace, &file, &conflict)? {
                Decision::Made(content) => merge::set(&mut self.reference, &conflict.path, content),
                Decision::Open(copy) => self.open.push((file, copy)),
            }
        }
        Ok(())
    }

    /// The starter follows its reference and, in the files that the learner edits, the reference before, whose lines it
    /// has where the exercise has not begun. First the course's own, and so the patch; then what lies in the folder,
    /// where somebody may be at work.
    fn starter(&mut self, change: Change, change_before: Option<Change>) -> anyhow::Result<()> {
        let exercise = self.exercise;
        let change = named(change, &exercise.reference_name(), &exercise.name());
        let folder = exercise.starter(self.workspace);
        let old = originals::starter_from(self.workspace, exercise, change.old.clone())?;
        let (mut new, mut kept) = follow(&old, &change)?;
        if let Some(before) = change_before {
            let before = before.map(|mut tree| {
                tree.retain(|path, _| exercise.edit.contains(path));
                tree
            });
            let (newer, kept_from_before) = follow(&new, &before)?;
            new = newer;
            kept.retain(|path| !before.touched().contains(path));
            kept.extend(kept_from_before);
        }
        for path in kept {
            self.keeps(&files::shown(self.workspace, &folder.join(path)));
        }
        let reference = change.new;
        let course = Change { old, new };
        let in_place = originals::in_place(self.workspace, exercise)?;
        let (with_change, conflicts) = merge::merge(&in_place, &course)?;
        if let Some(conflict) = conflicts.first() {
            let file = files::shown(self.workspace, &folder.join(&conflict.path));
            return Trouble::new(format!(
                "{file} has a learner's work in it, which conflicts with the change"
            ))
            .expected("the starter, or work in other places than the change")
            .next(format!(
                "just reset {} keeps the work as an attempt; then the same command again",
                exercise.name()
            ))
            .failed()
            .err();
        }
        self.write_all(&folder, &in_place, &with_change);
        self.patch(&reference, &course.new)
    }

    /// What learners get who make the crate themselves.
    fn given(&mut self, change: Change) {
        let change = change.map(originals::without_code);
        let folder = self.exercise.starter(self.workspace);
        self.write_all(&folder, &change.old, &change.new);
    }

    /// Each mistake follows the reference that it is planted in.
    fn mistakes(&mut self, change: &Change) -> anyhow::Result<()> {
        let touched = change.touched();
        for mistake in Mistake::all(&self.exercise.solution(self.workspace))? {
            let file = files::shown(self.workspace, &mistake.file);
            let mut planted = change.old.clone();
            if patches::apply(&mut planted, &mistake.patch).is_err() {
                // Its author may have made it anew already.
                patches::apply(&mut change.new.clone(), &mistake.patch).map_err(|misfit| {
                    Trouble::new(format!("{file} {misfit}"))
                        .expected("a patch of the reference as it is, or as it was when it was last carried")
                        .next("make the patch again, then the same command again")
                        .failed()
                })?;
                continue;
            }
            let differing = files::differing(&change.old, &planted);
            if !differing.iter().any(|path| touched.contains(path)) {
                continue;
            }
            let (planted, kept) = follow(&planted, change)?;
            for path in kept {
                self.keeps(&format!("{file}, {}", path.display()));
            }
            let patch = patches::between(&change.new, &planted);
            let text = mistake.header().to_owned() + &patch;
            self.write(mistake.file, text)?;
        }
        Ok(())
    }

    fn keeps(&mut self, file: &str) {
        let note = "kept lines of its own where the reference has changed";
        self.notes.push(format!("{note}: {file}"));
    }

    fn patch(&mut self, reference: &Tree, starter: &Tree) -> anyhow::Result<()> {
        let patch = originals::make_patch(self.exercise, reference, starter)?;
        let folder = self.exercise.solution(self.workspace);
        self.write(folder.join(originals::STARTER_PATCH), patch)
    }

    /// Notes the files of a folder that differ.
    fn write_all(&mut self, folder: &Path, before: &Tree, after: &Tree) {
        let differing = files::differing(before, after).into_iter();
        self.writes.extend(differing.map(|path| Write {
            path: folder.join(&path),
            before: before.get(&path).cloned(),
            after: after.get(&path).cloned(),
        }));
    }

    /// Notes one file, unless it has this text already.
    fn write(&mut self, path: PathBuf, text: String) -> anyhow::Result<()> {
        let before = files::read_if_there(&path)?;
        let after = Some(text.into_bytes());
        if before != after {
            self.writes.push(Write {
                path,
                before,
                after,
            });
        }
        Ok(())
    }

    /// Writes the files.
    pub fn finish(&self) -> anyhow::Result<()> {
        let way = self.workspace.unfinished();
        for write in &self.writes {
            let (before, after) = (write.before.as_ref(), write.after.as_ref());
            files::replace(&way, &write.path, before, after).with_context(|| {
                Trouble::new(format!("{} was only partly carried", self.exercise.name()))
                    .expected("files that nobody else writes meanwhile, and room on the disk")
                    .next("run the same command again; it finishes what is left")
            })?;
        }
        record::keep(&self.exercise.solution(self.workspace), &self.reference)
    }
}

/// The same change under another package name.
fn named(change: Change, from: &str, to: &str) -> Change {
    change.map(|tree| originals::under_name(tree, from, to))
}

/// A starter or a mistake with a change, and the files in which it keeps lines of its own: the change is about lines that it does
/// not have. The gate tells whether it still does what it is there for.
fn follow(files: &Tree, change: &Change) -> anyhow::Result<(Tree, Vec<PathBuf>)> {
    let (merged, conflicts) = merge::merge(files, change)?;
    let kept = conflicts.into_iter().map(|conflict| conflict.path);
    Ok((merged, kept.collect()))
}
