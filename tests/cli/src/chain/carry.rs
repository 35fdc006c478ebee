//! Carrying: from a changed reference to its starter and its mistakes, to the next reference, and so on to the end.
//!
//! Everything is merged in memory first. Files are written when all of it goes together; until then the only place that
//! is written to is `.workshop/carry`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::chain::conflicts::Decision;

use crate::chain::conflicts::Desk;
use crate::chain::merge;
use crate::chain::merge::Conflict;
use crate::chain::merge::Version;
use crate::chain::record;
use crate::chain::record::Record;
use crate::chain::without_description;
use crate::mistakes::Mistake;
use workshop_base::exercise::Catalogue;
use workshop_base::exercise::Exercise;
use workshop_base::files;
use workshop_base::files::Tree;
use workshop_base::originals;
use workshop_base::outcome::Trouble;
use workshop_base::patches;
use workshop_base::workspace::Workspace;

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
    let mut carrier = Carrier::new(workspace)?;
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

/// For an author who has made the starter by hand: what lies in its folder is the starter of the reference as it is. The
/// mistakes follow the reference as when it is carried.
///
/// # Errors
/// When starter and reference differ outside the edit list, a mistake does not fit, or files cannot be read.
pub fn starter_by_hand<'a>(
    workspace: &Workspace,
    exercise: &'a Exercise,
) -> anyhow::Result<Step<'a>> {
    let carrier = Carrier::new(workspace)?;
    let mut record = Record::read(workspace, exercise)?;
    let mut step = Step::new(exercise);
    step.reference = originals::reference_files(workspace, exercise)?;
    if let Some(change) = carrier.change(&record, exercise, step.reference.clone())? {
        carrier.mistakes(&mut step, &change)?;
    }
    let patch = originals::make_patch(
        exercise,
        &originals::reference(workspace, exercise)?,
        &originals::in_place(workspace, exercise)?,
    )?;
    step.write_text(
        exercise.solution(workspace).join(originals::STARTER_PATCH),
        patch,
    )?;
    record.take(exercise, &step.reference);
    step.write_text(record::place(workspace, exercise), record.text()?)?;
    Ok(step)
}

/// Writes a step's files.
///
/// # Errors
/// When a file was written by somebody else meanwhile, or the disk refuses; the same command again finishes it.
pub fn write(workspace: &Workspace, step: &Step) -> anyhow::Result<()> {
    record::keep(workspace, &step.reference)?;
    for change in &step.changes {
        files::replace(
            &workspace.unfinished(),
            &change.path,
            change.before.as_ref(),
            change.after.as_ref(),
        )
        .with_context(|| {
            Trouble::new(format!("{} is carried in part only", step.exercise.name()))
                .expected("files that nobody else writes meanwhile, and room on the disk")
                .next("the same command again finishes it")
        })?;
    }
    Ok(())
}

/// The files of a folder before and after a change.
struct Changed {
    folder: PathBuf,
    old: Tree,
    new: Tree,
}

impl Changed {
    /// The same change under another package name.
    fn under_name(self, from: &str, to: &str) -> Changed {
        Changed {
            folder: self.folder,
            old: originals::under_name(self.old, from, to),
            new: originals::under_name(self.new, from, to),
        }
    }

    /// The same change in these files only.
    fn only(self, paths: &[PathBuf]) -> Changed {
        let some = |mut tree: Tree| {
            tree.retain(|path, _| paths.contains(path));
            tree
        };
        Changed {
            folder: self.folder,
            old: some(self.old),
            new: some(self.new),
        }
    }

    fn touches(&self, path: &PathBuf) -> bool {
        self.old.get(path) != self.new.get(path)
    }
}

struct Carrier<'a> {
    workspace: &'a Workspace,
    desk: Desk,
    open: Vec<Open>,
}

impl<'w> Carrier<'w> {
    fn new(workspace: &'w Workspace) -> anyhow::Result<Self> {
        Ok(Carrier {
            workspace,
            desk: Desk::open(workspace)?,
            open: Vec::new(),
        })
    }

