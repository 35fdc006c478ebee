//! Carrying: from a changed reference to its starter and its mistakes, to the next reference, and so on to the end.
//!
//! What has changed is the difference between a commit and the files as they are. It is merged into the files of each later
//! state; where that cannot be done, git's markers are left in them, and nothing is carried beyond until they are gone.

use std::path::{Path, PathBuf};

use super::git;
use super::merge::{Change, Leaves, merge, unresolved};
use super::without_description;
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::files::{self, Tree};
use workshop_base::mistakes::Mistake;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;
use workshop_base::{originals, patches};

/// What is carried: the difference between a commit and the files as they are.
struct Carrying<'a> {
    workspace: &'a Workspace,
    catalogue: &'a Catalogue,
    since: String,
}

/// What was done about one exercise.
#[derive(Debug)]
pub struct CarryStep<'a> {
    /// The exercise.
    pub exercise: &'a Exercise,
    /// The files that were written or removed.
    pub written: Vec<PathBuf>,
    /// What the author should look at.
    pub notes: Vec<String>,
    /// The files of the reference in which markers are left.
    pub conflicts: Vec<PathBuf>,
}

/// Merges what has changed in one reference, since this commit or since the last carry, into all that grows from it.
pub fn carry<'a>(
    workspace: &'a Workspace,
    catalogue: &'a Catalogue,
    origin: &'a Exercise,
    since: Option<String>,
) -> anyhow::Result<Vec<CarryStep<'a>>> {
    let since = match since {
        Some(commit) => commit,
        None => git::last_carried(workspace.root(), &origin.solution(workspace))?,
    };
    let carrying = Carrying {
        workspace,
        catalogue,
        since,
    };
    carrying.from(origin)
}

impl<'a> Carrying<'a> {
    fn from(&self, origin: &'a Exercise) -> anyhow::Result<Vec<CarryStep<'a>>> {
        let name = origin.name();
        let change_before = self.change_before(origin, &name)?;
        let mut changes = change_before.into_iter().chain([self.change(origin)?]);
        if changes.all(|change| change.touched().is_empty()) {
            let since = match &*self.since {
                git::CARRIED => "after the last carry",
                commit => &format!("in {commit}"),
            };
            return Trouble::new(format!("the reference of {name} is as it was {since}"))
            .expected("a change in it")
            .next(format!("just carry {name} --since COMMIT, with the commit before the change; just starter-patch {name} where the starter has changed"))
            .failed()
            .err();
        }
        let mut growing = vec![origin];
        let number_before =
            |exercise: &Exercise| exercise.grows_from.as_ref().map(|it| it.exercise);
        while let Some(next) = self.catalogue.iter().find(|exercise| {
            let grows = growing
                .iter()
                .any(|other| number_before(exercise) == Some(other.number));
            grows && !growing.contains(exercise)
        }) {
            growing.push(next);
        }
        for exercise in &growing {
            self.refuse_a_learners_work(exercise)?;
        }
        let mut steps: Vec<CarryStep> = Vec::new();
        for exercise in growing {
            let before = self.before(exercise)?.filter(|_| exercise != origin);
            let carried = |before: &Exercise| {
                let mut carried = steps.iter().filter(|step| step.conflicts.is_empty());
                carried.any(|step| step.exercise.number == before.number)
            };
            if before.is_none_or(carried) {
                steps.push(self.step(exercise, before)?);
            }
        }
        if steps.iter().all(|step| step.conflicts.is_empty()) {
            git::keep_carried(self.workspace.root())?;
        }
        Ok(steps)
    }

    /// The exercise that this one grows from.
    fn before(&self, exercise: &Exercise) -> anyhow::Result<Option<&'a Exercise>> {
        let grows_from = exercise.grows_from.as_ref();
        grows_from
            .map(|before| self.catalogue.get(before.exercise))
            .transpose()
    }

    /// What has changed in a reference. One that the commit doesn't have was the one before it.
    fn change(&self, exercise: &Exercise) -> anyhow::Result<Change> {
        let new = originals::reference_files(self.workspace, exercise)?;
        let mut old = git::at(&self.since, &exercise.solution(self.workspace), &new)?;
        old.retain(|path, _| !originals::is_the_authors(path));
        if let Some(before) = self.before(exercise)?.filter(|_| old.is_empty()) {
            let from = self.change(before)?.old;
            old = originals::under_name(from, &before.reference_name(), &exercise.reference_name());
        }
        Ok(Change { old, new })
    }

    /// What has changed in the reference before this one, as it concerns this one.
    fn change_before(&self, exercise: &Exercise, name: &str) -> anyhow::Result<Option<Change>> {
        let Some(before) = self.before(exercise)? else {
            return Ok(None);
        };
        let change = self.change(before)?.map(without_description);
        let named = |tree| originals::under_name(tree, &before.reference_name(), name);
        Ok(Some(change.map(named)))
    }

    /// What the learner edits in a starter has to be the course's: as in a commit, or as its patch makes it.
    fn refuse_a_learners_work(&self, exercise: &Exercise) -> anyhow::Result<()> {
        let (name, folder) = (exercise.name(), exercise.starter(self.workspace));
        let in_place = originals::in_place(self.workspace, exercise)?;
        let is_in_place = |tree: &Tree| {
            let mut edited = exercise.edit.iter();
            edited.all(|path| tree.get(path) == in_place.get(path))
        };
        let is_made =
            || originals::starter(self.workspace, exercise).is_ok_and(|made| is_in_place(&made));
        if exercise.is_own()
            || is_in_place(&git::at(&self.since, &folder, &in_place)?)
            || is_in_place(&git::at("HEAD", &folder, &in_place)?)
            || is_made()
        {
            return Ok(());
        }
        let folder = files::shown(self.workspace, &folder);
        Trouble::new(format!("{folder} has work in it that isn't the course's"))
            .expected("the starter as it was committed, or as starter.patch makes it")
            .next(format!("just reset {name} keeps your work as an attempt, just starter-patch {name} makes it the starter; then the same command again"))
            .failed()
            .err()
    }

