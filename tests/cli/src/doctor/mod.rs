//! The doctor: examines the machine, all of it at the same time, each question with a time limit.

mod checks;
mod docker;
mod machine;
mod postgres;
mod report;

use report::DoctorReport;

use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;

/// True on the system and the processor of a Raspberry Pi, for which a laptop can build.
const LIKE_A_PI: bool = cfg!(all(target_os = "linux", target_arch = "aarch64"));

/// Examines the machine and prints the report. Exit code 0: ready. 1: you can fix it. 2: it needs an administrator.
pub async fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let report = examine(workspace).await?;
    print!("{report}");
    Ok(report.outcome())
}

async fn examine(workspace: &Workspace) -> anyhow::Result<DoctorReport> {
    let (rust, kotlin, tools, peers, postgres, (machine, about)) = tokio::join!(
        checks::rust(workspace),
        checks::kotlin(workspace),
        checks::tools(workspace),
        checks::peers(workspace),
        postgres::examine(workspace),
        machine::examine(workspace),
    );
    let parts = vec![
        ("Rust", rust),
        ("Kotlin", kotlin),
        ("Tools", tools?),
        ("Beside the port", peers),
        ("PostgreSQL", postgres),
        ("Machine", machine),
    ];
    Ok(DoctorReport { parts, about })
}
