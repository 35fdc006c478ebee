//! Incidents: a reference with a fault that is to be found from its traces and metrics alone, `incidents/NAME` beside the reference. The
//! reader sees no code, and writes a diagnosis.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::exercise::Exercise;
use crate::files;
use crate::outcome::Trouble;
use crate::workspace::Workspace;

/// Where incidents are, beside a reference.
pub const FOLDER: &str = "incidents";
/// The patch that plants the fault in the reference.
const FAULT: &str = "fault.patch";

/// One incident, as its `incident.toml` describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Incident {
    /// Its name: that of its folder.
    #[serde(skip)]
    pub name: String,
    #[serde(skip)]
    folder: PathBuf,
    /// What goes wrong, in a few words.
    pub title: String,
    /// What the person with the pager says.
    pub symptoms: String,
    /// The name of the span whose work is the cause.
    pub span: String,
    /// Other spans that people name first, each with the answer to that.
    pub near: BTreeMap<String, String>,
    /// The name of what is wrong.
    pub mechanism: String,
    /// The cause, and what shows it, for those who have found it.
    pub answer: String,
    /// What an instructor asks people who are stuck.
    pub ask: String,
}

impl Incident {
    /// All incidents of an exercise's reference, by name.
    pub fn all(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Vec<Incident>> {
        let folder = exercise.solution(workspace).join(FOLDER);
        let mut incidents = Vec::new();
        for (path, text) in files::read_tree(&folder)? {
            let Some(name) = path
                .to_str()
                .and_then(|path| path.strip_suffix("/incident.toml"))
            else {
                continue;
            };
            let read = toml::from_slice(&text).map_err(|error| {
                let shown = files::shown(workspace, &folder.join(&path));
                Trouble::new(format!("{shown} is malformed: {error}"))
                    .next(format!("git diff -- {shown}"))
            });
            incidents.push(Incident {
                name: name.to_owned(),
                folder: folder.join(name),
                ..read?
            });
        }
        Ok(incidents)
    }

    /// The incident of this name.
    pub fn named(
        workspace: &Workspace,
        exercise: &Exercise,
        name: &str,
    ) -> anyhow::Result<Incident> {
        let all = Incident::all(workspace, exercise)?;
        let found = all.into_iter().find(|incident| incident.name == name);
        found.ok_or_else(|| {
            Trouble::new(format!("there is no incident {name}"))
                .next(format!("just hunt {}", exercise.name()))
                .into()
        })
    }

    /// The patch that plants its fault in the reference.
    pub fn fault(&self) -> anyhow::Result<String> {
        files::text(&self.folder.join(FAULT))
    }

    /// Its hints.
    pub fn hints(&self) -> PathBuf {
        self.folder.join("hints.md")
    }
}
