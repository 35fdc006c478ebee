//! `just build TARGET --for pi`: a release build for another kind of machine; with `user@host`, copied there.

use std::path::Path;
use std::process::Command;

use crate::cli::BuildArgs;
use workshop_base::files;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::program;
use workshop_base::workspace::Workspace;
use workshop_harness::build::cross::{self, OF_A_PI};
use workshop_measure::protocol::builder::does_not_build;

/// Runs the command.
pub async fn run(workspace: &Workspace, args: &BuildArgs) -> anyhow::Result<Outcome> {
    let target = args.target;
    // The command line knows one machine only.
    println!("building {target} for {OF_A_PI}; the first time it takes minutes");
    let built = cross::build(workspace, target, OF_A_PI).await;
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
            println!(
                "it is in the home folder of {destination}: DATABASE_URL=… ADDRESS=0.0.0.0 ./{target}"
            );
            println!("next: just measure {target} --on {destination}");
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
