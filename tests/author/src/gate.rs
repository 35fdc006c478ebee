//! The author's gate, piece by piece: a starter is red exactly as declared, a reference is green, a planted mistake is caught by what
//! its file names and has a hint, the Kotlin service keeps the whole contract, and the files fit together.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Output;

use anyhow::Context;
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesOrdered;
use tokio::sync::Semaphore;

use crate::chain;
use crate::judge;
use crate::verdicts::{self, VerdictKey, Verdicts};
use workshop::commands::check;
use workshop::hints;
use workshop::judge::judge_launch;
use workshop::katas::Katas;
use workshop::references::Reference;
use workshop::ways::OtherWay;
use workshop_base::cases::{self, DebugCase};
use workshop_base::exercise::{Catalogue, Exercise, Kind};
use workshop_base::files::Tree;
use workshop_base::incidents::{self, Incident};
use workshop_base::mistakes::Mistake;
use workshop_base::news::News;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::program::cargo_command;
use workshop_base::target::Target;
use workshop_base::terminal::{self, Style, paint};
use workshop_base::workspace::Workspace;
use workshop_base::{files, originals, program, scratch};
use workshop_harness::build::copies::Copy;
use workshop_harness::build::launch::Launch;
use workshop_harness::build::{self, BuildError, Profile, nginx, reading};
use workshop_harness::cases::{QUIET, Reproduction, reproduce};
use workshop_harness::incident as played;
use workshop_harness::plan;
use workshop_harness::report::{Report, TestStatus};
use workshop_harness::run::{judge_mistake, judge_phases, twice_at_most};
use workshop_harness::scenarios::Place;
use workshop_harness::service::nginx::FILE;
use workshop_measure::protocol::subject::Subject as Measured;
use workshop_measure::protocol::{builder, gates};
use workshop_postgres::Server;
use workshop_postgres::datasets::{self, DataSet};
use workshop_suites::forms::{diagnosis, from_traces};

/// Fewer planted mistakes do not show that the tests can fail.
pub const FEWEST_MISTAKES: usize = 2;

/// How many mistakes are in work at the same time: two are compiled while the others mostly wait for a time limit.
const SIDE_BY_SIDE: u32 = 12;

/// A whole suite keeps a processor busy: one for each of two cores at a time.
const WHOLE: u32 = SIDE_BY_SIDE / 2;

/// Most of a starter's tests are red at once.
const MOSTLY_RED: u32 = SIDE_BY_SIDE / 4;

/// How many mistakes are compiled at the same time.
const COMPILERS: usize = 2;

/// In how many places mistakes and other answers of one exercise are compiled. A place is compiled again in a second; the first time
/// takes four. A service that is more than one program is judged in its place.
const PLACES: usize = 2;
const PLACES_THAT_ARE_JUDGED: usize = 3;

/// What has to hold, and what came out.
#[derive(Debug)]
pub struct GateFinding {
    what: String,
    faults: GateFaults,
}

/// What a judgment comes to: what is wrong, which tests were red at first and green when they were judged alone, and for which this
/// machine lacks something. Nothing of all that is good.
#[derive(Debug, Default)]
struct GateFaults {
    faults: Vec<String>,
    unsteady: Vec<String>,
    not_judged: Vec<String>,
}

impl GateFaults {
    /// Whether it counts the next time as well. What was green at the second try only is judged again, and so is what had tests that
    /// could not be judged: the next time, what they need may be there.
    fn may_be_kept(&self) -> bool {
        self.faults.is_empty() && self.unsteady.is_empty() && self.not_judged.is_empty()
    }
}

impl From<Vec<String>> for GateFaults {
    fn from(faults: Vec<String>) -> GateFaults {
        GateFaults {
            faults,
            ..GateFaults::default()
        }
    }
}

/// Something that is found out when its turn comes.
pub struct Judgment<'a> {
    /// How much of the machine it takes, of [`SIDE_BY_SIDE`].
    takes: u32,
    work: LocalBoxFuture<'a, anyhow::Result<Vec<GateFinding>>>,
}

/// How many findings held, how many did not, and what this machine could not judge.
#[derive(Debug, Default)]
pub struct Tally {
    /// What held.
    pub passed: usize,
    /// What did not.
    pub failed: usize,
    /// What this machine lacks the means for, each with what fixes it.
    pub not_judged: Vec<String>,
    /// What could not be judged for another reason.
    pub broken: Vec<String>,
    /// Tests that were red at first and green when they were judged alone, for each finding.
    pub unsteady: Vec<BTreeSet<String>>,
}

/// How many causes of unsteady tests there may be in a run: on a busy machine there is one now and then, and each of them may be a real
/// fault. Tests that were red in one finding have one cause, and so have findings that share a test: a container that took long to
/// start again turned five tests red.
const MOST_UNSTEADY: usize = 7;

impl<'a> Judgment<'a> {
    /// One that takes so much of the machine.
    fn new(
        takes: u32,
        work: impl Future<Output = anyhow::Result<Vec<GateFinding>>> + 'a,
    ) -> Judgment<'a> {
        let work = Box::pin(work);
        Judgment { takes, work }
    }

    /// The same, unless this machine lacks something for it: that is found out before anything is built.
    pub fn unless(self, lacks: impl Future<Output = Option<Trouble>> + 'a) -> Judgment<'a> {
        let Judgment { takes, work } = self;
        Judgment::new(takes, async {
            match lacks.await {
                Some(lack) => lack.err(),
                None => work.await,
            }
        })
    }
}

