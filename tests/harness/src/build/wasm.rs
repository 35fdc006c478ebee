//! WebAssembly modules, and the compiler that makes them.

use std::path::PathBuf;

use workshop_base::fix::System;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

use super::launch::{BuildError, Crate};
use super::other_target::{CompileTarget, Compiler};

/// What modules are compiled for.
pub const TARGET: &str = "wasm32-unknown-unknown";

const MODULES: CompileTarget = CompileTarget {
    purpose: "make WebAssembly modules",
    triple: TARGET,
    linkers: &["wasm-ld"],
    linker_setting: "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER",
    takes_rusts_linker: true,
    standard_library: "build-std=std,panic_abort",
    fix: System::wasm_target,
};

/// The compiler that makes modules.
pub fn compiler() -> Result<Compiler, Trouble> {
    Compiler::find(&MODULES)
}

/// Builds the module that a crate is. Always its release: methods of a JVM have a size limit, and functions that nobody has
/// optimised reach it.
pub async fn build(workspace: &Workspace, krate: &Crate) -> Result<PathBuf, BuildError> {
    let compiler = compiler().map_err(anyhow::Error::from)?;
    compiler.build(workspace, krate, &["--lib"]).await
}
