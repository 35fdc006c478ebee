//! The doctor: examines the machine, all parts at the same time, each with a time limit.

mod docker;
mod finding;
mod java;
mod machine;
mod nginx;
mod pi;
mod postgres;
mod report;
mod rust;
mod tools;
mod version;

pub use report::Report;

use workshop_base::mend::System;
use workshop_base::workspace::Workspace;

/// Examines the machine.
///
/// # Errors
/// When the list of pinned tools cannot be read.
pub async fn examine(workspace: &Workspace) -> anyhow::Result<Report> {
    let system = System::here();
    let pinned = tools::pinned(workspace)?;
    let choice = postgres::Choice::from_environment();
    let (rust, java, mut tools, nginx, (docker, engine), binaries, (machine, about)) = tokio::join!(
        rust::examine(workspace, &system),
        java::examine(&system),
        tools::examine(workspace, &pinned),
        nginx::examine(&system),
        docker::examine(&system),
        postgres::binaries(workspace),
        machine::examine(workspace, &system),
    );
    tools.push(nginx);
    let kept = postgres::kept(workspace);
    let postgres = postgres::findings(&choice, kept.as_deref(), engine, docker, binaries);
    Ok(Report::new(
        vec![
            ("Rust", rust),
            ("Kotlin", java),
            ("Tools", tools),
            ("PostgreSQL", postgres),
            ("Machine", machine),
        ],
        about,
    ))
}
