//! The book: built, served, checked, and the part of the build that the program mdbook asks for while it serves.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;

use crate::render::render;
use crate::{check, preprocessor};
use workshop::cli::{BookCommand, RendererQuestion};
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::probe;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;

/// Runs one command. It ends as any program does when it is interrupted.
pub fn run(workspace: &Workspace, command: BookCommand) -> anyhow::Result<Outcome> {
    match command {
        BookCommand::Book => build(workspace),
        BookCommand::Serve {
            port,
            hostname,
            open,
        } => serve(workspace, port, &hostname, open),
        BookCommand::BookCheck => checked(workspace),
        BookCommand::Preprocess { asked } => preprocess(asked),
    }
}

/// Builds the book into its usual folder.
fn build(workspace: &Workspace) -> anyhow::Result<Outcome> {
    render(workspace, None)?;
    println!("book-html/index.html is its first page");
    Ok(Outcome::Passed)
}

/// Has the program mdbook serve the book, with this program as its preprocessor. mdbook itself panics when a port is taken.
fn serve(workspace: &Workspace, port: u16, hostname: &str, open: bool) -> anyhow::Result<Outcome> {
    if let Err(error) = TcpListener::bind((hostname, port)) {
        let mut next = port.saturating_add(1)..=port.saturating_add(100);
        let free = next.find(|port| TcpListener::bind((hostname, *port)).is_ok());
        return Trouble::new(format!("the book cannot be served on {hostname}:{port}"))
            .because(error)
            .expected("an address of this machine and a port that is free")
            .next(match free {
                Some(free) => format!("just serve --port {free}"),
                None => "just serve --hostname 127.0.0.1".to_owned(),
            })
            .err();
    }
    let mdbook = probe::tool(workspace, "mdbook").ok_or_else(|| {
        Trouble::new("there is no mdbook to serve the book with").next("./justw --bring mdbook")
    })?;
    let program = std::env::current_exe().context("cannot find out which program this is")?;
    let program = program.to_string_lossy();
    let preprocessor = shell_words::join([&*program, "preprocess"]);
    let mut serve = Command::new(mdbook);
    serve
        .args(["serve", "--hostname", hostname, "--port"])
        .arg(port.to_string())
        .args(open.then_some("--open"))
        .current_dir(workspace.root())
        .env("MDBOOK_PREPROCESSOR__WORKSHOP__COMMAND", preprocessor);
    Err(serve.exec()).context("cannot start mdbook")
}

/// Prints every fault with file and line.
fn checked(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let faults = check::check(workspace)?;
    for fault in &faults {
        println!("{fault}");
    }
    let whole = "the book is whole: includes, links, minutes, images, and all of it loads offline";
    let (style, said) = match faults.len() {
        0 => (Style::Good, whole.to_owned()),
        1 => (Style::Bad, "1 fault in the book".to_owned()),
        count => (Style::Bad, format!("{count} faults in the book")),
    };
    println!("{}", paint(style, said));
    Ok(Outcome::of(faults.is_empty()))
}

/// Answers mdBook: whether a renderer is supported, or with the book expanded.
fn preprocess(asked: Option<RendererQuestion>) -> anyhow::Result<Outcome> {
    if let Some(RendererQuestion::Supports { renderer }) = asked {
        return Ok(Outcome::of(renderer == preprocessor::RENDERER));
    }
    preprocessor::run(std::io::stdin().lock(), std::io::stdout().lock())?;
    Ok(Outcome::Passed)
}
