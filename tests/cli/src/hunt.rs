//! The bug hunt: a reference with one planted mistake, or with a debugging case, in a folder of its own, where a learner looks for it. Of an
//! incident there is only the form, and what the last run has told.
//!
//! The folder `.workshop/hunt` appears in one step, with the answer in it, and goes in one step. What was edited in it is kept
//! as an attempt before it goes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use rand::seq::IteratorRandom;
use serde::{Deserialize, Serialize};

use crate::attempts;
use crate::digest::digest;
use crate::state::Remembered;
use workshop_base::cases::DebugCase;
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::files::{self, Tree};
use workshop_base::incidents::Incident;
use workshop_base::mistakes::Mistake;
use workshop_base::outcome::Trouble;
use workshop_base::scratch;
use workshop_base::workspace::Workspace;
use workshop_harness::build::Crate;
use workshop_harness::build::copies::Copy;
use workshop_suites::forms::{diagnosis, from_traces};

/// What a hunt is called on the command line; also the name of its package and of its attempts.
pub const NAME: &str = "hunt";

/// The file that says what is planted.
const ANSWER: &str = ".answer.toml";
const SPOILER: &str = "# What is planted here. If you're still looking for it, close this file.\n";

/// Cargo takes out of it what the one crate doesn't need.
const WRITTEN_BY_CARGO: &str = "Cargo.lock";
/// What the last run of an incident has told, in full.
pub const TRACES: &str = "traces.txt";
/// The files that aren't the learner's.
const NOT_THEIRS: [&str; 3] = [ANSWER, WRITTEN_BY_CARGO, TRACES];

/// The hunt that is on.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Hunt {
    /// The number of the exercise whose reference it is.
    pub exercise: u8,
    /// The test that is red.
    pub clue: String,
    /// The name of the mistake.
    mistake: String,
    /// What the mistake is, in sentences.
    pub answer: String,
    /// When the time is up; none without a limit.
    #[serde(default)]
    ends: Option<Timestamp>,
    /// The digest of the files as they were planted.
    planted: String,
    /// There when it is a debugging case, or an incident.
    #[serde(default)]
    pub case: Option<CaseState>,
}

/// How far a debugging case has come.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct CaseState {
    /// The name of the case, or of the incident.
    pub name: String,
    /// An incident, which comes without code.
    #[serde(default)]
    pub from_traces: bool,
    /// The values of the last run that count as evidence.
    #[serde(default)]
    pub evidence: Vec<String>,
    /// The diagnosis was right once: from then on lines may move.
    #[serde(default)]
    pub diagnosed: bool,
    /// What the last check found, and the last hint.
    #[serde(default)]
    pub memory: Remembered,
}

impl Hunt {
    /// Reads the hunt that is on.
    pub fn on(workspace: &Workspace) -> anyhow::Result<Hunt> {
        let path = folder(workspace).join(ANSWER);
        let Some(text) = files::read_if_there(&path)? else {
            return Trouble::new("you aren't on a hunt")
                .next("just hunt exercise-N plants a mistake for you to find")
                .err();
        };
        toml::from_slice(&text).map_err(|error| {
            let shown = files::shown(workspace, &path);
            Trouble::new(format!("{shown} cannot be understood: {error}"))
                .expected("the file as just hunt wrote it")
                .next("just hunt exercise-N begins another hunt, and keeps your files of this one")
                .into()
        })
    }

    /// What begins another one.
    pub fn another(&self) -> String {
        match &self.case {
            Some(case) if !case.from_traces => {
                format!("just hunt {} begins it again", case.name)
            }
            _ => format!("just hunt exercise-{} plants another", self.exercise),
        }
    }

    /// Writes it down again.
    pub fn save(&self, workspace: &Workspace) -> anyhow::Result<()> {
        let text = self.text()?;
        files::write_atomically(&folder(workspace).join(ANSWER), text.as_bytes())
    }

    fn text(&self) -> anyhow::Result<String> {
        Ok(format!("{SPOILER}{}", toml::to_string(self)?))
    }