impl GateFinding {
    fn new(what: impl Into<String>, faults: Vec<String>) -> GateFinding {
        GateFinding {
            what: what.into(),
            faults: faults.into(),
        }
    }
}

/// A service that was built from a reference with a patch in it, and what has to stay for as long as it is judged.
struct PatchedService {
    launch: Launch,
    _place: Option<Copy>,
    _folder: Option<scratch::Folder>,
}

/// What is verified, and with what.
pub struct Gate<'a> {
    workspace: &'a Workspace,
    server: &'a Server,
    catalogue: &'a Catalogue,
    verdicts: Verdicts,
    /// Judge everything again, and each reference by the suites of the exercises before it as well.
    anew: bool,
    compilers: Semaphore,
}

impl<'a> Gate<'a> {
    /// With `anew` no kept verdict counts.
    pub fn new(
        workspace: &'a Workspace,
        server: &'a Server,
        catalogue: &'a Catalogue,
        anew: bool,
    ) -> anyhow::Result<Gate<'a>> {
        Ok(Gate {
            workspace,
            server,
            catalogue,
            verdicts: Verdicts::of(workspace, server, anew)?,
            anew,
            compilers: Semaphore::new(COMPILERS),
        })
    }

    /// What can be said of an exercise without building anything.
    pub fn files(&'a self, exercise: &'a Exercise) -> Judgment<'a> {
        Judgment::new(1, async { self.files_of(exercise) })
    }

    /// Whether starter and reference are formatted and compile without warnings.
    pub fn lints(&'a self, exercise: &'a Exercise) -> Judgment<'a> {
        Judgment::new(WHOLE, async {
            Ok(vec![
                GateFinding::new(
                    "starter and reference are formatted",
                    self.formatting_faults(exercise).await?,
                ),
                GateFinding::new(
                    "starter and reference compile without warnings, clippy's included",
                    self.clippy_faults(exercise).await?,
                ),
            ])
        })
    }

    /// Whether the reference is green. One that another grows from is judged by its own suites: the later one passes them as well. So is
    /// one that branches off, until the night: the first that grows from the same reference passes the earlier suites.
    pub fn reference(&'a self, exercise: &'a Exercise) -> Judgment<'a> {
        Judgment::new(WHOLE, async {
            let suites: Vec<&str> = match self.anew || self.passes_for_all_before(exercise) {
                true => self.catalogue.suites_for(exercise),
                false => exercise.suites.iter().map(String::as_str).collect(),
            };
            let what = match exercise.is_crate() {
                true => format!("the reference is green: {}", suites.join(", ")),
                false => "the reference is green".to_owned(),
            };
            let server = &self.verdicts.server;
            let key = self.key(exercise, &what, &[server])?;
            self.unless_kept(what, &key, async || {
                let target = Target::Solution(exercise.number);
                let judged = judge::judge(self.workspace, self.catalogue, target, Some(&suites));
                faults_in(judged.await, green_faults)
            })
            .await
        })
    }

    /// Whether the starter is red exactly as declared.
    pub fn starter(&'a self, exercise: &'a Exercise) -> Judgment<'a> {
        Judgment::new(MOSTLY_RED, async {
            let what = "the starter is red exactly as declared".to_owned();
            let starter = originals::in_place(self.workspace, exercise)?;
            let server = &self.verdicts.server;
            let key = self.key(exercise, &what, &[server, &starter])?;
            self.unless_kept(what, &key, async || {
                let target = Target::Exercise(exercise.number);
                let judged = judge::judge(self.workspace, self.catalogue, target, None).await;
                faults_in(judged, |report| red_faults(exercise, report))
            })
            .await
        })
    }

    /// Whether there are enough planted mistakes.
    pub fn has_mistakes(&'a self, mistakes: &[Mistake]) -> Judgment<'a> {
        let count = mistakes.len();
        let few = format!("{count} found, {FEWEST_MISTAKES} expected");
        let few = (count < FEWEST_MISTAKES).then_some(few);
        let few = GateFinding::new("there are planted mistakes", few.into_iter().collect());
        Judgment::new(1, std::future::ready(Ok(vec![few])))
    }

    /// Whether a mistake, planted in the reference, is caught by what its file names, and has a hint.
    pub fn mistake(
        &'a self,
        exercise: &'a Exercise,
        mistake: Mistake,
        number: usize,
    ) -> Judgment<'a> {
        Judgment::new(1, async move {
            let (slug, caught_by) = (&mistake.slug, &mistake.caught_by);
            let what = format!("mistake {slug} is caught by {caught_by}, with a hint");
            let planted = Tree::from([(slug.into(), mistake.patch.clone().into_bytes())]);
            let hints = hints::files(self.workspace, exercise)?;
            let reference = verdicts::reference_files(
                &Reference::with(self.workspace, exercise, &mistake).folder,
            )?;
            // A test that catches it on one kind of PostgreSQL does so on any: whether that kind works is judged with the references.
            let key = self.key(exercise, &what, &[&planted, &hints, &reference])?;
            self.unless_kept(what, &key, async || {
                let report = match exercise.kind {
                    Kind::Katas => {
                        let Mistake { slug, patch, .. } = &mistake;
                        self.patched_kata(exercise, slug, patch, number).await
                    }
                    _ => self.planted(exercise, &mistake, number).await,
                };
                let not_judged = report.as_ref().map(not_judged_in).unwrap_or_default();
                if !not_judged.is_empty() {
                    return Ok(GateFaults {
                        not_judged,
                        ..GateFaults::default()
                    });
                }
                Ok(self.not_caught(exercise, &mistake, report)?.into())
            })
            .await
        })
    }

    /// Whether another good answer is green.
    pub fn way(&'a self, exercise: &'a Exercise, way: OtherWay, number: usize) -> Judgment<'a> {
        Judgment::new(WHOLE, async move {
            let what = format!("way {} is green", way.slug);
            let tree = Tree::from([((&way.slug).into(), way.patch.clone().into_bytes())]);
            let server = &self.verdicts.server;
            let key = self.key(exercise, &what, &[server, &tree])?;
            self.unless_kept(what, &key, async || {
                if exercise.kind == Kind::Katas {
                    let judged = self.patched_kata(exercise, &way.slug, &way.patch, number);
                    return faults_in(judged.await, green_faults);
                }
                let reference = Reference::own(self.workspace, exercise);
                let service = self
                    .patched_service(exercise, &reference, &way.slug, &way.patch, number)
                    .await;
                let judged = async {
                    let place = Place {
                        workspace: self.workspace,
                        server: self.server,
                        launch: &service?.launch,
                    };
                    judge_launch(place, self.catalogue, Some(exercise)).await
                };
                faults_in(judged.await, green_faults)
            })
            .await
        })
    }

    /// Whether a debugging case is red with its fault and green with its fix, and whether its form tells right from wrong.
    pub fn case(&'a self, exercise: &'a Exercise, case: DebugCase) -> Judgment<'a> {
        Judgment::new(WHOLE, async move {
            let name = &case.name;
            let folder = exercise.solution(self.workspace).join(cases::FOLDER);
            let own = files::read_tree(&folder.join(name))?;
            let what = format!(
                "case {name}: red with its fault, green with its fix, and its form tells right from wrong"
            );
            let server = &self.verdicts.server;
            let key = self.key(exercise, &what, &[server, &own])?;
            self.unless_kept(what, &key, async || {
                let mut found = self.faults_of_the_faulty(exercise, &case).await?;
                found.extend(self.faults_of_the_fixed(exercise, &case).await?);
                Ok(found.into())
            })
            .await
        })
    }

    /// Whether an incident shows in the traces of its fault and not in those of the reference, and whether its form tells right from wrong.
    pub fn incident(&'a self, exercise: &'a Exercise, incident: Incident) -> Judgment<'a> {
        Judgment::new(MOSTLY_RED, async move {
            let name = &incident.name;
            let folder = exercise.solution(self.workspace).join(incidents::FOLDER);
            let own = files::read_tree(&folder.join(name))?;
            let what = format!(
                "incident {name}: its traces show it, the reference's don't, and its form tells right from wrong"
            );
            let server = &self.verdicts.server;
            let key = self.key(exercise, &what, &[server, &own])?;
            self.unless_kept(what, &key, async || {
                Ok(self
                    .faults_of_the_incident(exercise, &incident)
                    .await?
                    .into())
            })
            .await
        })
    }

    async fn faults_of_the_incident(
        &self,
        exercise: &Exercise,
        incident: &Incident,
    ) -> anyhow::Result<Vec<String>> {
        let reference = Reference::own(self.workspace, exercise);
        let place = |launch| Place {
            workspace: self.workspace,
            server: self.server,
            launch,
        };
        let (name, fault) = (&incident.name, incident.fault()?);
        let service = self
            .patched_service(exercise, &reference, name, &fault, name.len())
            .await?;
        let target = Target::Solution(exercise.number);
        let launch = build::build(self.workspace, target, Profile::Check).await?;
        let watched = async || {
            let faulty = played::watch(&place(&service.launch)).await?;
            let healthy = played::watch(&place(&launch)).await?;
            let showing = faulty.showing(name)?;
            let well = healthy.showing(name)?.len();
            Ok((showing, healthy, well))
        };
        // On a machine that is busy a healthy service has slow requests, too.
        let (showing, healthy, well) = twice_at_most(watched, |(showing, _, well)| {
            played::tells_them_apart(showing.len(), *well)
        })
        .await?;
        let (mut faults, ill) = (Vec::new(), showing.len());
        if !played::tells_them_apart(ill, well) {
            faults.push(format!(
                "it shows in {ill} traces of the fault, and in {well} of the reference"
            ));
        }
        let other = healthy.traces.first().map(|trace| &*trace.root.trace);
        faults.extend(from_traces::faults(
            incident,
            &showing,
            other.unwrap_or_default(),
        ));
        let asked: Vec<String> = from_traces::tests().map(str::to_owned).collect();
        let missing = hints::missing_in(&incident.hints(), &asked)?;
        faults.extend(missing.iter().map(|test| format!("no hint is for {test}")));
        Ok(faults)
    }

    /// With its fault a case is red as declared, and its form accepts what is right of a run.
    async fn faults_of_the_faulty(
        &self,
        exercise: &Exercise,
        case: &DebugCase,
    ) -> anyhow::Result<Vec<String>> {
        let reference = Reference::own(self.workspace, exercise);
        let patch = case.patch(self.workspace, false)?;
        let copy = self.patched(&reference, &case.name, &patch, 0).await?;
        let launch = self.built(exercise, &copy).await?;
        let place = Place {
            workspace: self.workspace,
            server: self.server,
            launch: &launch,
        };
        let suites = [case.name.as_str()];
        let phases = plan::phases(workshop_suites::all(), &suites, &suites)?;
        let report = judge_phases(place, &phases, &mut ()).await?;
        let mut faults = Vec::new();
        if report.failed() != case.red {
            faults.push(format!("with its fault, {:?} are red", report.failed()));
        }
        let Reproduction {
            stage, evidence, ..
        } = reproduce(&case.name, &place, QUIET).await?;
        for leaving in stage.leaves_with(Vec::new()).leaving {
            leaving.await?;
        }
        let planted = case.files(self.workspace, false)?;
        let planted = planted.get(Path::new(&case.file)).cloned();
        let planted = String::from_utf8_lossy(&planted.unwrap_or_default()).into_owned();
        faults.extend(diagnosis::faults(case, &planted, &evidence));
        let mut asked: Vec<String> = diagnosis::tests().map(str::to_owned).collect();
        asked.extend(case.red.iter().cloned());
        let missing = hints::missing_in(&case.hints(), &asked)?;
        faults.extend(missing.iter().map(|test| format!("no hint is for {test}")));
        Ok(faults)
    }

    /// With its fix a case is green, and keeps the contract as the reference does.
    async fn faults_of_the_fixed(
        &self,
        exercise: &Exercise,
        case: &DebugCase,
    ) -> anyhow::Result<Vec<String>> {
        let reference = Reference::own(self.workspace, exercise);
        let patch = case.patch(self.workspace, true)?;
        let copy = self.patched(&reference, &case.name, &patch, 0).await?;
        let launch = self.built(exercise, &copy).await?;
        let place = Place {
            workspace: self.workspace,
            server: self.server,
            launch: &launch,
        };
        let mut suites: Vec<&str> = exercise.suites.iter().map(String::as_str).collect();
        suites.push(&case.name);
        let phases = plan::phases(workshop_suites::all(), &suites, &suites)?;
        let report = judge_phases(place, &phases, &mut ()).await?;
        let red = green_faults(&report).into_iter();
        Ok(red.map(|fault| format!("with its fix: {fault}")).collect())
    }

    /// Whether the Kotlin service keeps the whole contract.
    pub fn kotlin(&'a self) -> Judgment<'a> {
        Judgment::new(WHOLE, async {
            let what = "the Kotlin service keeps the whole contract".to_owned();
            let key = self.verdicts.key(&what, true, &[&self.verdicts.server]);
            self.unless_kept(what, &key, async || {
                let judged = judge::judge(self.workspace, self.catalogue, Target::Kotlin, None);
                faults_in(judged.await, green_faults)
            })
            .await
        })
    }

    /// Whether the ceiling, which is no target but what measurements are compared with, answers what the port answers.
    pub fn ceiling(&'a self) -> Judgment<'a> {
        Judgment::new(1, async {
            let what = "the ceiling answers what the port answers";
            let worked = self.same_work_as_the_port().await;
            let faults = worked.err().map(|error| format!("{error:#}"));
            Ok(vec![GateFinding::new(what, faults.into_iter().collect())])
        })
    }

    async fn same_work_as_the_port(&self) -> anyhow::Result<()> {
        datasets::seed(self.server, self.workspace, DataSet::Small).await?;
        let scratch = tempfile::tempdir()?;
        let port = self.catalogue.iter().filter(|exercise| exercise.is_port());
        let last = port.last().context("no exercise is of the port")?;
        let target = Target::Solution(last.number);
        let port = build::build(self.workspace, target, Profile::Check).await?;
        let port = Measured::named(&target.to_string(), "port", port, scratch.path())?;
        let ceiling = builder::ceiling(self.workspace, Profile::Check).await?;
        let ceiling = Measured::named("ceiling", "ceiling", ceiling, scratch.path())?;
        let url = datasets::shared_url(self.server, DataSet::Small);
        gates::same_work(self.workspace, &[port, ceiling], &url, DataSet::Small).await?;
        Ok(())
    }

    /// Whether the book's includes, links and minutes hold.
    pub fn book(&'a self) -> Judgment<'a> {
        Judgment::new(1, async {
            let workspace = self.workspace.clone();
            // It takes seconds of the processor, in which the clocks of other judgments go on.
            let checked =
                tokio::task::spawn_blocking(move || workshop_book::check::source(&workspace));
            let faults = checked.await??.iter().map(ToString::to_string).collect();
            Ok(vec![GateFinding::new(
                "the book's includes and minutes hold",
                faults,
            )])
        })
    }

    /// Whether no other reference grows from this one.
    pub fn is_a_last_state(&self, exercise: &Exercise) -> bool {
        let mut grown = self
            .catalogue
            .iter()
            .filter_map(|later| later.grows_from.as_ref());
        !grown.any(|grown| grown.exercise == exercise.number)
    }

    /// Whether this reference is a last state, and the first of those that grow from the same one.
    fn passes_for_all_before(&self, exercise: &Exercise) -> bool {
        let parent = |one: &Exercise| one.grows_from.as_ref().map(|grown| grown.exercise);
        let mut elder = self
            .catalogue
            .iter()
            .filter(|one| one.number < exercise.number);
        let branches_off =
            parent(exercise).is_some() && elder.any(|one| parent(one) == parent(exercise));
        self.is_a_last_state(exercise) && !branches_off
    }

    /// What this machine lacks to judge an exercise, if it lacks anything.
    pub async fn lacks(&self, exercise: &Exercise) -> Option<Trouble> {
        if self.has_nginx(exercise)
            && let Err(lack) = nginx::needed().await
        {
            return Some(lack);
        }
        build::lacks(exercise.calls()?)
    }

    fn key(&self, exercise: &Exercise, what: &str, more: &[&Tree]) -> anyhow::Result<VerdictKey> {
        let reference = verdicts::reference_files(&exercise.solution(self.workspace))?;
        let mut trees = vec![&reference];
        trees.extend(more);
        let with_kotlin = exercise.calls().is_some() || self.has_nginx(exercise);
        let what = format!("{}: {what}", exercise.name());
        Ok(self.verdicts.key(&what, with_kotlin, &trees))
    }

    /// The finding that is kept, or what comes out now, which is kept when it is good.
    async fn unless_kept(
        &self,
        what: String,
        key: &VerdictKey,
        judge: impl AsyncFnOnce() -> anyhow::Result<GateFaults>,
    ) -> anyhow::Result<Vec<GateFinding>> {
        if self.verdicts.is_kept(key) {
            return Ok(vec![GateFinding::new(
                format!("{what} (as before)"),
                Vec::new(),
            )]);
        }
        let faults = judge().await?;
        if faults.may_be_kept() {
            self.verdicts.keep(key);
        }
        Ok(vec![GateFinding { what, faults }])
    }

    /// What can be said without building anything.
    fn files_of(&self, exercise: &Exercise) -> anyhow::Result<Vec<GateFinding>> {
        let (workspace, catalogue) = (self.workspace, self.catalogue);
        let reference = originals::reference(workspace, exercise)?;
        let starter = originals::in_place(workspace, exercise)?;
        let strays = match exercise.is_own() {
            true => Vec::new(),
            false => originals::strays(exercise, &reference, &starter),
        };
        let mut found = vec![
            GateFinding::new(
                "starter and reference differ in the files of the edit list only",
                strays,
            ),
            GateFinding::new(
                "starter.patch makes the starter from the reference",
                originals::patch_faults(workspace, exercise)?,
            ),
            GateFinding::new(
                "every test that is red has its hints",
                hints::missing(workspace, exercise, &exercise.red)?,
            ),
        ];
        if let Some(grows_from) = &exercise.grows_from {
            found.push(GateFinding::new(
                "the starter is the reference before it, but for edit and given",
                chain::unannounced(workspace, catalogue, exercise, grows_from)?,
            ));
        }
        let sentences = exercise.solution(workspace).join(originals::WHAT_IS_NEW);
        if sentences.is_file() {
            found.push(GateFinding::new(
                "what is new in the starter has its sentences",
                News::of(workspace, catalogue, exercise)?.faults,
            ));
        }
        Ok(found)
    }

    /// What the kata says that a patch changes.
    async fn patched_kata(
        &self,
        exercise: &Exercise,
        slug: &str,
        patch: &str,
        number: usize,
    ) -> anyhow::Result<Report> {
        let katas = Katas::of(self.workspace, exercise)?;
        let reference = Reference::own(self.workspace, exercise);
        let copy = self
            .patched(&reference, slug, patch, number % PLACES)
            .await?;
        let _turn = self.compilers.acquire().await?;
        katas
            .judge_patched(self.workspace, copy.krate(), patch)
            .await
    }

    /// What is said of a mistake by the service that was built with it.
    async fn planted(
        &self,
        exercise: &Exercise,
        mistake: &Mistake,
        number: usize,
    ) -> anyhow::Result<Report> {
        let reference = Reference::with(self.workspace, exercise, mistake);
        let (slug, patch) = (&mistake.slug, &mistake.patch);
        let service = self
            .patched_service(exercise, &reference, slug, patch, number)
            .await?;
        self.judged_by_its_test(exercise, mistake, &service.launch)
            .await
    }

    /// Builds the reference with a patch in it. A program is taken out of the place that it was built in, and the next one is built
    /// there meanwhile.
    async fn patched_service(
        &self,
        exercise: &Exercise,
        reference: &Reference,
        slug: &str,
        patch: &str,
        number: usize,
    ) -> anyhow::Result<PatchedService> {
        let is_one_program = self.is_one_program(exercise);
        let places = match is_one_program {
            true => PLACES,
            false => PLACES_THAT_ARE_JUDGED,
        };
        let copy = self
            .patched(reference, slug, patch, number % places)
            .await?;
        let mut launch = self.built(exercise, &copy).await?;
        if !is_one_program {
            return Ok(PatchedService {
                launch,
                _place: Some(copy),
                _folder: None,
            });
        }
        let folder = scratch::folder_in_checkout(self.workspace, &format!("patched-{slug}"))?;
        launch.program = folder.path().join("service");
        moved(&launch.artifact, &launch.program).await?;
        launch.artifact.clone_from(&launch.program);
        let configuration = launch.directory.join(FILE);
        if configuration.is_file() {
            tokio::fs::copy(&configuration, folder.path().join(FILE)).await?;
        }
        folder.path().clone_into(&mut launch.directory);
        Ok(PatchedService {
            launch,
            _place: None,
            _folder: Some(folder),
        })
    }

    /// A copy of the reference with a patch in it, in one of the few places where the compiler knows it again.
    async fn patched(
        &self,
        reference: &Reference,
        slug: &str,
        patch: &str,
        place: usize,
    ) -> anyhow::Result<Copy> {
        let Reference { folder, member } = reference;
        let name = format!("mistake-{member}-{place}");
        Copy::in_place_of(member, self.workspace, folder, &name, Some(patch))
            .await
            .with_context(|| format!("the patch {slug}"))
    }

    async fn built(&self, exercise: &Exercise, copy: &Copy) -> anyhow::Result<Launch> {
        let _turn = self.compilers.acquire().await?;
        let (calls, profile) = (exercise.calls(), Profile::Check);
        Ok(build::launch(self.workspace, calls, copy.krate(), profile).await?)
    }

    /// What the one test says that the mistake names; of one that doesn't compile or start, what a check says of that.
    async fn judged_by_its_test(
        &self,
        exercise: &Exercise,
        mistake: &Mistake,
        launch: &Launch,
    ) -> anyhow::Result<Report> {
        let test = match exercise.red.first() {
            Some(any) if !mistake.is_caught_by_a_test() => any,
            _ => &mistake.caught_by,
        };
        let suites = self.catalogue.suites_for(exercise);
        let phases = plan::phases(workshop_suites::all(), &suites, &suites)?;
        let test = std::slice::from_ref(test);
        let mut phases = phases.iter().filter_map(|phase| phase.some(test));
        let phase = phases.next().with_context(|| {
            let slug = &mistake.slug;
            format!(
                "mistake {slug}: no suite of the exercise has the test {}",
                test[0]
            )
        })?;
        let place = Place {
            workspace: self.workspace,
            server: self.server,
            launch,
        };
        judge_mistake(place, &phase).await
    }

    /// True when a reference is judged by its program alone.
    fn is_one_program(&self, exercise: &Exercise) -> bool {
        let limits = exercise.solution(self.workspace).join(reading::LIMITS);
        exercise.calls().is_none() && !self.has_nginx(exercise) && !limits.is_file()
    }

    fn has_nginx(&self, exercise: &Exercise) -> bool {
        exercise
            .solution(self.workspace)
            .join(nginx::FOLDER)
            .is_dir()
    }

    /// A mistake has to be caught by what its file names, and the hint for that has to know it.
    fn not_caught(
        &self,
        exercise: &Exercise,
        mistake: &Mistake,
        report: anyhow::Result<Report>,
    ) -> anyhow::Result<Vec<String>> {
        let check = check::outcome_of(Target::Solution(exercise.number), report)?;
        let hints = hints::of(self.workspace, exercise)?;
        let mut faults = Vec::new();
        let mut found = check.faults.iter();
        if !found.any(|fault| fault.name == mistake.caught_by) {
            faults.push(format!("the check found {:?}", check.faults));
        }
        let words = mistake.hint.as_deref().unwrap_or_default();
        match hints::choose(&hints, &check) {
            Some((_, section)) if section.is_own() && section.says(words) => {}
            Some((_, section)) if section.is_own() => faults.push(format!(
                "its hint is for {:?}, and levels 1 and 2 don't say {words:?}",
                section.heading
            )),
            _ => faults.push("no hint is for it".to_owned()),
        }
        Ok(faults)
    }

    /// Runs `cargo COMMAND --package … -- AFTER` for starter and reference.
    async fn cargo(
        &self,
        exercise: &Exercise,
        command: &[&str],
        after: &[&str],
    ) -> anyhow::Result<Output> {
        let starter = (!exercise.is_own()).then(|| exercise.name());
        let packages = starter.into_iter().chain([exercise.reference_name()]);
        let packages = packages.map(|package| format!("--package={package}"));
        let mut cargo = cargo_command();
        cargo.args(command).args(packages).arg("--").args(after);
        cargo
            .env("CARGO_TARGET_DIR", self.workspace.cargo_target())
            .current_dir(self.workspace.root());
        Ok(program::run(cargo, "").await?)
    }

    /// The files that `cargo fmt` would change.
    async fn formatting_faults(&self, exercise: &Exercise) -> anyhow::Result<Vec<String>> {
        let output = self
            .cargo(exercise, &["fmt", "--check"], &["--files-with-diff"])
            .await?;
        let files = String::from_utf8_lossy(&output.stdout);
        if output.status.success() || !files.trim().is_empty() {
            let shown = |file| files::shown(self.workspace, Path::new(file));
            let told = files.lines().map(shown);
            return Ok(told
                .map(|file| format!("cargo fmt would change {file}"))
                .collect());
        }
        let words = String::from_utf8_lossy(&output.stderr);
        Trouble::new(format!("cargo fmt did not work:\n{}", words.trim()))
            .expected("rustfmt beside cargo")
            .next("rustup component add rustfmt; just doctor")
            .err()
    }

    /// What the compiler and clippy warn of.
    async fn clippy_faults(&self, exercise: &Exercise) -> anyhow::Result<Vec<String>> {
        let command = ["clippy", "--quiet", "--all-targets", "--keep-going"];
        let output = self
            .cargo(exercise, &command, &["--deny", "warnings"])
            .await?;
        let words = String::from_utf8_lossy(&output.stderr);
        let lines = words.lines().filter(|line| {
            !output.status.success() && (line.starts_with("error") || line.contains("-->"))
        });
        Ok(lines.map(str::to_owned).collect())
    }
}

/// Runs the judgments, a few side by side, and tells what was found in their order, each under its title. What the machine lacks the
/// means for is counted apart where it `may_lack` some, and an error otherwise.
pub async fn tell<'a>(
    judgments: Vec<(String, Judgment<'a>)>,
    may_lack: bool,
) -> anyhow::Result<Tally> {
    let turns = Semaphore::new(SIDE_BY_SIDE as usize);
    let all = judgments.len();
    let judgments = judgments.into_iter().map(async |(title, judgment)| {
        let turn = turns.acquire_many(judgment.takes).await;
        let found = judgment.work.await;
        drop(turn);
        (title, found)
    });
    let mut found: FuturesOrdered<_> = judgments.collect();
    let (mut tally, mut shown, mut done) = (Tally::default(), String::new(), 0);
    while let Some((title, findings)) = found.next().await {
        done += 1;
        if shown != title {
            let far = paint(Style::Faint, format!("({done} of {all})"));
            println!("{} {far}", paint(Style::Strong, &title));
            shown = title;
        }
        match findings {
            Ok(findings) => tally.take(&shown, findings, may_lack),
            Err(error) => {
                let lack = Trouble::of(&error).filter(|trouble| trouble.is_a_lack() && may_lack);
                if let Some(lack) = lack.map(Trouble::in_one_line) {
                    tally.lacks(&shown, &lack, may_lack);
                } else {
                    // The others may have been in work for an hour.
                    println!("  {}  {error:#}", paint(Style::Bad, "could not judge"));
                    let why = Trouble::of(&error).map(Trouble::in_one_line);
                    let why = why.unwrap_or_else(|| error.to_string());
                    tally.broken.push(format!("{shown}: {why}"));
                }
            }
        }
    }
    Ok(tally)
}

impl Tally {
    /// Counts these as well.
    pub fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.not_judged.extend(other.not_judged);
        self.broken.extend(other.broken);
        self.unsteady.extend(other.unsteady);
    }

    /// Names what is behind the numbers, and says what all comes to.
    pub fn outcome(&self) -> Outcome {
        for broken in &self.broken {
            println!("could not judge {broken}");
        }
        let unsteady = self.unsteady_by_cause();
        if !unsteady.is_empty() {
            println!("unsteady, {} of at most {MOST_UNSTEADY}:", unsteady.len());
        }
        for tests in &unsteady {
            let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
            println!("  {}", tests.join(", "));
        }
        if self.failed > 0 || unsteady.len() > MOST_UNSTEADY {
            Outcome::Failed
        } else if self.broken.is_empty() {
            Outcome::Passed
        } else {
            Outcome::CouldNotJudge
        }
    }

    /// The unsteady tests, those with the same cause together.
    fn unsteady_by_cause(&self) -> Vec<BTreeSet<String>> {
        let mut causes: Vec<BTreeSet<String>> = Vec::new();
        for tests in &self.unsteady {
            let (same, others) = causes
                .into_iter()
                .partition::<Vec<_>, _>(|cause| !cause.is_disjoint(tests));
            causes = others;
            causes.push(same.into_iter().flatten().chain(tests.clone()).collect());
        }
        causes
    }

    fn take(&mut self, title: &str, findings: Vec<GateFinding>, may_lack: bool) {
        for GateFinding { what, faults } in findings {
            let GateFaults {
                faults,
                unsteady,
                not_judged,
            } = faults;
            if !unsteady.is_empty() {
                self.unsteady.push(unsteady.into_iter().collect());
            }
            // The tests that were judged say nothing of the others.
            if !faults.is_empty() || not_judged.is_empty() {
                match terminal::finding(&what, faults.is_empty()) {
                    true => self.passed += 1,
                    false => self.failed += 1,
                }
            } else {
                println!("  {}  {what}", paint(Style::Faint, "not judged here"));
            }
            for fault in faults {
                println!("          {fault}");
            }
            for lack in not_judged {
                self.lacks(title, &lack, may_lack);
            }
        }
    }

    /// Counts what this machine lacks the means for: apart where it `may_lack` some, and as an error otherwise.
    fn lacks(&mut self, title: &str, lack: &str, may_lack: bool) {
        println!("  {}  {lack}", paint(Style::Faint, "not judged here"));
        let counted = match may_lack {
            true => &mut self.not_judged,
            false => &mut self.broken,
        };
        counted.push(format!("{title}: {lack}"));
    }
}

/// What is wrong with what was judged. That it does not compile is a fault as well; all other errors are no verdict.
fn faults_in(
    judged: anyhow::Result<Report>,
    faults: impl FnOnce(&Report) -> Vec<String>,
) -> anyhow::Result<GateFaults> {
    match judged {
        Ok(report) => Ok(GateFaults {
            faults: faults(&report),
            not_judged: not_judged_in(&report),
            unsteady: report
                .unsteady
                .into_iter()
                .map(|judged| judged.test)
                .collect(),
        }),
        Err(error) if error.is::<BuildError>() => match error.downcast()? {
            BuildError::CouldNotBuild(error) => Err(error),
            does_not_compile => Ok(vec![does_not_compile.to_string()].into()),
        },
        Err(error) => Err(error),
    }
}

/// The tests for which this machine lacks something, and what.
fn not_judged_in(report: &Report) -> Vec<String> {
    let not_judged = report.not_judged();
    not_judged
        .map(|(test, lack)| format!("{test}: {lack}"))
        .collect()
}

/// Moves a file, also to another file system.
async fn moved(from: &Path, to: &Path) -> anyhow::Result<()> {
    if tokio::fs::rename(from, to).await.is_err() {
        let copied = tokio::fs::copy(from, to).await;
        copied.with_context(|| format!("cannot copy {}", from.display()))?;
    }
    Ok(())
}

fn red_faults(exercise: &Exercise, report: &Report) -> Vec<String> {
    report.print_unsteady();
    let mut undeclared = Vec::new();
    for judged in &report.tests {
        if let TestStatus::Failed { failure, log } = &judged.status
            && !exercise.red.contains(&judged.test)
        {
            undeclared.push(format!("{} fails, but is not declared red", judged.test));
            undeclared.extend(failure.to_string().lines().map(|line| format!("  {line}")));
            undeclared.extend(log.lines().map(|line| format!("  | {line}")));
        }
    }
    let failed = report.failed();
    let not_judged: Vec<&str> = report.not_judged().map(|(test, _)| test).collect();
    let unexpected = exercise
        .red
        .iter()
        .filter(|test| !failed.contains(test) && !not_judged.contains(&test.as_str()));
    let unexpected = unexpected.map(|test| format!("{test} is declared red, but does not fail"));
    undeclared.extend(unexpected);
    undeclared
}

fn green_faults(report: &Report) -> Vec<String> {
    let mut faults = report.failed();
    if faults.is_empty() && report.hung_on_shutdown {
        faults.push("it hung on shutdown".to_owned());
    }
    if faults.is_empty() {
        report.print_unsteady();
    } else {
        report.print();
    }
    faults
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use workshop_harness::failure::Failure;

    use super::*;

    fn judged(found: anyhow::Result<Vec<GateFinding>>) -> (String, Judgment<'static>) {
        ("exercise-3".to_owned(), Judgment::new(1, async { found }))
    }

    #[tokio::test]
    async fn what_could_not_be_judged_ends_nothing_and_is_told_at_the_end() -> anyhow::Result<()> {
        let good = || judged(Ok(vec![GateFinding::new("it is green", Vec::new())]));
        let full = || judged(Trouble::new("the disk is full").next("df -h").err());
        let tally = tell(vec![full(), good()], false).await?;
        assert_eq!((tally.passed, tally.failed), (1, 0));
        assert_eq!(tally.broken, ["exercise-3: the disk is full; df -h"]);
        assert_eq!(tally.outcome(), Outcome::CouldNotJudge);
        let red = judged(Ok(vec![GateFinding::new(
            "it is green",
            vec!["red".to_owned()],
        )]));
        let tally = tell(vec![full(), red], false).await?;
        assert_eq!(tally.outcome(), Outcome::Failed);
        Ok(())
    }

    #[tokio::test]
    async fn a_few_unsteady_tests_are_told_and_many_are_a_fault() -> anyhow::Result<()> {
        let together = |tests: Range<usize>| {
            let faults = GateFaults {
                unsteady: tests.map(|test| format!("test_{test}")).collect(),
                ..GateFaults::default()
            };
            let what = "it is green".to_owned();
            judged(Ok(vec![GateFinding { what, faults }]))
        };
        let apart = |tests: Range<usize>| tests.map(|test| together(test..test + 1));
        let few = || apart(0..MOST_UNSTEADY);
        let the_same_again = tell(few().chain(few()).collect(), false).await?;
        assert_eq!(the_same_again.outcome(), Outcome::Passed);
        let one_more = apart(MOST_UNSTEADY..MOST_UNSTEADY + 1);
        let many = tell(few().chain(one_more).collect(), false).await?;
        assert_eq!(many.outcome(), Outcome::Failed);
        // They were red together, so they have one cause.
        let joined = few().chain([together(5..20)]).collect();
        assert_eq!(tell(joined, false).await?.outcome(), Outcome::Passed);
        Ok(())
    }

    /// The report on a reference that was judged without nginx.
    fn without_nginx(other: TestStatus) -> Report {
        let mut report = Report::new("solution-8");
        report.add("ship-it", "alone", other);
        let lack = TestStatus::NotJudged("there is no nginx".to_owned());
        report.add("strangers", "behind_nginx", lack);
        report
    }

    fn red() -> TestStatus {
        TestStatus::Failed {
            failure: Failure::new("an answer", "none"),
            log: String::new(),
        }
    }

    async fn told(other: TestStatus, may_lack: bool) -> anyhow::Result<Tally> {
        let what = "the reference is green".to_owned();
        let faults = faults_in(Ok(without_nginx(other)), green_faults)?;
        assert!(!faults.may_be_kept());
        tell(
            vec![judged(Ok(vec![GateFinding { what, faults }]))],
            may_lack,
        )
        .await
    }

    #[tokio::test]
    async fn a_test_that_could_not_be_judged_makes_no_verdict() -> anyhow::Result<()> {
        let lack = ["exercise-3: behind_nginx: there is no nginx"];
        let verified = told(TestStatus::Passed, false).await?;
        assert_eq!((verified.passed, verified.failed), (0, 0));
        assert_eq!(verified.broken, lack);
        assert_eq!(verified.outcome(), Outcome::CouldNotJudge);
        let tested = told(TestStatus::Passed, true).await?;
        assert_eq!((tested.passed, tested.failed), (0, 0));
        assert_eq!(tested.not_judged, lack);
        let also_red = told(red(), true).await?;
        assert_eq!((also_red.passed, also_red.failed), (0, 1));
        assert_eq!(also_red.not_judged, lack);
        Ok(())
    }

    #[test]
    fn a_declared_test_that_could_not_be_judged_is_not_said_to_pass() {
        let exercise: Exercise = toml::from_str(
            "number = 8\nslug = \"ship-it\"\ntitle = \"Ship it\"\nred = [\"alone\", \"behind_nginx\"]\n\
             edit = [\"src/main.rs\"]\n[minutes]\nreading = 1\ndoing = 1\nreviewing = 1\n",
        )
        .expect("a manifest");
        assert!(red_faults(&exercise, &without_nginx(red())).is_empty());
        assert_eq!(
            red_faults(&exercise, &without_nginx(TestStatus::Passed)).len(),
            1
        );
    }
}
