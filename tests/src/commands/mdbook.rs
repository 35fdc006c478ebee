//! `workshop mdbook`: what mdBook calls to expand the book's macros.

use crate::book::preprocessor;
use crate::cli::MdbookArgs;
use crate::outcome::{Outcome, Trouble};

/// Answers mdBook's question for a renderer, or expands the book from standard input to standard output.
///
/// # Errors
/// When the book has faults, or mdBook does not follow its protocol.
pub fn run(args: &MdbookArgs) -> anyhow::Result<Outcome> {
    match (args.question.as_deref(), args.renderer.as_deref()) {
        (None, _) => preprocessor::run(std::io::stdin().lock(), std::io::stdout().lock())
            .map(|()| Outcome::Passed),
        (Some("supports"), Some(renderer)) if preprocessor::supports(renderer) => {
            Ok(Outcome::Passed)
        }
        (Some("supports"), Some(_)) => Ok(Outcome::Failed),
        (Some(question), _) => Err(Trouble::new(format!(
            "workshop mdbook does not understand {question}"
        ))
        .expected("supports RENDERER, or the book on standard input")
        .next("mdbook build, which calls it rightly")
        .into()),
    }
}
