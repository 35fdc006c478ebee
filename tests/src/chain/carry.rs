//! Carrying: from a changed reference to its starter and its mistakes, to the next reference, and so on to the end.
//!
//! Everything is merged in memory first. Files are written when all of it goes together; until then the only place that
//! is written to is `.workshop/carry`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::conflicts::{Decision, Desk};
use super::merge::{self, Conflict, Version};
use super::record::{self, Record};
use super::without_description;
use crate::exercise::{Catalogue, Exercise};
use crate::files::{self, Tree};
use crate::mistakes::Mistake;
use crate::originals;
use crate::outcome::Trouble;
use crate::patches;
use crate::workspace::Workspace;

/// What is to be written for one exercise.
#[derive(Debug)]
pub struct Step<'a> {
    /// The exercise.
    pub exercise: &'a Exercise,
    /// The files, in the order in which they are written: a step that was cut short is begun again without harm.
    pub changes: Vec<Change>,
    /// The exercises whose contents are recorded for the first time: they are taken to be carried already.
    pub trusted: Vec<String>,
    /// The files of the starter and the mistakes that keep lines of their own where the reference has changed.
    pub kept: Vec<String>,
    /// The reference as it will be.
    reference: Tree,
}

/// One file to be written.
#[derive(Debug)]
pub struct Change {
    /// The file.
    pub path: PathBuf,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

/// A file that the author has to decide about.
#[derive(Debug)]
pub struct Open {
    /// The file, relative to the checkout.
    pub file: String,
    /// Its copy with both sides, to be edited.
    pub copy: PathBuf,
}

/// What carrying has come to.
#[derive(Debug)]
pub enum Carried<'a> {
    /// Everything goes together.
    Ready(Vec<Step<'a>>, Desk),
    /// The author has to decide first.
    Stuck(Vec<Open>),
}

/// Merges the change to one reference into all that grows from it. Nothing is written but for what goes to the desk.
///
/// # Errors
/// When files cannot be read, or a patch or a record does not fit.
pub fn plan<'a>(
    workspace: &Workspace,
    catalogue: &'a Catalogue,
    origin: &'a Exercise,
) -> anyhow::Result<Carried<'a>> {
    let mut carrier = Carrier {
        workspace,
        desk: Desk::open(workspace)?,
        open: Vec::new(),
    };
    let mut references: BTreeMap<u8, (&Exercise, Tree)> = BTreeMap::new();
    let mut steps = Vec::new();
    for exercise in catalogue.iter() {
        let before = exercise
            .grows_from
            .as_ref()
            .and_then(|grows_from| references.get(&grows_from.exercise));
        if exercise != origin && before.is_none() {
            continue;
        }
        let step = carrier.step(exercise, before)?;
        // Whatever comes after an open decision would be merged with what may not stay.
        if !carrier.open.is_empty() {
            return Ok(Carried::Stuck(carrier.open));
        }
        references.insert(exercise.number, (exercise, step.reference.clone()));
        steps.push(step);
    }
    Ok(Carried::Ready(steps, carrier.desk))
}

/// Writes a step's files.
///
/// # Errors
/// When a file was written by somebody else meanwhile, or the disk refuses; the same command again finishes it.
pub fn write(workspace: &Workspace, step: &Step) -> anyhow::Result<()> {
    record::keep(workspace, &step.reference)?;
    for change in &step.changes {
        files::replace(&change.path, change.before.as_ref(), change.after.as_ref()).with_context(
            || {
                Trouble::new(format!("{} is carried in part only", step.exercise.name()))
                    .expected("files that nobody else writes meanwhile, and room on the disk")
                    .next("the same command again finishes it")
            },
        )?;
    }
    Ok(())
}

struct Carrier<'a> {
    workspace: &'a Workspace,
    desk: Desk,
    open: Vec<Open>,
}

