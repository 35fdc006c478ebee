//! Judging a service: the scenarios that its tests need are played side by side, phase by phase.

use std::cmp::Reverse;
use std::pin::pin;
use std::time::Instant;

use crate::contract::ContractTest;
use crate::plan::Phase;
use crate::report::{Judged, Report, TestStatus};
use crate::scenarios::{Event, HEARD, Place, Scenario, When};
use crate::service::Stopped;
use futures_util::stream::{self, StreamExt};
use tokio::sync::{RwLock, mpsc};
use tokio::task::JoinHandle;
use workshop_base::open_files;
use workshop_base::outcome::Trouble;
use workshop_base::process::{self, memory_limit};
use workshop_base::target::Language;
use workshop_postgres::Server;

/// How many sockets a suite has open at most: a thousand clients, and what is between them and the service.
const SOCKETS: usize = 2500;

/// How many scenarios are played side by side for each processor: most of them wait most of the time.
const PER_CORE: usize = 4;

/// How many connections to the database a scenario takes: those of a service's pool, of the tests, and of another service that starts
/// while the first one stops.
const CONNECTIONS: usize = 10;

/// How many scenarios are played side by side with a JVM, which takes seconds of the processor to start.
const JVMS: usize = 3;

/// How many scenarios are played side by side when they are judged again: all of them at once may have been too much.
const AGAIN: usize = 3;

/// With less memory than this (bytes), they are played one after the other: a JVM takes up to 200 MB.
const MEMORY_FOR_JVMS: u64 = 1_500_000_000;

/// How many scenarios are played side by side on a machine whose processor is too slow for the usual number.
const SIDE_BY_SIDE: &str = "WORKSHOP_SIDE_BY_SIDE";

/// Who hears how far a judgment is.
pub trait Listener {
    fn begins(&mut self, _phase: &Phase) {}

    /// These tests are under way, in the order in which they began.
    fn waits_for(&mut self, _tests: &[&str]) {}

    /// The next test has its verdict: they come in the order of the suites, each as soon as it and all before it are certain.
    fn ends(&mut self, _label: &str, _judged: &Judged) {}

    /// A phase has ended. Gives whether the next one is worth it.
    fn goes_on(&mut self, _found: &Report) -> bool {
        true
    }
}

impl Listener for () {}

/// Judges a target phase by phase. Services of earlier phases stop meanwhile.
pub async fn judge_phases(
    place: Place<'_>,
    phases: &[Phase],
    listener: &mut dyn Listener,
) -> anyhow::Result<Report> {
    // What a service inherits, and the clients beside it: a shell may allow 256.
    open_files::allow_up_to(SOCKETS)?;
    let room = room(place.server).await?;
    let mut report = Report::new(&place.launch.label);
    let mut leaving = Vec::new();
    for phase in phases {
        listener.begins(phase);
        let found = judge_twice(place, phase, room, &mut leaving, listener).await?;
        if found.tests.iter().any(ran_out_of_files) {
            // Where there were too few, that is no verdict on the service.
            open_files::allow_sockets(SOCKETS, "the tests")?;
        }
        let goes_on = listener.goes_on(&found);
        report = report.and(found);
        if !goes_on {
            break;
        }
    }
    let started = Instant::now();
    for service in leaving {
        report.hung_on_shutdown |= service.await? == Stopped::Killed;
    }
    report.timings.add("stop", started.elapsed());
    Ok(report)
}

/// Judges a target that has a mistake by the tests of one phase. Where none is red, it is judged a second time, when no other target
/// of this process is: two things may have to happen at the same time, which they don't on a machine that is busy.
pub async fn judge_mistake(place: Place<'_>, phase: &Phase) -> anyhow::Result<Report> {
    let mut leaving = Vec::new();
    let attempt = async || play(place, phase, usize::MAX, &mut leaving, &mut |_| {}).await;
    let report = twice_at_most(attempt, |report| !report.failed().is_empty()).await?;
    for service in leaving {
        service.await?;
    }
    Ok(report)
}

type Leaving = Vec<JoinHandle<Stopped>>;

/// Held for reading while a target is judged: several may be, side by side. Held for writing by what is judged again.
static JUDGING: RwLock<()> = RwLock::const_new(());

/// Does this beside other judgments of this process, and where the result is not `good` once more, when there are none.
pub async fn twice_at_most<T>(
    mut attempt: impl AsyncFnMut() -> anyhow::Result<T>,
    good: impl FnOnce(&T) -> bool,
) -> anyhow::Result<T> {
    let first = {
        let _beside_others = JUDGING.read().await;
        attempt().await?
    };
    if good(&first) {
        return Ok(first);
    }
    let _alone = JUDGING.write().await;
    attempt().await
}

