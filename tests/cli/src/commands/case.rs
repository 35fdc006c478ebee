//! A debugging case: `just run hunt` plays what happened and leaves the service for the reader to look at; `just check hunt` judges the
//! diagnosis, and once that is right, the fix; `just hint hunt` helps with both.

use std::path::Path;

use crate::cli::{CheckOptions, RunArgs};
use crate::commands::check::{self, after_hunting, faulty, last_check};
use crate::commands::hint::Shown;
use crate::commands::incident::{self, WHAT_NEXT};
use crate::commands::run::{self, until};
use crate::hints;
use crate::hunt::{self, CaseState, Hunt};
use crate::signals::interrupted;
use crate::state::LastCheck;
use crate::subject::CheckTarget;
use workshop_base::cases::DebugCase;
use workshop_base::files;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_harness::build::Profile;
use workshop_harness::cases::{QUIET, Reproduction, reproduce};
use workshop_harness::plan;
use workshop_harness::report::Report;
use workshop_harness::run::judge_phases;
use workshop_harness::scenarios::Place;
use workshop_postgres::Server;
use workshop_suites::forms::diagnosis::{self, Truth};

/// Checks a target. Where it is a debugging case, the diagnosis is judged first.
pub async fn check(
    workspace: &Workspace,
    target: CheckTarget,
    options: &CheckOptions,
) -> anyhow::Result<Outcome> {
    match case_of(workspace, target)? {
        Some((hunt, state)) if state.from_traces => incident::check(workspace, hunt),
        Some((hunt, state)) => check_case(workspace, hunt, state).await,
        None => check::run(workspace, target, options).await,
    }
}

/// Starts a target for trying requests by hand. Where it is a debugging case, what happened is played first.
pub async fn run(
    workspace: &Workspace,
    target: CheckTarget,
    args: &RunArgs,
) -> anyhow::Result<Outcome> {
    match case_of(workspace, target)? {
        Some((hunt, state)) if state.from_traces => incident::run(workspace, hunt).await,
        Some((hunt, state)) => run_case(workspace, hunt, state).await,
        None => run::run(workspace, target, args).await,
    }
}

/// The hunt that is on, if that is the target and it is a debugging case.
fn case_of(
    workspace: &Workspace,
    target: CheckTarget,
) -> anyhow::Result<Option<(Hunt, CaseState)>> {
    if target != CheckTarget::Hunt {
        return Ok(None);
    }
    let hunt = Hunt::on(workspace)?;
    let case = hunt.case.clone();
    Ok(case.map(|case| (hunt, case)))
}

/// Judges the diagnosis, and when it is right, the service.
async fn check_case(
    workspace: &Workspace,
    hunt: Hunt,
    state: CaseState,
) -> anyhow::Result<Outcome> {
    let case = DebugCase::named(workspace, &state.name)?;
    let label = format!("{}: {}", hunt::NAME, case.title);
    println!("{}", paint(Style::Strong, label));
    let mut remembered = Remembering { hunt, state };
    if !remembered.state.diagnosed {
        let report = judge_form(workspace, &case, &remembered.state.evidence)?;
        report.print_tests();
        remembered.state.diagnosed = report.outcome() == Outcome::Passed;
        remembered.save(workspace, last_check(&report))?;
        if !remembered.state.diagnosed {
            let later = format!("{} more tests run when these pass", case.red.len());
            println!("  {}", paint(Style::Faint, later));
            report.print_count();
            println!("\n{WHAT_NEXT}");
            return Ok(Outcome::Failed);
        }
    }
    println!("your diagnosis is right: {}. Now the fix", case.mechanism);
    let report = match judge_service(workspace, &case).await {
        Ok(report) => report,
        Err(error) => {
            let (check, trouble) = faulty(CheckTarget::Hunt, error)?;
            remembered.save(workspace, check)?;
            return Err(trouble.failed().into());
        }
    };
    report.print_tests();
    report.print_count();
    remembered.save(workspace, last_check(&report))?;
    if report.outcome() != Outcome::Passed {
        println!("\n{WHAT_NEXT}");
        return Ok(Outcome::Failed);
    }
    for (name, suspect) in &case.suspects {
        println!("cleared: {name}, since {}", suspect.why);
    }
    println!("\n{}", after_hunting(&remembered.hunt, &report, WHAT_NEXT));
    Ok(Outcome::Passed)
}

/// A hunt whose last check is remembered.
struct Remembering {
    hunt: Hunt,
    state: CaseState,
}

impl Remembering {
    fn save(&mut self, workspace: &Workspace, check: LastCheck) -> anyhow::Result<()> {
        self.state.memory.last_check = Some(check);
        self.hunt.case = Some(self.state.clone());
        self.hunt.save(workspace)
    }
}

