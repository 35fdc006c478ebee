//! The program `workshop-book`: mdBook's preprocessor, and `workshop-book check` for the checks of the book.

use std::process::ExitCode;

use workshop_base::outcome::{self, Outcome, Trouble};
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_book::{check, preprocessor};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    outcome::exit_code(run(&arguments))
}

fn run(arguments: &[&str]) -> anyhow::Result<Outcome> {
    match arguments {
        [] => preprocessor::run(std::io::stdin().lock(), std::io::stdout().lock())
            .map(|()| Outcome::Passed),
        ["check"] => check_book(&Workspace::find()?),
        // The macros make HTML, which is nothing to other renderers.
        ["supports", renderer] => Ok(Outcome::of(*renderer == "html")),
        _ => Trouble::new(format!(
            "workshop-book does not understand {}",
            arguments.join(" ")
        ))
        .expected("check, supports RENDERER, or nothing and the book on standard input")
        .next("just book-check, or mdbook build, which calls it rightly")
        .err(),
    }
}

/// Prints every fault with file and line.
fn check_book(workspace: &Workspace) -> anyhow::Result<Outcome> {
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
