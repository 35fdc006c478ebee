//! The form of exercise 10, `remarks.toml`: what a reviewer remarks on in a pull request. The planted mistakes of the reference are what
//! there is to find; the pull request is the starter.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use workshop_base::exercise::Exercise;
use workshop_base::files::Tree;
use workshop_base::mistakes::Mistake;
use workshop_base::workspace::Workspace;
use workshop_base::{files, originals, patches};
use workshop_harness::build::Crate;
use workshop_harness::failure::Failure;
use workshop_harness::report::{Report, TestStatus};

/// The form's file.
const FILE: &str = "remarks.toml";
/// The tests that a form is judged by.
const COMPLETE: &str = "the_form_is_complete";
const ENOUGH: &str = "four_points_or_more";
/// The maximum number of remarks of a review.
const MOST: usize = 10;
/// How far from the fault a remark may be, in lines.
const NEAR: usize = 2;
/// Two halves make a point: a fault has one point, a wrong remark costs a half.
const HALVES_NEEDED: i32 = 8;

/// A filled form.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Remarks {
    /// 1 to 3: how much the check reveals about what is missing.
    round: u8,
    #[serde(default)]
    remark: Vec<Remark>,
}

/// One remark.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Remark {
    file: String,
    line: usize,
    kind: FaultKind,
    why: String,
    noticed_by: Noticer,
    /// Whether the reader's reason says the same as the course's.
    same: Option<bool>,
}

/// What kind of fault it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FaultKind {
    Panic,
    Race,
    Resource,
    Security,
    Disclosure,
    Release,
}

/// The earliest that the fault would have been noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Noticer {
    Compiler,
    Clippy,
    Test,
    Production,
    Nobody,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", format!("{self:?}").to_lowercase())
    }
}

impl fmt::Display for Noticer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", format!("{self:?}").to_lowercase())
    }
}

/// A fault of the pull request.
#[derive(Debug)]
struct PlantedFault {
    file: String,
    line: usize,
    kind: FaultKind,
    noticed_by: Noticer,
    title: String,
    why: String,
}

/// A pull request: its files, and what is wrong with it.
struct PullRequest {
    /// How many lines each file has.
    files: BTreeMap<String, usize>,
    faults: Vec<PlantedFault>,
}

/// The outcome of a form: each remark with the fault that it hits, if there is one.
struct Reviewed<'a> {
    remarks: Vec<(&'a Remark, Option<&'a PlantedFault>)>,
    missing: Vec<&'a PlantedFault>,
    halves: i32,
}

/// Judges the form of an exercise, in this crate's folder.
pub fn judge(workspace: &Workspace, exercise: &Exercise, place: &Crate) -> anyhow::Result<Report> {
    let request = PullRequest::of(workspace, exercise)?;
    let form = request.read(&files::text(&place.folder.join(FILE))?);
    let points = form.as_ref().map_err(Clone::clone).and_then(|form| {
        let halves = request.review(form).halves;
        let actual = points(halves);
        match halves >= HALVES_NEEDED {
            true => Ok(()),
            false => Err(Failure::new("4 points of 6", actual)),
        }
    });
    let mut report = Report::new(&place.package);
    for (test, judged) in [(COMPLETE, form.map(|_| ())), (ENOUGH, points)] {
        let status = match judged {
            Ok(()) => TestStatus::Passed,
            Err(failure) => TestStatus::Failed {
                failure,
                log: String::new(),
            },
        };
        report.add("remarks", test, status);
    }
    Ok(report)
}

