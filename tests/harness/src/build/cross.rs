//! Services for a machine with another architecture than this one: for a Raspberry Pi, on a laptop.

use workshop_base::exercise::Catalogue;
use workshop_base::fix::System;
use workshop_base::outcome::Trouble;
use workshop_base::target::Target as Subject;
use workshop_base::workspace::Workspace;

use super::cargo;
use super::launch::{BuildError, Crate, Launch, Profile};
use super::other_target::{Compiler, Target};

/// The architecture of a Raspberry Pi with a 64-bit system, as `uname -m` has it.
pub const OF_A_PI: &str = "aarch64";

const AARCH64: Target = Target {
    purpose: "compile for a Raspberry Pi",
    triple: "aarch64-unknown-linux-gnu",
    linkers: &["aarch64-linux-gnu-gcc", "aarch64-unknown-linux-gnu-gcc"],
    linker_setting: "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
    takes_rusts_linker: false,
    standard_library: "build-std=std,panic_unwind",
    fix: System::aarch64_target,
};

/// The compiler for Linux on another architecture; none where that is this machine's own, and its usual compiler will do.
pub fn compiler(machine: &str) -> Result<Option<Compiler>, Trouble> {
    if cfg!(target_os = "linux") && machine == std::env::consts::ARCH {
        return Ok(None);
    }
    if machine != OF_A_PI {
        return Err(Trouble::new(format!(
            "nothing is built for machines of the kind {machine}"
        ))
        .expected(format!(
            "{OF_A_PI}, a Raspberry Pi with a 64-bit system, or this machine's own"
        ))
        .next("on a Raspberry Pi: uname -m says aarch64 with a 64-bit system"));
    }
    Compiler::find(&AARCH64).map(Some)
}

/// Builds a service in Rust for a machine, as it would be shipped.
pub async fn build(
    workspace: &Workspace,
    target: Subject,
    machine: &str,
) -> Result<Launch, BuildError> {
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
    let Some(compiler) = compiler(machine).map_err(anyhow::Error::from)? else {
        return cargo::cargo(workspace, &krate, Profile::Measure).await;
    };
    let what = ["--bin", &krate.package];
    let program = compiler.build(workspace, &krate, &what).await?;
    Ok(cargo::service(&krate, program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machines_own_architecture_takes_no_other_compiler_and_an_unknown_one_has_none() {
        if cfg!(target_os = "linux") {
            assert!(compiler(std::env::consts::ARCH).unwrap().is_none());
        }
        let error = compiler("armv7l").unwrap_err().to_string();
        assert!(
            error.contains("armv7l") && error.contains("64-bit"),
            "{error}"
        );
    }
}
