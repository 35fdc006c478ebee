//! `{{#typed exercise-8}}`: how many lines the service has after an exercise, and how many of them the reader has typed by then.

use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::files::{Tree, read_tree, text};
use workshop_base::news::{count, is_code, lines_that_a_starter_lacks};
use workshop_base::originals::STARTER_PATCH;
use workshop_base::patches;
use workshop_base::workspace::Workspace;

/// A sentence with both numbers, from the reference and the starters up to it.
pub fn render(
    workspace: &Workspace,
    catalogue: &Catalogue,
    exercise: &Exercise,
) -> anyhow::Result<String> {
    let all = lines_of(&read_tree(&exercise.solution(workspace))?);
    let mut typed = 0;
    let mut next = Some(exercise);
    while let Some(exercise) = next {
        let patch = exercise.solution(workspace).join(STARTER_PATCH);
        typed += lines_that_a_starter_lacks(&text(&patch)?);
        let before = exercise.grows_from.as_ref();
        next = before
            .map(|before| catalogue.get(before.exercise))
            .transpose()?;
    }
    let round = |lines: usize| (lines + 5) / 10 * 10;
    let (all, typed) = (round(all), round(typed));
    Ok(format!(
        "Your service has about {all} lines of Rust now, and you typed about {typed} of them. Neither number counts tests, blank lines or \
         comments."
    ))
}

/// The lines of the service's own code.
fn lines_of(reference: &Tree) -> usize {
    let code = reference.keys().filter(|path| is_code(path));
    code.map(|path| count(patches::text(reference, path).lines()))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_types_more_with_each_exercise() -> anyhow::Result<()> {
        let workspace = Workspace::find()?;
        let catalogue = Catalogue::read(&workspace)?;
        let lines = |number| -> anyhow::Result<(usize, usize)> {
            let sentence = render(&workspace, &catalogue, catalogue.get(number)?)?;
            let mut numbers = sentence.split(' ').filter_map(|word| word.parse().ok());
            let (all, typed) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
            assert!(typed < all, "{sentence}");
            Ok((all, typed))
        };
        let ((_, early), (all, typed)) = (lines(2)?, lines(8)?);
        assert!(early < typed);
        // The preface and Should we say so in words.
        assert!(
            (1_250..1_350).contains(&all),
            "some thirteen hundred: {all}"
        );
        assert!(typed * 3 < all, "fewer than one in three: {typed}");
        Ok(())
    }
}