/// A test that rests on time limits can be red on a machine that is busy, and so can one that is played beside such tests: those
/// are judged a second time, when no other target of this process is being judged. The report says so. In a phase of questions,
/// red is red at once: a learner waits for it.
async fn judge_twice(
    place: Place<'_>,
    phase: &Phase,
    room: usize,
    leaving: &mut Leaving,
    listener: &mut dyn Listener,
) -> anyhow::Result<Report> {
    let mut told = Told::new(phase, &place.launch.label, listener);
    let report = {
        let _beside_others = JUDGING.read().await;
        play(place, phase, room, leaving, &mut |event| told.hear(event)).await?
    };
    let waits = phase.has(When::Waiting);
    let mut surprising = report.failed();
    surprising.retain(|test| !phase.said_to_be_red.contains(test));
    let report = match phase.some(&surprising) {
        Some(red) if waits || !red.has(When::First) => {
            let _alone = JUDGING.write().await;
            // What ends now is certain with the report only.
            let mut hear = |event| match event {
                Event::Begun(_) => told.hear(event),
                Event::Ended(..) => {}
            };
            let again = play(place, &red, AGAIN.min(room), leaving, &mut hear).await?;
            report.judged_again(again)
        }
        _ => report,
    };
    told.rest(&report);
    Ok(report)
}

/// What a listener has been told of a phase.
struct Told<'a> {
    phase: &'a Phase,
    label: &'a str,
    listener: &'a mut dyn Listener,
    waiting: Vec<&'static str>,
    /// Tests that have ended, and one before them has not.
    held_back: Vec<(&'static str, TestStatus)>,
    count: usize,
}

impl<'a> Told<'a> {
    fn new(phase: &'a Phase, label: &'a str, listener: &'a mut dyn Listener) -> Self {
        Told {
            phase,
            label,
            listener,
            waiting: Vec::new(),
            held_back: Vec::new(),
            count: 0,
        }
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::Begun(tests) => self.waiting.extend(tests),
            Event::Ended(test, status) => {
                self.waiting.retain(|waiting| *waiting != test);
                self.held_back.push((test, status));
            }
        }
        while let Some(judged) = self.next_certain() {
            self.listener.ends(self.label, &judged);
            self.count += 1;
        }
        self.listener.waits_for(&self.waiting);
    }

    /// The next test in the order of the suites, if it is known, and no second try can change it.
    fn next_certain(&mut self) -> Option<Judged> {
        let suites = self.phase.suites.iter();
        let mut tests = suites.flat_map(|suite| suite.tests.iter().map(move |test| (suite, test)));
        let (suite, test) = tests.nth(self.count)?;
        let mut known = self.held_back.iter();
        let place = known.position(|(name, _)| *name == test.name)?;
        let is_certain = self.phase.said_to_be_red.iter().any(|red| red == test.name)
            || test.scenario.when == When::First && !self.phase.has(When::Waiting);
        if matches!(self.held_back[place].1, TestStatus::Failed { .. }) && !is_certain {
            return None;
        }
        let (name, status) = self.held_back.swap_remove(place);
        Some(Judged {
            suite: suite.name.to_owned(),
            test: name.to_owned(),
            status,
        })
    }

    /// Tells what is left, now that everything is certain.
    fn rest(&mut self, report: &Report) {
        self.listener.waits_for(&[]);
        for judged in report.tests.iter().skip(self.count) {
            self.listener.ends(self.label, judged);
        }
    }
}

/// Plays the scenarios that the phase needs, side by side as far as allowed, and reports in the order of the suites.
async fn play(
    place: Place<'_>,
    phase: &Phase,
    at_most: usize,
    leaving: &mut Leaving,
    hear: &mut dyn FnMut(Event),
) -> anyhow::Result<Report> {
    let mut scenarios: Vec<(&Scenario, Vec<&ContractTest>)> = Vec::new();
    for test in phase.tests() {
        let mut known = scenarios.iter_mut();
        match known.find(|(known, _)| known.name == test.scenario.name) {
            Some((_, tests)) => tests.push(test),
            None => scenarios.push((test.scenario, vec![test])),
        }
    }
    scenarios.sort_by_key(|(scenario, _)| Reverse(scenario.lasts));
    let usual = match place.launch.language {
        Language::Kotlin if memory_limit().is_some_and(|bytes| bytes < MEMORY_FOR_JVMS) => 1,
        Language::Kotlin => JVMS,
        _ => scenarios.len().min(PER_CORE * process::cores()),
    };
    let side_by_side = side_by_side(std::env::var(SIDE_BY_SIDE).ok(), usual.min(at_most));
    let (heard, mut events) = mpsc::unbounded_channel();
    // All are awaited before any may fail, so that none is left behind half-started.
    let plays = scenarios.iter().map(async |(scenario, tests)| {
        let started = Instant::now();
        let names = tests.iter().map(|test| test.name);
        let _ = heard.send(Event::Begun(names.collect()));
        let playing = (scenario.play)(&place, tests);
        let played = HEARD.scope(heard.clone(), playing).await;
        (played, started.elapsed())
    });
    let played = stream::iter(plays)
        .buffered(side_by_side)
        .collect::<Vec<_>>();
    let mut played = pin!(played);
    let played = loop {
        tokio::select! {
            biased;
            Some(event) = events.recv() => hear(event),
            played = &mut played => break played,
        }
    };
    while let Ok(event) = events.try_recv() {
        hear(event);
    }

    let mut report = Report::new(&place.launch.label);
    let mut statuses = Vec::new();
    for ((scenario, tests), (played, took)) in scenarios.iter().zip(played) {
        let played = played?;
        report.timings.add(scenario.name, took);
        leaving.extend(played.leaving);
        statuses.extend(tests.iter().map(|test| test.name).zip(played.statuses));
    }
    for suite in &phase.suites {
        for test in &suite.tests {
            if let Some(place) = statuses.iter().position(|(name, _)| *name == test.name) {
                report.add(suite.name, test.name, statuses.swap_remove(place).1);
            }
        }
    }
    Ok(report)
}

