//! The exercises: what `exercise.toml` says of each, and the catalogue of all of them.

use std::path::PathBuf;

use anyhow::Context;
use serde::Deserialize;

use crate::calls::Calls;
use crate::files;
use crate::outcome::Trouble;
use crate::target::Target;
use crate::workspace::Workspace;

/// The metrics that exercise 1 has readers predict, in the order of its form, whose tables have their names.
pub const PREDICTED: [&str; 6] = [
    "start_up",
    "throughput",
    "p99",
    "memory",
    "cpu_per_request",
    "size",
];

/// The minutes an exercise takes, as planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Minutes {
    pub reading: u32,
    pub doing: u32,
    /// Talking it over, measuring, comparing with the reference.
    pub reviewing: u32,
}

impl Minutes {
    /// All minutes of the exercise.
    pub fn total(self) -> u32 {
        self.reading + self.doing + self.reviewing
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// The name of the task that `just measure` does; the measuring knows the names.
    pub task: String,
}

/// What a learner makes in an exercise.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A crate: the service, or what the Kotlin service calls.
    #[default]
    Crate,
    /// A crate of the learner's own, in a folder that holds no code at first.
    Own,
    /// A form to fill in.
    Form,
    /// A form about a crate: what a reviewer says of a pull request. The reference is the crate as it should be.
    Review,
    /// A crate of small programs, each with its tests beside it, which are solved one after the other.
    Katas,
}

/// The part of the course in which the service is ported, piece by piece.
pub const PORT: &str = "port";
/// The suite of the exercise that lets a port check keys.
const KEYS: &str = "api-key";

/// The `[kotlin]` table: what runs is the Kotlin service with the Kotlin of the exercise's folder, which calls the crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Glue {
    /// What the crate is to the Kotlin service.
    pub calls: Calls,
}

/// The `[grows_from]` table: the state of the service that an exercise begins with.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrowsFrom {
    /// The exercise whose reference that is.
    pub exercise: u8,
    /// The files that the starter brings new or changed, beside those that the learner edits.
    #[serde(default)]
    pub given: Vec<PathBuf>,
}

/// One exercise, as its `exercise.toml` describes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exercise {
    pub number: u8,
    /// The end of its folder's name: `read-a-record` in `03-read-a-record`.
    pub slug: String,
    /// The title as the book prints it.
    pub title: String,
    /// True on the core way through the course; the other exercises are tracks that one can choose.
    #[serde(default)]
    pub core: bool,
    /// What the learner makes.
    #[serde(default)]
    pub kind: Kind,
    /// The part of the course that it belongs to.
    #[serde(default = "port")]
    pub part: String,
    /// The suites of this exercise. Those of the exercise that it grows from are run as well.
    #[serde(default)]
    pub suites: Vec<String>,
    /// The files that the learner edits, relative to the exercise's folder.
    pub edit: Vec<PathBuf>,
    /// The tests that fail on the starter, all of them.
    pub red: Vec<String>,
    /// The reference that this exercise continues; none where it begins with code of its own.
    pub grows_from: Option<GrowsFrom>,
    pub minutes: Minutes,
    /// The measurement at the end; none where there is nothing to measure.
    pub measure: Option<Measure>,
    /// There when the Kotlin service calls the crate; else the crate is the service.
    pub kotlin: Option<Glue>,
}

impl Exercise {
    /// The folder's name, below `exercises` and `solutions` alike: `03-read-a-record`.
    pub fn folder(&self) -> String {
        format!("{:02}-{}", self.number, self.slug)
    }

    /// The target's name: `exercise-3`.
    pub fn name(&self) -> String {
        format!("exercise-{}", self.number)
    }

    /// The reference's name, which is its package's too: `solution-3`.
    pub fn reference_name(&self) -> String {
        format!("solution-{}", self.number)
    }

    /// True when the exercise is a crate that is a service, or that a service calls.
    pub fn is_crate(&self) -> bool {
        matches!(self.kind, Kind::Crate | Kind::Own | Kind::Review)
    }

    /// True when no service is needed to judge this target of it: a form, or katas.
    pub fn is_judged_alone(&self, target: Target) -> bool {
        match self.kind {
            Kind::Crate | Kind::Own => false,
            Kind::Form | Kind::Katas => true,
            // The reference is a service, and what learners make is a form.
            Kind::Review => matches!(target, Target::Exercise(_)),
        }
    }

    /// True when the learner's crate begins as an empty folder, and is a workspace of its own.
    pub fn is_own(&self) -> bool {
        self.kind == Kind::Own
    }

    /// True when the learner writes Rust.
    pub fn is_rust(&self) -> bool {
        self.kind != Kind::Form
    }

    /// True when the exercise is a piece of the port.
    pub fn is_port(&self) -> bool {
        self.part == PORT
    }

    /// What is measured at the end.
    pub fn task(&self) -> Option<&str> {
        self.measure.as_ref().map(|measure| measure.task.as_str())
    }

    /// How the Kotlin service calls the crate; `None` where the crate is the service.
    pub fn calls(&self) -> Option<Calls> {
        self.kotlin.map(|glue| glue.calls)
    }

    pub fn starter(&self, workspace: &Workspace) -> PathBuf {
        workspace.exercises().join(self.folder())
    }

    pub fn solution(&self, workspace: &Workspace) -> PathBuf {
        workspace.solutions().join(self.folder())
    }
}

/// All exercises of the checkout, in order.
#[derive(Debug, Clone)]
pub struct Catalogue {
    exercises: Vec<Exercise>,
}