/// The report for a learner: each remark, and as much about what is missing as the round allows. Nothing about a form that can't be
/// read.
pub fn told(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<String> {
    let request = PullRequest::of(workspace, exercise)?;
    let text = files::text(&exercise.starter(workspace).join(FILE))?;
    let Ok(form) = request.read(&text) else {
        return Ok(String::new());
    };
    Ok(request.review(&form).told(form.round))
}

fn points(halves: i32) -> String {
    format!("{} points", f64::from(halves) / 2.0)
}

impl PullRequest {
    /// The starter, as the course ships it, and the mistakes that are planted in it.
    fn of(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<PullRequest> {
        let tree = originals::starter(workspace, exercise)?;
        let mut faults = Vec::new();
        for mistake in Mistake::all(&exercise.solution(workspace))? {
            if let Some(review) = &mistake.review {
                faults.push(planted(&tree, &mistake, review)?);
            }
        }
        faults.sort_by(|one, other| (&one.file, one.line).cmp(&(&other.file, other.line)));
        let changed = exercise.edit.iter().chain(given(exercise));
        let changed = changed.filter(|file| *file != Path::new(FILE) && tree.contains_key(*file));
        let files = changed.map(|file| {
            let lines = patches::text(&tree, file).lines().count();
            (file.display().to_string(), lines)
        });
        Ok(PullRequest {
            files: files.collect(),
            faults,
        })
    }

    /// Reads a form, and says what is wrong with it.
    fn read(&self, text: &str) -> Result<Remarks, Failure> {
        let form: Remarks = toml::from_str(text).map_err(|error| {
            Failure::new(format!("{FILE} as its first lines say"), error.to_string())
        })?;
        let rounds = Failure::new("round = 1, 2 or 3", format!("round = {}", form.round));
        if !(1..=3).contains(&form.round) {
            return Err(rounds);
        }
        if form.remark.len() > MOST {
            let actual = form.remark.len().to_string();
            return Err(Failure::new(format!("at most {MOST} remarks"), actual));
        }
        for remark in &form.remark {
            self.expect_usable(remark)?;
        }
        Ok(form)
    }

    fn expect_usable(&self, remark: &Remark) -> Result<(), Failure> {
        let Remark { file, line, .. } = remark;
        let Some(lines) = self.files.get(file) else {
            let known: Vec<&str> = self.files.keys().map(String::as_str).collect();
            let expected = format!("a file of the pull request: {}", known.join(", "));
            return Err(Failure::new(expected, format!("file = {file:?}")));
        };
        if !(1..=*lines).contains(line) {
            let expected = format!("a line of {file}, 1 to {lines}");
            return Err(Failure::new(expected, format!("line = {line}")));
        }
        if remark.why.trim().is_empty() {
            let expected = format!("why, for {file}:{line}: what happens, and to whom");
            return Err(Failure::new(expected, "an empty why"));
        }
        Ok(())
    }

    fn review<'a>(&'a self, form: &'a Remarks) -> Reviewed<'a> {
        let hit = |remark: &Remark| self.faults.iter().find(|fault| fault.is_hit_by(remark));
        let remarks: Vec<_> = form
            .remark
            .iter()
            .map(|remark| (remark, hit(remark)))
            .collect();
        let is_found =
            |fault: &PlantedFault| remarks.iter().any(|(remark, _)| fault.is_hit_by(remark));
        let (found, missing): (Vec<_>, Vec<_>) =
            self.faults.iter().partition(|fault| is_found(fault));
        let wrong = remarks.iter().filter(|(_, hit)| hit.is_none()).count();
        let count = |number: usize| i32::try_from(number).unwrap_or(i32::MAX);
        Reviewed {
            halves: 2 * count(found.len()) - count(wrong),
            remarks,
            missing,
        }
    }
}

impl PlantedFault {
    fn is_hit_by(&self, remark: &Remark) -> bool {
        self.file == remark.file
            && self.kind == remark.kind
            && self.line.abs_diff(remark.line) <= NEAR
    }
}

impl Reviewed<'_> {
    fn told(&self, round: u8) -> String {
        let mut told = String::new();
        for (remark, hit) in &self.remarks {
            told += &said_of(remark, *hit);
        }
        let found = self.remarks.iter().filter(|(_, hit)| hit.is_some());
        let judged: Vec<bool> = found.filter_map(|(remark, _)| remark.same).collect();
        if !judged.is_empty() {
            let same = judged.iter().filter(|same| **same).count();
            let all = judged.len();
            let _ = writeln!(told, "  your reasons: {same} of {all} say the same as ours");
        }
        let _ = writeln!(told, "  {}", points(self.halves));
        told + &self.told_of_missing(round)
    }

    fn told_of_missing(&self, round: u8) -> String {
        let missing = &self.missing;
        if missing.is_empty() {
            return "  nothing is missing\n".to_owned();
        }
        let count = missing.len();
        match round {
            1 => format!("  {count} more to find; round = 2 says in which files\n"),
            2 => {
                let mut files: Vec<&str> = missing.iter().map(|fault| &*fault.file).collect();
                files.dedup();
                let files = files.join(", ");
                format!("  {count} more to find, in {files}; round = 3 tells all\n")
            }
            _ => {
                let lines = missing.iter().map(|fault| {
                    let PlantedFault { file, line, kind, noticed_by, title, why } = fault;
                    format!("  missed  {file}:{line}, {kind}: {title}. {why}\n          noticed by: {noticed_by}\n")
                });
                lines.collect()
            }
        }
    }
}

/// A line or three about one remark.
fn said_of(remark: &Remark, hit: Option<&PlantedFault>) -> String {
    let Remark {
        file,
        line,
        kind,
        why,
        noticed_by: said,
        ..
    } = remark;
    let Some(fault) = hit else {
        return format!("  not there  {file}:{line}, {kind}: {why}\n");
    };
    let (ours, noticed_by) = (&fault.why, fault.noticed_by);
    let who = match noticed_by == *said {
        true => format!("noticed by: {noticed_by}"),
        false => format!("noticed by: {noticed_by}, you said {said}"),
    };
    format!(
        "  found  {file}:{line}, {kind}\n          yours: {why}\n          ours:  {ours}\n          {who}\n"
    )
}

fn given(exercise: &Exercise) -> impl Iterator<Item = &PathBuf> {
    exercise.grows_from.iter().flat_map(|before| &before.given)
}

/// The fault that a mistake's head describes, at its line in the pull request.
fn planted(tree: &Tree, mistake: &Mistake, review: &str) -> anyhow::Result<PlantedFault> {
    let parts: Vec<&str> = review.split('|').map(str::trim).collect();
    let [file, words, kind, noticed_by] = parts[..] else {
        anyhow::bail!("{}: Review: file | words | kind | noticed by", mistake.slug);
    };
    let text = patches::text(tree, Path::new(file));
    let Some(line) = text.lines().position(|line| line.contains(words)) else {
        anyhow::bail!("{}: no line of {file} has {words}", mistake.slug);
    };
    let read = |word: &str| toml::Value::String(word.to_owned());
    Ok(PlantedFault {
        file: file.to_owned(),
        line: line + 1,
        kind: read(kind).try_into()?,
        noticed_by: read(noticed_by).try_into()?,
        title: mistake.title.clone(),
        why: mistake.why.clone(),
    })
}

#[cfg(test)]
mod tests {
    use workshop_base::exercise::Catalogue;

    use super::*;

    fn pull_request() -> (Workspace, Exercise, PullRequest) {
        let workspace = Workspace::find().expect("the checkout");
        let catalogue = Catalogue::read(&workspace).expect("the exercises");
        let exercise = catalogue.get(10).expect("exercise 10").clone();
        let request = PullRequest::of(&workspace, &exercise).expect("a pull request");
        (workspace, exercise, request)
    }

    fn remark(fault: &PlantedFault, line: usize, kind: FaultKind) -> String {
        let file = &fault.file;
        format!(
            "[[remark]]\nfile = {file:?}\nline = {line}\nkind = \"{kind}\"\nwhy = \"it breaks\"\nnoticed_by = \"nobody\"\n"
        )
    }

    fn halves(request: &PullRequest, remarks: &[String]) -> i32 {
        let text = format!("round = 1\n{}", remarks.concat());
        let form = request.read(&text).expect("a form");
        request.review(&form).halves
    }

    #[test]
    fn the_courses_own_remarks_find_all_six() {
        let (workspace, exercise, request) = pull_request();
        let text = files::text(&exercise.solution(&workspace).join(FILE)).expect("the remarks");
        let form = request.read(&text).expect("a form");
        let reviewed = request.review(&form);
        assert_eq!(reviewed.halves, 12);
        let told = reviewed.told(form.round);
        assert!(told.contains("nothing is missing"), "{told}");
        assert!(told.contains("6 of 6 say the same"), "{told}");
    }

    #[test]
    fn a_remark_hits_within_two_lines_and_with_the_right_kind() {
        let (_, _, request) = pull_request();
        let fault = &request.faults[0];
        let near = remark(fault, fault.line + 2, fault.kind);
        let far = remark(fault, fault.line + 3, fault.kind);
        let odd = remark(fault, fault.line, FaultKind::Race);
        assert_ne!(fault.kind, FaultKind::Race);
        assert_eq!(halves(&request, std::slice::from_ref(&near)), 2);
        assert_eq!(halves(&request, &[near.clone(), near.clone()]), 2);
        assert_eq!(halves(&request, &[near, far, odd]), 0);
    }

    #[test]
    fn each_round_tells_more_of_what_is_missing() {
        let (_, _, request) = pull_request();
        let form = request.read("round = 1").expect("a form");
        let reviewed = request.review(&form);
        let [first, second, third] = [1, 2, 3].map(|round| reviewed.told(round));
        assert!(
            first.contains("6 more") && !first.contains("src/notes.rs"),
            "{first}"
        );
        assert!(
            second.contains("src/notes.rs") && !second.contains("src/notes.rs:"),
            "{second}"
        );
        assert_eq!(third.matches("missed").count(), 6, "{third}");
    }

    #[test]
    fn a_form_that_cannot_be_used_says_why_and_what_would_be_right() {
        let (_, _, request) = pull_request();
        let fault = &request.faults[0];
        let good = remark(fault, fault.line, fault.kind);
        for (text, says) in [
            ("round = 1\n[[remark]".to_owned(), "line 2"),
            ("round = 4".to_owned(), "round = 4"),
            (
                format!(
                    "round = 1\n{}",
                    good.replace(&fault.kind.to_string(), "typo")
                ),
                "expected one of",
            ),
            (
                format!("round = 1\n{}", good.replace("noticed_by", "noticed")),
                "noticed",
            ),
            (
                format!("round = 1\n{}", good.replace(&fault.file, "src/nose.rs")),
                "src/nose.rs",
            ),
            (
                format!("round = 1\n{}", remark(fault, 9999, fault.kind)),
                "line = 9999",
            ),
            (
                format!("round = 1\n{}", good.replace("it breaks", " ")),
                "an empty why",
            ),
            (format!("round = 1\n{}", good.repeat(11)), "11"),
        ] {
            let failure = request.read(&text).expect_err(says);
            assert!(failure.actual.contains(says), "{}", failure.actual);
        }
    }

    #[test]
    fn the_pull_request_leads_from_exercise_8_to_what_is_reviewed() -> anyhow::Result<()> {
        let (workspace, exercise, _) = pull_request();
        let catalogue = Catalogue::read(&workspace)?;
        let reviewed = originals::starter(&workspace, &exercise)?;
        let code = |mut tree: Tree| {
            tree.retain(|path, _| path.starts_with("src") || path.starts_with("migrations"));
            tree
        };
        let mut tree = code(originals::reference(&workspace, catalogue.get(8)?)?);
        let diff = patches::text(&reviewed, Path::new("pull-request.diff")).into_owned();
        patches::apply(&mut tree, &diff).map_err(anyhow::Error::msg)?;
        assert_eq!(
            files::differing(&tree, &code(reviewed)),
            Vec::<PathBuf>::new()
        );
        Ok(())
    }
}
