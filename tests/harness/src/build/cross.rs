//! Services for a Raspberry Pi with a 64-bit system, built on a laptop.

use workshop_base::exercise::Catalogue;
use workshop_base::fix::System;
use workshop_base::outcome::Trouble;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;

use super::cargo;
use super::launch::{BuildError, Crate, Launch, Profile};
use super::other_target::{CompileTarget, Compiler};

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
pub fn compiler() -> Result<Option<Compiler>, Trouble> {
    if cfg!(all(target_os = "linux", target_arch = "aarch64")) {
        return Ok(None);
    }
    Compiler::find(&AARCH64).map(Some)
}

/// Builds a service in Rust for it, as it would be shipped.
pub async fn build(workspace: &Workspace, target: Target) -> Result<Launch, BuildError> {
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
        return cargo::cargo(workspace, &krate, Profile::Measure).await;
    };
    let what = ["--bin", &krate.package];
    let program = compiler.build(workspace, &krate, &what).await?;
    Ok(cargo::service(&krate, program))
}