impl Catalogue {
    /// Reads every `solutions/NN-*/exercise.toml`: the references are the originals, since learners edit beside the copies.
    pub fn read(workspace: &Workspace) -> anyhow::Result<Self> {
        let folder = workspace.solutions();
        let mut exercises = Vec::new();
        let entries = std::fs::read_dir(&folder)
            .with_context(|| format!("cannot list {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path().join("exercise.toml");
            if path.is_file() {
                exercises.push(read_exercise(&path)?);
            }
        }
        exercises.sort_by_key(|exercise: &Exercise| exercise.number);
        Ok(Catalogue { exercises })
    }

    /// The exercises, by number.
    pub fn iter(&self) -> impl Iterator<Item = &Exercise> {
        self.exercises.iter()
    }

    /// The exercise with this number.
    pub fn get(&self, number: u8) -> anyhow::Result<&Exercise> {
        self.exercises
            .iter()
            .find(|exercise| exercise.number == number)
            .ok_or_else(|| {
                Trouble::new(format!("there is no exercise-{number}"))
                    .expected(format!("one of: {}", self.names().join(", ")))
                    .next("just progress")
                    .into()
            })
    }

    /// The exercise that a target belongs to; none for the Kotlin service and the peers.
    pub fn of(&self, target: Target) -> anyhow::Result<Option<&Exercise>> {
        match target {
            Target::Exercise(number) | Target::Solution(number) => self.get(number).map(Some),
            Target::Kotlin | Target::Peer(_) => Ok(None),
        }
    }

    /// The first exercise whose measurement is this task.
    pub fn first_measured_by(&self, task: &str) -> anyhow::Result<&Exercise> {
        self.iter()
            .find(|exercise| exercise.task() == Some(task))
            .ok_or_else(|| {
                Trouble::new(format!("no exercise measures {task}"))
                    .expected("one whose exercise.toml names it as its task, below [measure]")
                    .next("git status -- solutions; git restore solutions brings the files back")
                    .into()
            })
    }

    /// True unless the target is a state of the port that checks no keys yet.
    pub fn checks_keys(&self, target: Target) -> anyhow::Result<bool> {
        let early =
            |exercise: &Exercise| exercise.is_port() && !self.suites_for(exercise).contains(&KEYS);
        Ok(!self.of(target)?.is_some_and(early))
    }

    /// Every exercise's target name.
    pub fn names(&self) -> Vec<String> {
        self.exercises.iter().map(Exercise::name).collect()
    }

    /// The suites that judge an exercise: those of the exercises that it grows from, and its own.
    pub fn suites_for<'a>(&'a self, exercise: &'a Exercise) -> Vec<&'a str> {
        // An exercise grows from an earlier one: a wrong number cannot lead in a circle.
        let before = exercise
            .grows_from
            .as_ref()
            .filter(|before| before.exercise < exercise.number)
            // A pull request is judged by what is new in it.
            .filter(|_| exercise.kind != Kind::Review)
            .and_then(|before| self.get(before.exercise).ok());
        let mut suites = before.map_or_else(Vec::new, |before| self.suites_for(before));
        suites.extend(exercise.suites.iter().map(String::as_str));
        suites
    }
}

fn port() -> String {
    PORT.to_owned()
}

fn read_exercise(path: &std::path::Path) -> anyhow::Result<Exercise> {
    let text = files::text(path)?;
    toml::from_str(&text).map_err(|error| {
        Trouble::new(format!("{} is malformed: {error}", path.display()))
            .expected(
                "number, slug, title, edit, red and [minutes], as the other exercises have them",
            )
            .next(format!(
                "git diff -- {0}; git restore {0} brings the file back",
                path.display()
            ))
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_add_up_along_what_an_exercise_grows_from() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        for (number, rest) in [
            (0, "kind = \"form\"\n"),
            (2, ""),
            (3, "[grows_from]\nexercise = 2\n"),
            (9, "part = \"ladder\"\n"),
            (13, "part = \"under-load\"\n[grows_from]\nexercise = 3\n"),
        ] {
            let place = folder.path().join(format!("solutions/{number}"));
            std::fs::create_dir_all(&place)?;
            let text = format!(
                "number = {number}\nslug = \"a\"\ntitle = \"A\"\nsuites = [\"suite-{number}\"]\nedit = []\nred = []\n{rest}\
                 [minutes]\nreading = 1\ndoing = 1\nreviewing = 1\n"
            );
            std::fs::write(place.join("exercise.toml"), text)?;
        }
        let catalogue = Catalogue::read(&Workspace::at(folder.path()))?;
        let suites = |number| Ok::<_, anyhow::Error>(catalogue.suites_for(catalogue.get(number)?));
        assert_eq!(suites(3)?, ["suite-2", "suite-3"]);
        assert_eq!(suites(9)?, ["suite-9"]);
        assert_eq!(suites(13)?, ["suite-2", "suite-3", "suite-13"]);
        assert!(!catalogue.get(0)?.is_crate() && catalogue.get(0)?.task().is_none());
        Ok(())
    }

    #[test]
    fn a_port_checks_keys_from_the_exercise_on_that_brings_their_suite() -> anyhow::Result<()> {
        let checkout = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let catalogue = Catalogue::read(&Workspace::at(&checkout))?;
        for (target, checks) in [
            (Target::Solution(3), false),
            (Target::Exercise(4), true),
            (Target::Solution(8), true),
            (Target::Solution(20), true),
            (Target::Kotlin, true),
        ] {
            assert_eq!(catalogue.checks_keys(target)?, checks, "{target}");
        }
        Ok(())
    }
}