    /// The reference takes over what has changed in the one before, its starter and its mistakes what has changed in it.
    fn step(
        &self,
        exercise: &'a Exercise,
        before: Option<&Exercise>,
    ) -> anyhow::Result<CarryStep<'a>> {
        let mut step = CarryStep {
            exercise,
            written: Vec::new(),
            notes: Vec::new(),
            conflicts: Vec::new(),
        };
        let folder = exercise.solution(self.workspace);
        let mut reference = originals::reference_files(self.workspace, exercise)?;
        if before.is_some()
            && let Some(change) = self.change_before(exercise, &exercise.reference_name())?
        {
            let (merged, _) = merge(&reference, &change, Leaves::Both)?;
            step.write_all(&folder, &reference, &merged)?;
            reference = merged;
        }
        step.conflicts = unresolved(&reference)
            .map(|path| folder.join(path))
            .collect();
        if !step.conflicts.is_empty() {
            return Ok(step);
        }
        let change = self.change(exercise)?;
        if exercise.is_own() {
            let given = change.clone().map(originals::without_code);
            let folder = exercise.starter(self.workspace);
            step.write_all(&folder, &given.old, &given.new)?;
        } else if folder.join(originals::STARTER_PATCH).exists() {
            self.starter(&mut step, &change)?;
        }
        self.mistakes(&mut step, &change)?;
        Ok(step)
    }

    /// The starter is what its patch makes of the reference. Where the patch no longer fits, the starter takes over the
    /// change; and, in the files that the learner edits, that in the reference before, whose lines it has where the exercise
    /// has not begun.
    fn starter(&self, step: &mut CarryStep, change: &Change) -> anyhow::Result<()> {
        let exercise = step.exercise;
        let folder = exercise.starter(self.workspace);
        let named =
            |tree| originals::under_name(tree, &exercise.reference_name(), &exercise.name());
        let in_place = originals::in_place(self.workspace, exercise)?;
        let (mut starter, mut kept) = match originals::starter(self.workspace, exercise) {
            Ok(made) => (made, Vec::new()),
            Err(_) => merge(&in_place, &change.clone().map(named), Leaves::Ours)?,
        };
        if let Some(before) = self.change_before(exercise, &exercise.name())? {
            let before = before.map(|mut tree| {
                tree.retain(|path, _| exercise.edit.contains(path));
                tree
            });
            let (newer, kept_from_before) = merge(&starter, &before, Leaves::Ours)?;
            starter = newer;
            kept.retain(|path| !before.touched().contains(path));
            kept.extend(kept_from_before);
        }
        for path in kept {
            step.keeps(&files::shown(self.workspace, &folder.join(path)));
        }
        step.write_all(&folder, &in_place, &starter)?;
        let patch = originals::write_patch(self.workspace, exercise)?;
        step.written.extend(patch);
        Ok(())
    }

    /// Each mistake follows the reference that it is planted in.
    fn mistakes(&self, step: &mut CarryStep, change: &Change) -> anyhow::Result<()> {
        let touched = change.touched();
        for mistake in Mistake::all(&step.exercise.solution(self.workspace))? {
            let file = files::shown(self.workspace, &mistake.file);
            let mut planted = change.old.clone();
            if patches::apply(&mut planted, &mistake.patch).is_err() {
                // Its author, or an earlier call, may have made it anew already.
                patches::apply(&mut change.new.clone(), &mistake.patch).map_err(|misfit| {
                    Trouble::new(format!("{file} {misfit}"))
                        .expected(
                            "a patch of the reference as it is, or as it was before the change",
                        )
                        .next("make the patch again, then the same command again")
                        .failed()
                })?;
                continue;
            }
            let differing = files::differing(&change.old, &planted);
            if !differing.iter().any(|path| touched.contains(path)) {
                continue;
            }
            let (planted, kept) = merge(&planted, change, Leaves::Ours)?;
            for path in kept {
                step.keeps(&format!("{file}, {}", path.display()));
            }
            let patch = patches::between(&change.new, &planted);
            let text = mistake.header().to_owned() + &patch;
            step.written
                .extend(write(&mistake.file, Some(text.as_bytes()))?);
        }
        Ok(())
    }
}

impl CarryStep<'_> {
    fn keeps(&mut self, file: &str) {
        let note = "kept lines of its own where the reference has changed";
        self.notes.push(format!("{note}: {file}"));
    }

    /// Writes the files of a folder that differ.
    fn write_all(&mut self, folder: &Path, before: &Tree, after: &Tree) -> anyhow::Result<()> {
        for path in files::differing(before, after) {
            let content = after.get(&path).map(Vec::as_slice);
            self.written.extend(write(&folder.join(&path), content)?);
        }
        Ok(())
    }
}

/// Writes a file or removes it; gives it where that changes something.
fn write(path: &Path, content: Option<&[u8]>) -> anyhow::Result<Option<PathBuf>> {
    if files::read_if_there(path)?.as_deref() == content {
        return Ok(None);
    }
    match content {
        Some(content) => files::write_atomically(path, content)?,
        None => files::remove(path)?,
    }
    Ok(Some(path.to_owned()))
}
