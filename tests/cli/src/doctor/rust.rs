//! The Rust side: toolchain, components, the linker it needs, and git.

use crate::doctor::finding::Finding;

use crate::doctor::finding::State;
use crate::doctor::version::Version;
use workshop_base::mend;
use workshop_base::mend::Mend;
use workshop_base::mend::Packages;
use workshop_base::mend::System;
use workshop_base::probe;
use workshop_base::probe::Answer;
use workshop_base::probe::PATIENT;
use workshop_base::probe::QUICK;
use workshop_base::workspace::Workspace;
use workshop_harness::wasm;

/// The oldest compiler that builds the workshop, as in the workspace's `rust-version`.
const OLDEST: &str = env!("CARGO_PKG_RUST_VERSION");

/// rustup's own installer; it needs no administrator.
const RUSTUP: &str = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh";

pub(super) async fn examine(workspace: &Workspace, system: &System) -> Vec<Finding> {
    let root = workspace.root();
    let version = ["--version"];
    // Asked in the checkout, where an override of rustup's would count.
    let (rustc, cargo, clippy, rustfmt, cc, git, modules) = tokio::join!(
        probe::ask("rustc", &version, root, QUICK),
        probe::ask("cargo", &version, root, QUICK),
        probe::ask("cargo-clippy", &version, root, QUICK),
        probe::ask("rustfmt", &version, root, QUICK),
        probe::ask("cc", &version, root, QUICK),
        probe::ask("git", &version, root, QUICK),
        probe::in_time(PATIENT, wasm::Compiler::find),
    );
    vec![
        compiler(rustc),
        simple("cargo", cargo, toolchain()),
        simple("clippy", clippy, component("clippy", "clippy", system)),
        simple("rustfmt", rustfmt, component("rustfmt", "rustfmt", system)),
        simple("C compiler", cc, system.install(&mend::C_COMPILER)),
        simple("git", git, system.install(&mend::GIT)),
        webassembly(modules.flatten(), system),
    ]
}

/// Only exercise 10 needs it.
fn webassembly(compiler: Option<wasm::Compiler>, system: &System) -> Finding {
    match compiler {
        Some(compiler) => Finding::ok("WebAssembly", compiler.to_string()),
        None => Finding::note(
            "WebAssembly",
            "no compiler here makes modules; exercise 10 needs one",
        )
        .with(system.wasm_target()),
    }
}

fn compiler(answer: Answer) -> Finding {
    let found = match &answer {
        Answer::Said(text) => Version::find(text),
        _ => None,
    };
    match (found, Version::find(OLDEST)) {
        (Some(found), Some(oldest)) if found < oldest => Finding::fault(
            State::OLD,
            "rustc",
            format!("{found}, needed is {oldest} or newer"),
            toolchain(),
        ),
        _ => simple("rustc", answer, toolchain()),
    }
}

/// A program that only has to be there and answer.
pub(super) fn simple(name: &str, answer: Answer, mend: Mend) -> Finding {
    match answer {
        Answer::Said(text) => {
            let first = text.lines().next().unwrap_or_default().to_owned();
            Finding::ok(
                name,
                Version::find(&first).map_or(first, |version| version.to_string()),
            )
        }
        Answer::Absent => Finding::fault(State::MISSING, name, "not on the PATH", mend),
        // rustup's stand-ins for components that are not installed say so and end with an error.
        Answer::Refused(text) if text.contains("is not installed") => Finding::fault(
            State::MISSING,
            name,
            text.lines().next().unwrap_or_default(),
            mend,
        ),
        Answer::Refused(text) => Finding::fault(
            State::BROKEN,
            name,
            format!(
                "answers with an error: {}",
                text.lines().next().unwrap_or("(nothing printed)")
            ),
            mend,
        ),
        Answer::Silent(limit) => Finding::fault(
            State::SILENT,
            name,
            format!("no answer in {} s", limit.as_secs()),
            mend,
        ),
    }
}

fn toolchain() -> Mend {
    Mend::yourself(if probe::on_path("rustup").is_some() {
        "rustup update stable && rustup default stable"
    } else {
        RUSTUP
    })
}

fn component(name: &'static str, package: &'static str, system: &System) -> Mend {
    if probe::on_path("rustup").is_some() {
        return Mend::yourself(format!("rustup component add {name}"));
    }
    if probe::on_path("rustc").is_none() {
        return toolchain();
    }
    // A toolchain from the distribution brings its components the same way.
    match package {
        "clippy" => system.install(&Packages {
            apt: "rust-clippy",
            dnf: "clippy",
            brew: "brew install rust",
        }),
        _ => system.install(&Packages {
            apt: "rustfmt",
            dnf: "rustfmt",
            brew: "brew install rust",
        }),
    }
}
