//! WebAssembly modules: the compiler that makes them, and what is said where there is none.
//!
//! A compiler needs Rust's standard library for the target. rustup brings it built; where rustup cannot bring it, the
//! distribution's compiler builds it from its own sources first. A linker for modules comes with rustup's compilers, and is a
//! package of its own beside the others.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use workshop_base::fix::System;
use workshop_base::outcome::Trouble;
use workshop_base::probe::{self, QUICK, on_path};
use workshop_base::workspace::Workspace;

use super::cargo;
use super::launch::{BuildError, Crate, Profile};

/// What modules are compiled for.
pub const TARGET: &str = "wasm32-unknown-unknown";

/// The linker for modules that distributions package.
const LINKER: &str = "wasm-ld";
/// The variable by which cargo is told of a linker.
const LINKER_SETTING: &str = "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER";

/// The distribution's compiler.
const DISTRIBUTION_RUSTC: &str = "/usr/bin/rustc";
const DISTRIBUTION_CARGO: &str = "/usr/bin/cargo";

/// A compiler that makes modules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiler {
    library: Library,
    /// Set where the compiler brings no linker of its own.
    linker: Option<&'static str>,
}

/// Where the standard library for the target comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Library {
    /// It is there, beside the compiler on the PATH.
    Installed,
    /// The distribution's compiler builds it.
    FromSources,
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.library {
            Library::Installed => write!(f, "the target {TARGET} is installed"),
            Library::FromSources => write!(
                f,
                "{DISTRIBUTION_RUSTC} can make modules, with its standard library from sources"
            ),
        }
    }
}

impl Compiler {
    /// The compiler on the PATH if it has the target, else the distribution's; `None` where neither will do, or there is nothing
    /// to link with.
    pub fn find() -> Option<Compiler> {
        let library = if is_installed() {
            Library::Installed
        } else if has_sources(DISTRIBUTION_RUSTC) {
            Library::FromSources
        } else {
            return None;
        };
        let brings_a_linker = library == Library::Installed && brings_a_linker();
        if brings_a_linker || std::env::var_os(LINKER_SETTING).is_some() {
            return Some(Compiler {
                library,
                linker: None,
            });
        }
        on_path(LINKER).map(|_| Compiler {
            library,
            linker: Some(LINKER),
        })
    }

    fn cargo(&self) -> Command {
        let mut cargo = match self.library {
            Library::Installed => cargo::cargo_command(),
            Library::FromSources => {
                let mut cargo = cargo::cargo_at(DISTRIBUTION_CARGO);
                cargo
                    .env("RUSTC", DISTRIBUTION_RUSTC)
                    // To build the standard library is no stable option of cargo's yet.
                    .env("RUSTC_BOOTSTRAP", "1")
                    // An outer cargo names the libraries of its own compiler in it.
                    .env_remove("LD_LIBRARY_PATH");
                cargo
            }
        };
        if let Some(linker) = self.linker {
            cargo.env(LINKER_SETTING, linker);
        }
        cargo
    }

    fn options(&self) -> Vec<&'static str> {
        let mut options = vec!["--lib", "--target", TARGET];
        if self.library == Library::FromSources {
            options.extend(["-Z", "build-std=std,panic_abort"]);
        }
        options
    }
}

/// Builds the module that a crate is. Always its release: methods of a JVM have a size limit, and functions that nobody has
/// optimised reach it.
pub async fn build(workspace: &Workspace, krate: &Crate) -> Result<PathBuf, BuildError> {
    let compiler = Compiler::find().ok_or_else(|| {
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
    cargo::made_by(
        compiler.cargo(),
        workspace,
        krate,
        Profile::Measure,
        &compiler.options(),
    )
    .await
}

/// True when the compiler on the PATH has the standard library for the target.
fn is_installed() -> bool {
    print_of("rustc", &["--print", "target-libdir", "--target", TARGET])
        .is_some_and(|folder| folder.is_dir())
}

/// True when the compiler on the PATH has a linker beside its own libraries.
fn brings_a_linker() -> bool {
    print_of("rustc", &["--print", "target-libdir"])
        .and_then(|libraries| Some(libraries.parent()?.join("bin/rust-lld")))
        .is_some_and(|linker| linker.is_file())
}

fn has_sources(rustc: &str) -> bool {
    print_of(rustc, &["--print", "sysroot"])
        .is_some_and(|root| root.join("lib/rustlib/src/rust/library/std").is_dir())
}

/// A path that a compiler prints about itself.
fn print_of(rustc: &str, args: &[&str]) -> Option<PathBuf> {
    let printed = probe::ask_and_wait(Path::new(rustc), args, QUICK);
    printed.line().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distributions_compiler_builds_the_standard_library_first() {
        let compiler = Compiler {
            library: Library::FromSources,
            linker: Some(LINKER),
        };
        assert_eq!(
            compiler.options(),
            [
                "--lib",
                "--target",
                TARGET,
                "-Z",
                "build-std=std,panic_abort"
            ]
        );
        let cargo = compiler.cargo();
        let linker = cargo.get_envs().find(|(name, _)| *name == LINKER_SETTING);
        assert_eq!(linker.and_then(|(_, value)| value), Some(LINKER.as_ref()));
    }

    #[test]
    fn a_compiler_that_is_not_there_has_nothing() {
        assert!(!has_sources("/nowhere/rustc"));
    }
}
