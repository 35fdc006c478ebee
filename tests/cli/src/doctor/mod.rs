//! The doctor: examines the machine, all of it at the same time, each question with a time limit.

mod checks;
mod docker;
mod machine;
mod postgres;
mod report;

pub use report::Report;

use workshop_base::fix::System;
use workshop_base::workspace::Workspace;

/// Examines the machine.
pub async fn examine(workspace: &Workspace) -> anyhow::Result<Report> {
    let system = System::here();
    let tools = checks::tools(workspace)?;
    let rust = checks::rust(&system);
    let (rust, wasm, pi, jdk, maven, mut tools, nginx, peers, docker, binaries, (machine, about)) = tokio::join!(
        checks::ask_all(workspace, rust),
        checks::web_assembly(&system),
        checks::for_a_pi(&system),
        checks::jdk(&system),
        checks::ask_all(workspace, vec![checks::maven(&system)]),
        checks::ask_all(workspace, tools),
        checks::nginx(&system),
        checks::peers(),
        docker::examine(&system),
        postgres::binaries(workspace),
        machine::examine(workspace, &system),
    );
    tools.push(nginx);
    let parts = vec![
        ("Rust", [rust, vec![wasm], Vec::from_iter(pi)].concat()),
        ("Kotlin", [vec![jdk], maven].concat()),
        ("Tools", tools),
        ("Beside the port", peers),
        (
            "PostgreSQL",
            postgres::findings(workspace, docker, binaries),
        ),
        ("Machine", machine),
    ];
    Ok(Report { parts, about })
}