    /// How much time is left; none without a limit.
    pub fn clock(&self) -> Option<String> {
        let left = self.ends?.duration_since(Timestamp::now()).as_secs();
        let (minutes, seconds) = (left.unsigned_abs() / 60, left.unsigned_abs() % 60);
        Some(match left {
            0.. => format!("the clock: {minutes}:{seconds:02} left"),
            _ => format!("the clock: time was up {minutes}:{seconds:02} ago"),
        })
    }
}

/// Where the hunt is.
pub fn folder(workspace: &Workspace) -> PathBuf {
    workspace.state().join(NAME)
}

/// The files of the hunt that are the learner's to edit.
pub fn in_place(workspace: &Workspace) -> anyhow::Result<Tree> {
    files_in(&folder(workspace))
}

/// The crate that is there: it takes the place of its reference.
pub fn krate(workspace: &Workspace, exercise: &Exercise) -> Crate {
    Crate {
        in_place_of: Some(exercise.reference_name()),
        ..Crate::new(folder(workspace), NAME)
    }
}

/// Plants one of the exercise's mistakes. Gives the hunt, and where the files of the one before are if they had been edited.
pub async fn plant(
    workspace: &Workspace,
    exercise: &Exercise,
    minutes: Option<u32>,
) -> anyhow::Result<(Hunt, Option<PathBuf>)> {
    let mistake = choose(workspace, exercise)?;
    let copy = copy(workspace, exercise, &mistake.patch).await?;
    let hunt = Hunt {
        exercise: exercise.number,
        clue: mistake.caught_by.clone(),
        answer: mistake.answer(),
        mistake: mistake.slug,
        ends: end(minutes),
        planted: digest(&files_in(&copy.krate().folder)?),
        case: None,
    };
    begin(workspace, copy, hunt)
}

/// Plants a debugging case, with an empty form for the diagnosis. Gives the same.
pub async fn plant_case(
    workspace: &Workspace,
    case: &DebugCase,
    minutes: Option<u32>,
) -> anyhow::Result<(Hunt, Option<PathBuf>)> {
    let catalogue = Catalogue::read(workspace)?;
    let exercise = catalogue.get(case.exercise)?;
    let copy = copy(workspace, exercise, &case.patch(workspace, false)?).await?;
    copy.replace(diagnosis::FILE, &diagnosis::empty(case))?;
    let hunt = Hunt {
        exercise: exercise.number,
        clue: String::new(),
        answer: case.answer.trim().to_owned(),
        mistake: case.name.clone(),
        ends: end(minutes),
        planted: digest(&files_in(&copy.krate().folder)?),
        case: Some(CaseState {
            name: case.name.clone(),
            ..CaseState::default()
        }),
    };
    begin(workspace, copy, hunt)
}

