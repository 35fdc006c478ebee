//! The references of an exercise: its own, and other members of the workspace that are judged by the same suites.

use std::path::PathBuf;

use workshop_base::exercise::Exercise;
use workshop_base::mistakes::Mistake;
use workshop_base::peer;
use workshop_base::workspace::Workspace;

/// A reference: its folder, and the member of the workspace that it is.
#[derive(Debug)]
pub struct Reference {
    pub folder: PathBuf,
    pub member: String,
}

impl Reference {
    pub fn own(workspace: &Workspace, exercise: &Exercise) -> Reference {
        Reference {
            folder: exercise.solution(workspace),
            member: exercise.reference_name(),
        }
    }

    pub fn others<'a>(
        workspace: &'a Workspace,
        exercise: &'a Exercise,
    ) -> impl Iterator<Item = Reference> + 'a {
        peer::members(&exercise.suites).map(|(peer, member)| Reference {
            folder: peer.path(workspace),
            member: member.to_owned(),
        })
    }

    /// The one that a mistake lies beside.
    pub fn with(workspace: &Workspace, exercise: &Exercise, mistake: &Mistake) -> Reference {
        let mut others = Reference::others(workspace, exercise);
        let found = others.find(|other| mistake.file.starts_with(&other.folder));
        found.unwrap_or_else(|| Reference::own(workspace, exercise))
    }
}