    /// One exercise: its reference takes over what has changed in the one before, its starter and its mistakes what has
    /// changed in the reference.
    fn step<'a>(
        &mut self,
        exercise: &'a Exercise,
        before: Option<&(&Exercise, Tree)>,
    ) -> anyhow::Result<Step<'a>> {
        let mut record = Record::read(self.workspace, exercise)?;
        let mut step = Step::new(exercise);
        let folder = exercise.solution(self.workspace);
        let in_place = originals::reference_files(self.workspace, exercise)?;
        let mut reference = in_place.clone();

        let mut change_before = None;
        if let Some((source, files)) = before {
            let new = without_description(files.clone());
            let change = self.change(&record, source, new.clone())?.map(|change| {
                change.under_name(&source.reference_name(), &exercise.reference_name())
            });
            match &change {
                Some(change) => reference = self.reference(&folder, &in_place, change)?,
                None => step.trusted.push(source.name()),
            }
            change_before = change;
            record.take(source, &new);
        }
        // While the author has to decide about the reference, nothing can follow it; a reference that is new has no
        // starter yet.
        if self.open.is_empty() && folder.join(originals::STARTER_PATCH).exists() {
            match self.change(&record, exercise, reference.clone())? {
                Some(change) => {
                    self.mistakes(&mut step, &change)?;
                    self.starter(&mut step, change, change_before)?;
                }
                None => step.trusted.push(exercise.name()),
            }
            record.take(exercise, &reference);
        }

        step.write_all(&folder, &in_place, &reference);
        step.write_text(record::place(self.workspace, exercise), record.text()?)?;
        step.reference = reference;
        Ok(step)
    }

    /// What has changed in a reference since it was last taken over; none when it never was.
    fn change(
        &self,
        record: &Record,
        source: &Exercise,
        new: Tree,
    ) -> anyhow::Result<Option<Changed>> {
        let Some(taken) = record.taken_from(source) else {
            return Ok(None);
        };
        let now = originals::reference_files(self.workspace, source)?;
        Ok(Some(Changed {
            folder: source.solution(self.workspace),
            old: record::files_of(self.workspace, source, taken, &now)?,
            new,
        }))
    }

    /// A reference with the change in the one before; where both sides have changed, the author decides.
    fn reference(
        &mut self,
        folder: &Path,
        in_place: &Tree,
        change: &Changed,
    ) -> anyhow::Result<Tree> {
        let (mut merged, conflicts) = merged(self.workspace, folder, in_place, change)?;
        for conflict in conflicts {
            let file = files::shown(self.workspace, &folder.join(&conflict.path));
            match self.desk.decide(Path::new(&file), &conflict)? {
                Decision::Made(content) => merge::set(&mut merged, &conflict.path, content),
                Decision::Open(copy) => self.open.push(Open { file, copy }),
            }
        }
        Ok(merged)
    }

    /// The starter follows its reference and, in the files that the learner edits, the reference before, whose lines it
    /// has where the exercise has not begun. First the course's own, and so the patch; then what lies in the folder,
    /// where somebody may be at work.
    fn starter(
        &self,
        step: &mut Step,
        change: Changed,
        change_before: Option<Changed>,
    ) -> anyhow::Result<()> {
        let exercise = step.exercise;
        let (reference_name, name) = (exercise.reference_name(), exercise.name());
        let change = change.under_name(&reference_name, &name);
        let folder = exercise.starter(self.workspace);

        let old = originals::starter_from(self.workspace, exercise, change.old.clone())?;
        let (mut new, mut kept) = self.follow(&folder, &old, &change)?;
        if let Some(before) = change_before {
            let before = before.only(&exercise.edit);
            let (newer, kept_from_before) = self.follow(&folder, &new, &before)?;
            new = newer;
            kept.retain(|path| !before.touches(path));
            kept.extend(kept_from_before);
        }
        step.kept.extend(
            kept.iter()
                .map(|path| files::shown(self.workspace, &folder.join(path))),
        );

        let patch = originals::make_patch(exercise, &change.new, &new)?;
        let patch_file = exercise
            .solution(self.workspace)
            .join(originals::STARTER_PATCH);
        let in_place = originals::in_place(self.workspace, exercise)?;
        let course = Changed {
            folder: patch_file.clone(),
            old,
            new,
        };
        let with_change = self.beside_work(exercise, &in_place, &course)?;
        step.write_all(&folder, &in_place, &with_change);
        step.write_text(patch_file, patch)
    }

    /// What lies in the starter's folder, with the change. Somebody's own work there stays; where the change runs into
    /// it, it is theirs to put aside first.
    fn beside_work(
        &self,
        exercise: &Exercise,
        in_place: &Tree,
        change: &Changed,
    ) -> anyhow::Result<Tree> {
        let folder = exercise.starter(self.workspace);
        let (merged, conflicts) = merged(self.workspace, &folder, in_place, change)?;
        match conflicts.first() {
            None => Ok(merged),
            Some(conflict) => Err(Trouble::new(format!(
                "{} holds somebody's work, and the change runs into it",
                files::shown(self.workspace, &folder.join(&conflict.path))
            ))
            .expected("the starter, or work in other places than the change")
            .next(format!(
                "just reset {} keeps the work as an attempt; then the same command again",
                exercise.name()
            ))
            .failed()
            .into()),
        }
    }

    /// Each mistake follows the reference that it is planted in.
    fn mistakes(&self, step: &mut Step, change: &Changed) -> anyhow::Result<()> {
        for mistake in Mistake::all(&change.folder)? {
            let file = files::shown(self.workspace, &mistake.file);
            let mut planted = change.old.clone();
            if patches::apply(&mut planted, &mistake.patch).is_err() {
                // Its author may have made it anew already.
                patches::apply(&mut change.new.clone(), &mistake.patch)
                    .map_err(|misfit| unfit(&file, &misfit))?;
                continue;
            }
            let touched = files::differing(&change.old, &planted);
            if !touched.iter().any(|path| change.touches(path)) {
                continue;
            }
            let (planted, kept) = self.follow(&mistake.file, &planted, change)?;
            let kept = kept
                .iter()
                .map(|path| format!("{file}, {}", path.display()));
            step.kept.extend(kept);
            let patch = patches::between(&change.new, &planted);
            step.write_text(mistake.file.clone(), mistake.header().to_owned() + &patch)?;
        }
        Ok(())
    }

    /// A starter or a mistake with a change, and the files in which it keeps lines of its own: the change is about lines
    /// that it does not have. The gate tells whether it still does what it is there for.
    fn follow(
        &self,
        folder: &Path,
        files: &Tree,
        change: &Changed,
    ) -> anyhow::Result<(Tree, Vec<PathBuf>)> {
        let (mut merged, conflicts) = merged(self.workspace, folder, files, change)?;
        let mut kept = Vec::new();
        for conflict in conflicts {
            merge::set(&mut merged, &conflict.path, conflict.keeping_ours);
            kept.push(conflict.path);
        }
        Ok((merged, kept))
    }
}

