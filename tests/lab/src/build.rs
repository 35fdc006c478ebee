//! `just build TARGET --for pi`: a release build for a Raspberry Pi; with `user@host`, copied there.

use std::path::Path;
use std::process::Command;

use workshop::cli::BuildArgs;
use workshop_base::exercise::Catalogue;
use workshop_base::files;
use workshop_base::fix::System;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::program;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::build::other_target::{CompileTarget, Compiler};
use workshop_harness::build::{self, BuildError, Crate, Launch, Profile};
use workshop_measure::protocol::builder::does_not_build;

pub async fn run(workspace: &Workspace, args: &BuildArgs) -> anyhow::Result<Outcome> {
    let target = args.target;
    println!("building {target} for a Raspberry Pi; the first time it takes minutes");
    let built = built(workspace, target).await;
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

const AARCH64: CompileTarget = CompileTarget {
    purpose: "compile for a Raspberry Pi",
    triple: "aarch64-unknown-linux-gnu",
    linkers: &["aarch64-linux-gnu-gcc", "aarch64-unknown-linux-gnu-gcc"],
    linker_setting: "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
    takes_rusts_linker: false,
    standard_library: "build-std=std,panic_unwind",
    fix: System::aarch64_target,
};

/// The compiler for it; none where this machine is of its kind, and the usual compiler will do.
fn compiler() -> Result<Option<Compiler>, Trouble> {
    if cfg!(all(target_os = "linux", target_arch = "aarch64")) {
        return Ok(None);
    }
    Compiler::find(&AARCH64).map(Some)
}

/// Builds a service in Rust for it, as it would be shipped.
async fn built(workspace: &Workspace, target: Target) -> Result<Launch, BuildError> {
    let catalogue = Catalogue::read(workspace)?;
    let exercise = match catalogue.of(target)? {
        Some(exercise) if exercise.is_crate() && exercise.calls().is_none() => exercise,
        _ => {
            let trouble = Trouble::new(format!("{target} isn't a service in Rust of its own"))
                .expected("a step of the port, such as exercise-3: what a JVM runs needs no building for another machine")
                .next("just progress");
            return Err(BuildError::CouldNotBuild(trouble.into()));
        }
    };
    let krate = Crate::of(workspace, exercise, target);
    let Some(compiler) = compiler().map_err(anyhow::Error::from)? else {
        return build::cargo(workspace, &krate, Profile::Measure).await;
    };
    let what = ["--bin", &krate.package];
    let program = compiler.build(workspace, &krate, &what).await?;
    Ok(build::service(&krate, program))
}
