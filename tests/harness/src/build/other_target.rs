//! Compilers for other targets than this machine.
//!
//! A compiler needs Rust's standard library for the target. rustup brings it built; where rustup cannot bring it, the
//! distribution's compiler builds it from its own sources first. And it needs a linker: that for modules comes with rustup's
//! compilers, every other one is a package of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use workshop_base::environment;
use workshop_base::fix::{Fix, System};
use workshop_base::outcome::Trouble;
use workshop_base::probe::{self, QUICK, on_path};
use workshop_base::program::{cargo_at, cargo_command};
use workshop_base::workspace::Workspace;

use super::cargo;
use super::launch::{BuildError, Crate, Profile};

const DISTRIBUTION_RUSTC: &str = "/usr/bin/rustc";
const DISTRIBUTION_CARGO: &str = "/usr/bin/cargo";

/// A target, and what it takes to compile for it.
#[derive(Debug)]
pub struct CompileTarget {
    /// What a compiler for it can do.
    pub purpose: &'static str,
    /// Its name, as rustup has it.
    pub triple: &'static str,
    /// The linkers that packages bring, the best one first.
    pub linkers: &'static [&'static str],
    /// The variable by which cargo is told of a linker.
    pub linker_setting: &'static str,
    /// True when the linker of rustup's compilers does as well.
    pub takes_rusts_linker: bool,
    /// What is built where the standard library comes from sources.
    pub standard_library: &'static str,
    /// What brings a compiler for it.
    pub fix: fn(&System) -> Fix,
}

/// A compiler for a target.
#[derive(Debug, Clone)]
pub struct Compiler {
    target: &'static CompileTarget,
    /// True for the distribution's, which has to build the standard library first: it is not there, beside the one on the PATH.
    builds_the_library: bool,
    /// Set where the compiler brings no linker of its own.
    linker: Option<&'static str>,
}

impl Compiler {
    /// The compiler on the PATH if it has the target, else the distribution's.
    pub fn find(target: &'static CompileTarget) -> Result<Compiler, Trouble> {
        let (triple, linker) = (target.triple, target.linkers[0]);
        let lack = |why: String| {
            Trouble::fault("missing", why, (target.fix)(&System::here()))
                .led_by(format!("no compiler here can {}", target.purpose))
                .expected(format!("Rust's target {triple}, or the distribution's compiler with the sources of its standard library and {linker}"))
                .next("then just doctor shows what it finds")
        };
        let builds_the_library = !is_installed(triple);
        if builds_the_library && !has_sources(DISTRIBUTION_RUSTC) {
            return Err(lack(format!("Rust's target {triple} isn't installed")));
        }
        let rusts_linker = target.takes_rusts_linker && !builds_the_library && brings_a_linker();
        let linker = if rusts_linker || std::env::var_os(target.linker_setting).is_some() {
            None
        } else {
            let mut linkers = target.linkers.iter().copied();
            let found = linkers.find(|linker| on_path(linker).is_some());
            let none = || lack(format!("there is no {linker} to link with"));
            Some(found.ok_or_else(none)?)
        };
        Ok(Compiler {
            target,
            builds_the_library,
            linker,
        })
    }

    /// How it compiles, and the shorter way where there may be one.
    pub fn in_words(&self, rustup: bool) -> String {
        let triple = self.target.triple;
        if !self.builds_the_library {
            return format!("the target {triple} is installed");
        }
        let shorter = format!("; rustup target add {triple} is shorter, where rustup can bring it");
        let shorter = if rustup { shorter } else { String::new() };
        format!("{DISTRIBUTION_RUSTC}, which builds the standard library first{shorter}")
    }

    /// Builds something of a crate for the target, as it would be shipped.
    pub async fn build(
        &self,
        workspace: &Workspace,
        krate: &Crate,
        what: &[&str],
    ) -> Result<PathBuf, BuildError> {
        let options = self.options(what);
        cargo::made_by(self.cargo(), workspace, krate, Profile::Measure, &options).await
    }

    fn cargo(&self) -> Command {
        let mut cargo = if self.builds_the_library {
            let mut cargo = cargo_at(DISTRIBUTION_CARGO);
            cargo
                .env("RUSTC", DISTRIBUTION_RUSTC)
                // To build the standard library is no stable option of cargo's yet.
                .env("RUSTC_BOOTSTRAP", "1")
                // An outer cargo names the libraries of its own compiler in it.
                .env_remove("LD_LIBRARY_PATH");
            cargo
        } else {
            cargo_command()
        };
        environment::for_other_target(&mut cargo);
        if let Some(linker) = self.linker {
            cargo.env(self.target.linker_setting, linker);
        }
        cargo
    }

    /// What cargo is told besides what to build.
    fn options<'a>(&self, what: &[&'a str]) -> Vec<&'a str> {
        let mut options = what.to_vec();
        options.extend(["--target", self.target.triple]);
        if self.builds_the_library {
            options.extend(["-Z", self.target.standard_library]);
        }
        options
    }
}

/// True when the compiler on the PATH has the standard library for the target.
fn is_installed(triple: &str) -> bool {
    print_of("rustc", &["--print", "target-libdir", "--target", triple])
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

    const MOON: CompileTarget = CompileTarget {
        purpose: "fly to the moon",
        triple: "moon-unknown-none",
        linkers: &["moon-ld"],
        linker_setting: "CARGO_TARGET_MOON_UNKNOWN_NONE_LINKER",
        takes_rusts_linker: true,
        standard_library: "build-std=std,panic_abort",
        fix: System::toolchain,
    };

    #[test]
    fn the_distributions_compiler_builds_the_standard_library_first() {
        let compiler = Compiler {
            target: &MOON,
            builds_the_library: true,
            linker: Some("moon-ld"),
        };
        assert_eq!(
            compiler.options(&["--lib"]),
            [
                "--lib",
                "--target",
                "moon-unknown-none",
                "-Z",
                "build-std=std,panic_abort"
            ]
        );
        let cargo = compiler.cargo();
        let mut told = cargo.get_envs();
        let linker = told.find(|(name, _)| *name == MOON.linker_setting);
        assert_eq!(
            linker.and_then(|(_, value)| value),
            Some("moon-ld".as_ref())
        );
    }

    #[test]
    fn the_shorter_way_is_told_where_rustup_is_and_the_target_is_not() {
        let in_words = |builds_the_library, rustup| {
            let compiler = Compiler {
                target: &MOON,
                builds_the_library,
                linker: None,
            };
            compiler.in_words(rustup)
        };
        let short = "rustup target add moon-unknown-none";
        assert!(in_words(true, true).contains(short));
        assert!(!in_words(true, false).contains(short));
        assert!(!in_words(false, true).contains(short));
    }

    #[test]
    fn a_compiler_that_is_not_there_has_nothing() {
        assert!(!has_sources("/nowhere/rustc"));
    }
}