impl Carrier<'_> {
    /// One exercise: its reference takes over what has changed in the one before, its starter and its mistakes what has
    /// changed in the reference.
    fn step<'a>(
        &mut self,
        exercise: &'a Exercise,
        before: Option<&(&Exercise, Tree)>,
    ) -> anyhow::Result<Step<'a>> {
        let mut record = Record::read(self.workspace, exercise)?;
        let mut step = Step {
            exercise,
            changes: Vec::new(),
            trusted: Vec::new(),
            kept: Vec::new(),
            reference: Tree::new(),
        };
        let in_place = originals::reference_files(self.workspace, exercise)?;

        let mut reference = in_place.clone();
        if let Some((source, theirs)) = before {
            let theirs = without_description(theirs.clone());
            match record.taken_from(source) {
                Some(taken) => {
                    let base = record::files_of(self.workspace, source, taken, &theirs)?;
                    let named = |tree| {
                        let (from, to) = (source.reference_name(), exercise.reference_name());
                        originals::under_name(tree, &from, &to)
                    };
                    reference = self.reference(
                        (&exercise.solution(self.workspace), &in_place),
                        &named(base),
                        (&source.solution(self.workspace), &named(theirs.clone())),
                    )?;
                }
                None => step.trusted.push(source.name()),
            }
            record.take(source, &theirs);
        }

        match record.taken_from(exercise) {
            // While the author has to decide about the reference, nothing can follow it.
            Some(_) if !self.open.is_empty() => {}
            Some(taken) => {
                let old = record::files_of(self.workspace, exercise, taken, &in_place)?;
                if old != reference {
                    self.starter(&mut step, &old, &reference)?;
                    self.mistakes(&mut step, &old, &reference)?;
                }
            }
            None => step.trusted.push(exercise.name()),
        }
        record.take(exercise, &reference);

        let folder = exercise.solution(self.workspace);
        step.add_all(&folder, &in_place, &reference);
        let place = record::place(self.workspace, exercise);
        step.add_text(place, record.text()?)?;
        step.reference = reference;
        Ok(step)
    }

    /// The starter follows its reference: first the course's own, and so the patch, then what lies in the folder, where
    /// somebody may be at work.
    fn starter(&self, step: &mut Step, old: &Tree, new: &Tree) -> anyhow::Result<()> {
        let exercise = step.exercise;
        let learners = |tree: &Tree| {
            originals::under_name(tree.clone(), &exercise.reference_name(), &exercise.name())
        };
        let (old, new) = (learners(old), learners(new));
        let folder = exercise.starter(self.workspace);
        let reference = exercise.solution(self.workspace);

        let old_starter = originals::starter_from(self.workspace, exercise, old.clone())?;
        let new_starter = step.follow(
            self.workspace,
            (&folder, &old_starter),
            &old,
            (&reference, &new),
        )?;
        let in_place = originals::in_place(self.workspace, exercise)?;
        let in_place_then = beside(
            self.workspace,
            exercise,
            &in_place,
            &old_starter,
            &new_starter,
        )?;
        step.add_all(&folder, &in_place, &in_place_then);
        let patch = originals::make_patch(exercise, &new, &new_starter)?;
        step.add_text(reference.join(originals::STARTER_PATCH), patch)
    }

    /// Each mistake follows the reference that it is planted in.
    fn mistakes(&self, step: &mut Step, old: &Tree, new: &Tree) -> anyhow::Result<()> {
        let reference = step.exercise.solution(self.workspace);
        let changed = files::differing(old, new);
        for mistake in Mistake::all(&reference)? {
            let mut planted = old.clone();
            if patches::apply(&mut planted, &mistake.patch).is_err() {
                // Somebody has made it anew already.
                patches::apply(&mut new.clone(), &mistake.patch)
                    .map_err(|misfit| unfit(self.workspace, &mistake, &misfit))?;
                continue;
            }
            let touched = files::differing(old, &planted);
            if !touched.iter().any(|path| changed.contains(path)) {
                continue;
            }
            let folder = reference.join("mistakes").join(&mistake.slug);
            let planted =
                step.follow(self.workspace, (&folder, &planted), old, (&reference, new))?;
            let patch = format!("{}{}", mistake.header(), patches::between(new, &planted));
            step.add_text(mistake.file, patch)?;
        }
        Ok(())
    }

    /// A reference with the change; where both sides have changed, the author decides.
    fn reference(
        &mut self,
        ours: (&Path, &Tree),
        base: &Tree,
        theirs: (&Path, &Tree),
    ) -> anyhow::Result<Tree> {
        let (mut merged, conflicts) = merged(self.workspace, ours, base, theirs)?;
        for conflict in conflicts {
            let file = files::shown(self.workspace, &ours.0.join(&conflict.path));
            match self.desk.decide(Path::new(&file), &conflict)? {
                Decision::Made(content) => merge::set(&mut merged, &conflict.path, content),
                Decision::Open(copy) => self.open.push(Open { file, copy }),
            }
        }
        Ok(merged)
    }
}

