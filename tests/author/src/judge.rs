//! The judgment of a target, of which nothing is printed or remembered.

use workshop::judge::{judge_alone, phases_of};
use workshop_base::exercise::Catalogue;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, Profile};
use workshop_harness::plan;
use workshop_harness::report::Report;
use workshop_harness::run::judge_phases;
use workshop_harness::scenarios::Place;
use workshop_postgres::Server;

/// Builds a target and judges it by these suites, or by all that its exercise's check asks. A starter is red as its exercise says.
pub async fn judge(
    workspace: &Workspace,
    catalogue: &Catalogue,
    target: Target,
    suites: Option<&[&str]>,
) -> anyhow::Result<Report> {
    let exercise = catalogue.of(target)?;
    if let Some(alone) = exercise.filter(|exercise| exercise.is_judged_alone(target)) {
        return judge_alone(workspace, alone, target, false).await;
    }
    let server = Server::ensure(workspace).await?;
    let launch = build::build(workspace, target, Profile::Check).await?;
    let place = Place {
        workspace,
        server: &server,
        launch: &launch,
    };
    let mut phases = match suites {
        Some(suites) => plan::phases(workshop_suites::all(), suites, suites)?,
        None => phases_of(catalogue, exercise)?,
    };
    if let (Target::Exercise(_), Some(exercise)) = (target, exercise) {
        for phase in &mut phases {
            phase.said_to_be_red.clone_from(&exercise.red);
        }
    }
    judge_phases(place, &phases, &mut ()).await
}
