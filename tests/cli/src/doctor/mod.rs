//! The doctor: examines the machine, all of it at the same time, each question with a time limit.

mod checks;
mod machine;
mod postgres;
mod report;

use report::DoctorReport;

use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;

/// Examines the machine and prints the report. Exit code 0: ready. 1: you can fix it. 2: it needs an administrator.
pub async fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let report = examine(workspace).await?;
    print!("{report}");
    Ok(report.outcome())
}

/// Examines the machine, and prints the report where it isn't ready.
pub async fn look(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let report = examine(workspace).await?;
    if report.outcome() != Outcome::Passed {
        print!("{report}");
    }
    Ok(report.outcome())
}

async fn examine(workspace: &Workspace) -> anyhow::Result<DoctorReport> {
    let (rust, kotlin, tools, postgres, (machine, about)) = tokio::join!(
        checks::rust(workspace),
        checks::kotlin(workspace),
        checks::tools(workspace),
        postgres::examine(workspace),
        machine::examine(workspace),
    );
    let parts = vec![
        ("Rust", rust),
        ("Kotlin", kotlin),
        ("Tools", tools?),
        ("PostgreSQL", postgres),
        ("Machine", machine),
    ];
    Ok(DoctorReport { parts, about })
}