/// Plants one of an exercise's incidents: a form without any code. Gives the same.
pub fn plant_incident(
    workspace: &Workspace,
    exercise: &Exercise,
    minutes: Option<u32>,
) -> anyhow::Result<(Hunt, Incident, Option<PathBuf>)> {
    let mut incidents = Incident::all(workspace, exercise)?;
    let last = Hunt::on(workspace).ok().map(|hunt| hunt.mistake);
    if incidents.len() > 1 {
        incidents.retain(|incident| Some(&incident.name) != last.as_ref());
    }
    let chosen = incidents.into_iter().choose(&mut rand::rng());
    let incident = chosen.context("there is no incident")?;
    let made = scratch::folder_in_checkout(workspace, NAME)?;
    let form = from_traces::empty(&incident);
    files::write(&made.path().join(diagnosis::FILE), form.as_bytes())?;
    let hunt = Hunt {
        exercise: exercise.number,
        clue: String::new(),
        answer: incident.answer.trim().to_owned(),
        mistake: incident.name.clone(),
        ends: end(minutes),
        planted: digest(&files_in(made.path())?),
        case: Some(CaseState {
            name: incident.name.clone(),
            from_traces: true,
            ..CaseState::default()
        }),
    };
    files::write(&made.path().join(ANSWER), hunt.text()?.as_bytes())?;
    let kept = clear(workspace)?;
    let folder = folder(workspace);
    made.moved_to(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    Ok((hunt, incident, kept))
}

/// The reference with a patch, under the name of the hunt.
async fn copy(workspace: &Workspace, exercise: &Exercise, patch: &str) -> anyhow::Result<Copy> {
    let copy = Copy::patched(workspace, &exercise.solution(workspace), NAME, patch).await?;
    // A cargo that is started there, by you or by an editor, builds where everything is built already.
    let target = toml::Value::from(workspace.cargo_target().display().to_string());
    let config = format!("[build]\ntarget-dir = {target}\n");
    copy.replace(".cargo/config.toml", &config)?;
    Ok(copy)
}

fn end(minutes: Option<u32>) -> Option<Timestamp> {
    let time = minutes.map(|minutes| SignedDuration::from_mins(minutes.into()));
    time.map(|time| Timestamp::now() + time)
}

/// Puts a hunt in place of the one before.
fn begin(workspace: &Workspace, copy: Copy, hunt: Hunt) -> anyhow::Result<(Hunt, Option<PathBuf>)> {
    copy.replace(ANSWER, &hunt.text()?)?;
    let kept = clear(workspace)?;
    copy.moved_to(&folder(workspace))?;
    Ok((hunt, kept))
}

/// One of the exercise's mistakes, but not the last one again where there is another.
fn choose(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Mistake> {
    let last = Hunt::on(workspace).ok().map(|hunt| hunt.mistake);
    let mut mistakes = match exercise.is_crate() {
        true => Mistake::all(&exercise.solution(workspace))?,
        false => Vec::new(),
    };
    // One that doesn't compile or start needs no hunt: its check names the place.
    mistakes.retain(Mistake::is_caught_by_a_test);
    if mistakes.len() > 1 {
        mistakes.retain(|mistake| Some(&mistake.slug) != last.as_ref());
    }
    match mistakes.into_iter().choose(&mut rand::rng()) {
        Some(mistake) => Ok(mistake),
        None => {
            let catalogue = Catalogue::read(workspace)?;
            let has_mistakes = |exercise: &&Exercise| {
                exercise.is_crate() && exercise.solution(workspace).join("mistakes").is_dir()
            };
            let names = catalogue.iter().filter(has_mistakes).map(Exercise::name);
            let names: Vec<String> = names.collect();
            Trouble::new(format!("{} has no mistakes to hunt for", exercise.name()))
                .expected(format!("one of: {}", names.join(", ")))
                .next("just hunt with one of these")
                .err()
        }
    }
}

/// Takes the hunt away. Gives where its files are kept, if they had been edited.
pub fn clear(workspace: &Workspace) -> anyhow::Result<Option<PathBuf>> {
    let folder = folder(workspace);
    let mine = files_in(&folder)?;
    if mine.is_empty() {
        files::remove(&folder)?;
        return Ok(None);
    }
    let planted = Hunt::on(workspace).map(|hunt| hunt.planted);
    let untouched = planted.is_ok_and(|planted| planted == digest(&mine));
    let mut kept = match untouched {
        true => None,
        false => Some(attempts::keep(workspace, NAME, &mine)?),
    };
    let cleared = scratch::folder_in_checkout(workspace, "cleared")?;
    let away = cleared.path().join(NAME);
    fs::rename(&folder, &away).with_context(|| format!("cannot take {} away", folder.display()))?;
    files::crash_point();
    // An editor may have saved a file meanwhile.
    let last = files_in(&away)?;
    if last != mine {
        let attempt = attempts::keep(workspace, NAME, &last);
        if attempt.is_err() {
            fs::rename(&away, &folder)?;
        }
        kept = Some(attempt?);
    }
    Ok(kept)
}

/// The files that are the learner's to edit.
fn files_in(folder: &Path) -> anyhow::Result<Tree> {
    let mut tree = files::read_tree(folder)?;
    tree.retain(|path, _| !NOT_THEIRS.iter().any(|name| path == Path::new(name)));
    Ok(tree)
}
