//! What can be checked and run: a target, or the bug hunt that is on.

use std::fmt;
use std::str::FromStr;

use crate::hunt::{self, Hunt};
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, BuildError, Launch, Profile};

/// A service that a check judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckTarget {
    /// One of the course's targets.
    Target(Target),
    /// The bug hunt that is on.
    Hunt,
}

impl CheckTarget {
    /// The exercise that it belongs to; none for the Kotlin service.
    pub fn exercise<'a>(
        self,
        workspace: &Workspace,
        catalogue: &'a Catalogue,
    ) -> anyhow::Result<Option<&'a Exercise>> {
        match self {
            CheckTarget::Target(target) => catalogue.of(target),
            CheckTarget::Hunt => catalogue.get(Hunt::on(workspace)?.exercise).map(Some),
        }
    }

    /// Builds it, printing what the compiler prints.
    pub async fn build(
        self,
        workspace: &Workspace,
        profile: Profile,
    ) -> Result<Launch, BuildError> {
        match self {
            CheckTarget::Target(target) => build::build(workspace, target, profile).await,
            CheckTarget::Hunt => {
                let catalogue = Catalogue::read(workspace)?;
                let exercise = catalogue.get(Hunt::on(workspace)?.exercise)?;
                let krate = hunt::krate(workspace, exercise);
                build::launch(workspace, exercise.calls(), &krate, profile).await
            }
        }
    }

    /// True for a crate of the learner's.
    pub fn is_an_exercise(self) -> bool {
        matches!(self, CheckTarget::Target(Target::Exercise(_)))
    }
}

impl fmt::Display for CheckTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CheckTarget::Target(target) => target.fmt(f),
            CheckTarget::Hunt => f.write_str(hunt::NAME),
        }
    }
}

/// What is hunted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HuntTarget {
    /// A mistake in a reference.
    Mistake(Target),
    /// What ails a service, by the name of its case.
    Case(String),
}

impl FromStr for HuntTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_a_word = !text.is_empty() && text.chars().all(|letter| letter.is_ascii_lowercase());
        match text.parse() {
            Ok(target) => Ok(HuntTarget::Mistake(target)),
            Err(_) if is_a_word => Ok(HuntTarget::Case(text.to_owned())),
            Err(why) => Err(why),
        }
    }
}

impl FromStr for CheckTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            hunt::NAME => Ok(CheckTarget::Hunt),
            target => target.parse().map(CheckTarget::Target),
        }
    }
}