impl<'a> Step<'a> {
    fn new(exercise: &'a Exercise) -> Self {
        Step {
            exercise,
            changes: Vec::new(),
            trusted: Vec::new(),
            kept: Vec::new(),
            reference: Tree::new(),
        }
    }

    /// Notes the files of a folder that differ.
    fn write_all(&mut self, folder: &Path, before: &Tree, after: &Tree) {
        for path in files::differing(before, after) {
            self.changes.push(Change {
                path: folder.join(&path),
                before: before.get(&path).cloned(),
                after: after.get(&path).cloned(),
            });
        }
    }

    /// Notes one file, unless it has this text already.
    fn write_text(&mut self, path: PathBuf, text: String) -> anyhow::Result<()> {
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

/// Merges a change into a folder's files; the two folders name the sides of a conflict.
fn merged(
    workspace: &Workspace,
    folder: &Path,
    files: &Tree,
    change: &Changed,
) -> anyhow::Result<(Tree, Vec<Conflict>)> {
    let ours = Version {
        files,
        name: &files::shown(workspace, folder),
    };
    let theirs = Version {
        files: &change.new,
        name: &files::shown(workspace, &change.folder),
    };
    merge::folders(ours, &change.old, theirs)
}

fn unfit(file: &str, misfit: &patches::Misfit) -> Trouble {
    Trouble::new(format!("{file} {misfit}"))
        .expected("a patch of the reference as it is, or as it was when it was last carried")
        .next("make the patch again, then the same command again")
        .failed()
}