fn ran_out_of_files(judged: &Judged) -> bool {
    match &judged.status {
        TestStatus::Failed { failure, log } => {
            failure.to_string().contains(TOO_MANY_FILES) || log.contains(TOO_MANY_FILES)
        }
        TestStatus::Passed | TestStatus::NotJudged(_) => false,
    }
}

/// How the system says that a process has as many files open as it may.
const TOO_MANY_FILES: &str = "Too many open files";

/// How many scenarios the server has connections for, side by side. Ours have more than enough.
async fn room(server: &Server) -> anyhow::Result<usize> {
    let Some(free) = server.free_connections().await? else {
        return Ok(usize::MAX);
    };
    match free / CONNECTIONS {
        0 => Trouble::new(format!("the database server has room for {free} more connections"))
            .expected(format!("{CONNECTIONS} for the tests, and better {}", 4 * CONNECTIONS))
            .next("end what else is connected, or there: ALTER SYSTEM SET max_connections = 100, and start it again; without WORKSHOP_DATABASE_URL the course brings a server of its own")
            .err(),
        side_by_side => Ok(side_by_side),
    }
}

/// At least one, and no more than usual.
fn side_by_side(wanted: Option<String>, usual: usize) -> usize {
    let wanted = wanted.and_then(|wanted| wanted.parse().ok());
    wanted.unwrap_or(usual).min(usual).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Suite;
    use workshop_requests::failure::Failure;

    static QUICK: Scenario = scenario(When::First);
    static SLOW: Scenario = scenario(When::Waiting);

    const fn scenario(when: When) -> Scenario {
        Scenario {
            name: "quick",
            when,
            lasts: 1,
            of_the_contract: true,
            play: |_, _| unreachable!(),
        }
    }

    #[derive(Default)]
    struct Names(Vec<String>);

    impl Listener for Names {
        fn ends(&mut self, _label: &str, judged: &Judged) {
            self.0.push(judged.test.clone());
        }
    }

    /// What is told after each of these events, of a phase of the tests a, b and c.
    fn told(scenario: &'static Scenario, events: &[(&'static str, bool)]) -> Vec<String> {
        let test = |name| ContractTest {
            name,
            scenario,
            judge: |_| unreachable!(),
        };
        let phase = Phase {
            suites: vec![Suite {
                name: "suite",
                tests: ["a", "b", "c"].map(test).into(),
            }],
            said_to_be_red: vec!["c".to_owned()],
        };
        let mut names = Names::default();
        let mut told = Told::new(&phase, "exercise-3", &mut names);
        for (name, is_green) in events {
            let status = match is_green {
                true => TestStatus::Passed,
                false => TestStatus::Failed {
                    failure: Failure::new("an answer", "none"),
                    log: String::new(),
                },
            };
            told.hear(Event::Ended(name, status));
        }
        names.0
    }

    #[test]
    fn a_test_is_told_when_it_and_all_before_it_are_certain() {
        assert_eq!(told(&QUICK, &[("b", true)]), Vec::<String>::new());
        assert_eq!(told(&QUICK, &[("b", true), ("a", true)]), ["a", "b"]);
        assert_eq!(told(&QUICK, &[("a", false), ("b", true)]), ["a", "b"]);
        // One that rests on time limits is judged again.
        assert_eq!(
            told(&SLOW, &[("a", true), ("b", false), ("c", true)]),
            ["a"]
        );
        let as_declared = [("a", true), ("b", true), ("c", false)];
        assert_eq!(told(&SLOW, &as_declared), ["a", "b", "c"]);
    }

    #[test]
    fn a_slow_machine_plays_fewer_scenarios_side_by_side_and_at_least_one() {
        let wanted = |text: &str| side_by_side(Some(text.to_owned()), 9);
        assert_eq!((wanted("2"), wanted("0"), wanted("20")), (2, 1, 9));
        assert_eq!((wanted("two"), side_by_side(None, 9)), (9, 9));
    }
}