/// Judges the form that is in the folder of the hunt.
fn judge_form(
    workspace: &Workspace,
    case: &DebugCase,
    evidence: &[String],
) -> anyhow::Result<Report> {
    let folder = hunt::folder(workspace);
    let form = files::text(&folder.join(diagnosis::FILE)).map_err(|error| {
        Trouble::new(format!("there is no diagnosis: {error}"))
            .next(format!(
                "just hunt {} begins it again, and keeps your files",
                case.name
            ))
            .failed()
    })?;
    let planted = case.files(workspace, false)?;
    let planted = planted.get(Path::new(&case.file)).cloned();
    let planted = String::from_utf8_lossy(&planted.unwrap_or_default()).into_owned();
    // A file that was moved away has no lines to point at.
    let now = files::read_if_there(&folder.join(&case.file))?.unwrap_or_default();
    let now = String::from_utf8_lossy(&now).into_owned();
    let truth = Truth {
        case,
        texts: [&planted, &now],
        evidence,
    };
    Ok(diagnosis::judge(&form, &truth))
}

async fn judge_service(workspace: &Workspace, case: &DebugCase) -> anyhow::Result<Report> {
    let launch = CheckTarget::Hunt.build(workspace, Profile::Check).await?;
    let server = Server::ensure(workspace).await?;
    let place = Place {
        workspace,
        server: &server,
        launch: &launch,
    };
    let suites = [case.name.as_str()];
    let phases = plan::phases(workshop_suites::all(), &suites, &suites)?;
    judge_phases(place, &phases, &mut ()).await
}

/// Plays what happened, notes what only this run knows, and leaves the service until Ctrl-C.
async fn run_case(
    workspace: &Workspace,
    mut hunt: Hunt,
    mut state: CaseState,
) -> anyhow::Result<Outcome> {
    // From here on no signal is lost, whatever it comes in.
    let mut interrupted = std::pin::pin!(interrupted());
    let Some(played) = until(&mut interrupted, play(workspace, &state.name)).await else {
        return Ok(Outcome::Passed);
    };
    let (
        server,
        Reproduction {
            stage,
            seen,
            evidence,
        },
    ) = played?;
    state.evidence = evidence;
    hunt.case = Some(state);
    hunt.save(workspace)?;
    println!("what was done, and what was seen from outside:");
    for line in seen {
        println!("  {line}");
    }
    let service = stage.service();
    println!("its process: {}", service.pid());
    println!("its address: {}", service.base_url());
    println!("its log: {}", service.log().display());
    println!("its database: {}", server.shown_url(stage.database_name()));
    println!("look at it from another terminal, as the page says; Ctrl-C ends it");
    interrupted.await;
    println!("\nended by SIGTERM, and if that does nothing for ten seconds, by SIGKILL");
    for leaving in stage.leaves_with(Vec::new()).leaving {
        leaving.await?;
    }
    Ok(Outcome::Passed)
}

async fn play(workspace: &Workspace, case: &str) -> anyhow::Result<(Server, Reproduction)> {
    let built = CheckTarget::Hunt.build(workspace, Profile::Check).await;
    let launch = built.map_err(|error| {
        Trouble::new(error.to_string())
            .next("just check hunt")
            .failed()
    })?;
    let server = Server::ensure(workspace).await?;
    println!(
        "{} on {}",
        paint(Style::Strong, &launch.label),
        server.describe()
    );
    let log_level = std::env::var("LOG_LEVEL").unwrap_or_else(|_| QUIET.to_owned());
    let place = Place {
        workspace,
        server: &server,
        launch: &launch,
    };
    let played = reproduce(case, &place, &log_level).await?;
    Ok((server, played))
}

/// Prints the next hint, or the one at `level`.
pub fn hint(workspace: &Workspace, level: Option<u8>) -> anyhow::Result<Outcome> {
    let mut hunt = Hunt::on(workspace)?;
    let Some(state) = &mut hunt.case else {
        return Trouble::new("a hunt for a mistake has no hints: its test is the clue")
            .next("just check hunt; just reset hunt gives up, and tells you")
            .err();
    };
    let Some(check) = state.memory.last_check.clone() else {
        println!("A hint fits what failed last, and nothing has been checked yet.");
        println!("next: just check hunt");
        return Ok(Outcome::Passed);
    };
    let path = match state.from_traces {
        true => incident::of_hunt(workspace, hunt.exercise, &state.name)?.hints(),
        false => DebugCase::named(workspace, &state.name)?.hints(),
    };
    let hints = hints::of_case(workspace, &path)?;
    let Some(found) = hints::choose(&hints, &check) else {
        println!("Everything passed at the last check; there is nothing to hint at.");
        return Ok(Outcome::Passed);
    };
    let shown = Shown {
        name: hunt::NAME,
        last: state.memory.last_hint.as_ref(),
        changed: false,
        at_the_end: "just reset hunt",
    };
    state.memory.last_hint = Some(shown.next(&check, found, level));
    hunt.save(workspace)?;
    Ok(Outcome::Passed)
}