impl Step<'_> {
    /// A starter or a mistake with the change to its reference. Where it has lines of its own, they stay: the change is
    /// about lines that it does not have. The gate tells whether it still does what it is there for.
    fn follow(
        &mut self,
        workspace: &Workspace,
        ours: (&Path, &Tree),
        base: &Tree,
        theirs: (&Path, &Tree),
    ) -> anyhow::Result<Tree> {
        let (mut merged, conflicts) = merged(workspace, ours, base, theirs)?;
        for conflict in conflicts {
            self.kept
                .push(files::shown(workspace, &ours.0.join(&conflict.path)));
            merge::set(&mut merged, &conflict.path, conflict.keeping_ours);
        }
        Ok(merged)
    }

    /// Writes the files of a folder that have changed.
    fn add_all(&mut self, folder: &Path, before: &Tree, after: &Tree) {
        for path in files::differing(before, after) {
            self.changes.push(Change {
                path: folder.join(&path),
                before: before.get(&path).cloned(),
                after: after.get(&path).cloned(),
            });
        }
    }

    /// Writes one file whose old content is of no matter, unless it has this text already.
    fn add_text(&mut self, path: PathBuf, text: String) -> anyhow::Result<()> {
        let before = match std::fs::read(&path) {
            Ok(content) => Some(content),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        let after = Some(text.into_bytes());
        if before != after {
            self.changes.push(Change {
                path,
                before,
                after,
            });
        }
        Ok(())
    }
}

/// Merges folders; their paths name the sides of a conflict.
fn merged(
    workspace: &Workspace,
    ours: (&Path, &Tree),
    base: &Tree,
    theirs: (&Path, &Tree),
) -> anyhow::Result<(Tree, Vec<Conflict>)> {
    let names = [ours.0, theirs.0].map(|folder| files::shown(workspace, folder));
    let version = |files, name| Version { files, name };
    merge::folders(
        version(ours.1, &names[0]),
        base,
        version(theirs.1, &names[1]),
    )
}

/// What lies in the starter's folder, with the change. Somebody's own work there stays; where the change runs into it,
/// it is theirs to put aside first.
fn beside(
    workspace: &Workspace,
    exercise: &Exercise,
    in_place: &Tree,
    old: &Tree,
    new: &Tree,
) -> anyhow::Result<Tree> {
    let (folder, course) = (
        exercise.starter(workspace),
        exercise.solution(workspace).join(originals::STARTER_PATCH),
    );
    let (merged, conflicts) = merged(workspace, (&folder, in_place), old, (&course, new))?;
    if let Some(conflict) = conflicts.first() {
        return Err(Trouble::new(format!(
            "{} holds somebody's work, and the change runs into it",
            files::shown(workspace, &folder.join(&conflict.path))
        ))
        .expected("the starter, or work in other places than the change")
        .next(format!(
            "just reset {} keeps the work as an attempt; then the same command again",
            exercise.name()
        ))
        .failed()
        .into());
    }
    Ok(merged)
}

fn unfit(workspace: &Workspace, mistake: &Mistake, misfit: &patches::Misfit) -> Trouble {
    Trouble::new(format!(
        "{} {misfit}",
        files::shown(workspace, &mistake.file)
    ))
    .expected("a patch of the reference as it is, or as it was when it was last carried")
    .next("make the patch again, then the same command again")
    .failed()
}
