//! `just build TARGET --for pi`: a release build for a Raspberry Pi; with `user@host`, copied there.

use std::path::Path;
use std::process::Command;

use workshop::cli::BuildArgs;
use workshop_base::files;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::program;
use workshop_base::workspace::Workspace;
use workshop_harness::build::cross;
use workshop_measure::protocol::builder::does_not_build;

/// Runs the command.
pub async fn run(workspace: &Workspace, args: &BuildArgs) -> anyhow::Result<Outcome> {
    let target = args.target;
    println!("building {target} for a Raspberry Pi; the first time it takes minutes");
    let built = cross::build(workspace, target).await;
    let program = built
        .map_err(|error| does_not_build(error, target))?
        .program;
    let megabytes = program.metadata()?.len() as f64 / 1e6;
    println!(
        "built {}, {megabytes:.1} MB",
        files::shown(workspace, &program)
    );
    match &args.to {
        Some(destination) => {
            copy(&program, destination).await?;
            let host = destination.rsplit('@').next().unwrap_or(destination);
            println!(
                "it is in the home folder of {destination}: DATABASE_URL=… API_KEYS=… ADDRESS=0.0.0.0 ./{target}"
            );
            println!("next, once it runs there: just measure {target} --at http://{host}:8080");
        }
        None => println!("next: just build {target} --for pi user@pi copies it there as well"),
    }
    Ok(Outcome::Passed)
}

/// Copies the program into a home folder. It never asks for a password.
async fn copy(program: &Path, destination: &str) -> anyhow::Result<()> {
    let place = format!("{destination}:");
    println!("scp {} {place}", program.display());
    let mut scp = Command::new("scp");
    scp.args(["-p", "-oBatchMode=yes", "-oConnectTimeout=10"])
        .args(["-oServerAliveInterval=5", "-oServerAliveCountMax=3"])
        .arg(program)
        .arg(&place);
    let trouble = Trouble::new(format!("it cannot be copied to {destination}"))
        .expected("a machine that lets you in by a key, without a password")
        .next(format!(
            "ssh-copy-id {destination}; else ssh {destination} true says more"
        ));
    program::said(scp, trouble).await?;
    Ok(())
}
