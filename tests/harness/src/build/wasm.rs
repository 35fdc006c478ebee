//! WebAssembly modules: the compiler that makes them, and what is said where there is none.

use std::path::PathBuf;

use workshop_base::fix::System;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

use super::launch::{BuildError, Crate};
use super::other_target::{Compiler, DISTRIBUTION_RUSTC, Target};

/// What modules are compiled for.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// The linker for modules that distributions package.
const LINKER: &str = "wasm-ld";

const MODULES: Target = Target {
    triple: TARGET,
    linkers: &[LINKER],
    linker_setting: "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER",
    takes_rusts_linker: true,
    standard_library: "build-std=std,panic_abort",
};

/// The compiler on the PATH if it has the target, else the distribution's; `None` where neither will do, or there is nothing
/// to link with.
pub fn compiler() -> Option<Compiler> {
    Compiler::find(&MODULES).ok()
}

/// How modules are compiled here, in words.
pub fn in_words(compiler: &Compiler) -> String {
    if compiler.builds_the_library {
        format!("{DISTRIBUTION_RUSTC} can make modules, with its standard library from sources")
    } else {
        format!("the target {TARGET} is installed")
    }
}

/// Builds the module that a crate is. Always its release: methods of a JVM have a size limit, and functions that nobody has
/// optimised reach it.
pub async fn build(workspace: &Workspace, krate: &Crate) -> Result<PathBuf, BuildError> {
    let compiler = compiler().ok_or_else(|| {
        let trouble = Trouble::new("no compiler here can make WebAssembly modules")
            .expected(format!(
                "Rust's target {TARGET}, or the distribution's compiler with the sources of its standard library and {LINKER}"
            ))
            .next(format!(
                "{}; then just doctor shows what it finds",
                System::here().wasm_target().in_words()
            ));
        BuildError::CouldNotBuild(trouble.into())
    })?;
    compiler.build(workspace, krate, &["--lib"]).await
}
