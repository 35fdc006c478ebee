//! `{{#guess exercise-3 typed-parameter}}`: a planted mistake as a question. Who notices: the compiler, Rocket, a test, or users?

use crate::html::escape;
use crate::panes::figure;
use crate::question::{self, QuizAnswer};
use workshop_base::exercise::Exercise;
use workshop_base::mistakes::Mistake;
use workshop_base::outcome::Trouble;
use workshop_base::patches;
use workshop_base::workspace::Workspace;

/// What is written instead of the reference's lines, and who may notice, to choose from. The reference's own lines aren't shown: the
/// reader may have them yet to write.
pub fn render(workspace: &Workspace, exercise: &Exercise, slug: &str) -> anyhow::Result<String> {
    let folder = exercise.solution(workspace);
    let fault = |what: &str| {
        let mistake = folder.join(format!("mistakes/{slug}.patch"));
        Trouble::new(format!("{} {what}", mistake.display())).next(
            "name a planted mistake of one file that adds a line, as {{#guess exercise-3 typed-parameter}}",
        )
    };
    let mut mistakes = Mistake::all(&folder)?.into_iter();
    let mistake = mistakes.find(|mistake| mistake.slug == slug);
    let mistake = mistake.ok_or_else(|| fault("isn't there"))?;
    let files: Vec<&str> = patches::files(&mistake.patch).collect();
    let added = mistake.patch.lines();
    let added = added.filter(|line| !line.starts_with("+++"));
    let added: Vec<&str> = added.filter_map(|line| line.strip_prefix('+')).collect();
    let ([file], false) = (files.as_slice(), added.is_empty()) else {
        return fault("has another number of files than one, or adds nothing").err();
    };
    let name = exercise.name();
    let shown = format!("<b>{}</b>, {name}", escape(file));
    let code = figure(
        "Rust",
        &shown,
        "rust",
        &format!("A line for {file}"),
        &without_indent(&added),
    );
    let answers = answers(&mistake.caught_by, &mistake.why);
    let asked = question::html(
        &format!("{name}-{slug}"),
        "A colleague writes this. Who notices first?",
        &code,
        &answers,
    );
    Ok(format!("\n\n## Who notices?\n{asked}"))
}

/// Those who may notice, each with why it is them or why not.
fn answers(caught_by: &str, why: &str) -> Vec<QuizAnswer> {
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let noticed = match caught_by {
        "error" => (0, format!("It can't read this. {why}")),
        code if code.starts_with('E') => (0, format!("It says `{code}`. {why}")),
        "does not start" => (1, format!("It refuses to start the service. {why}")),
        test => (2, format!("`{test}` is red. {why}")),
    };
    let (who, because) = noticed;
    // Why the others don't, in the same order.
    let others = match who {
        0 => [
            "",
            "There is no service to start: the line doesn't compile.",
            "No test runs: the line doesn't compile.",
            "It never gets there: the compiler refuses it.",
        ],
        1 => [
            "For the compiler each type fits. What is wrong shows when Rocket looks at the whole service.",
            "",
            "The tests need a service that starts, and this one doesn't.",
            "It never gets there: it doesn't start, not even on your machine.",
        ],
        _ => [
            "Each type fits, and each borrow ends in time. What the line means is beyond it.",
            "The service starts: Rocket checks routes, guards and managed state, and these are in order.",
            "",
            "One of the exercise's tests asks for just this, so you hear of it before your users do.",
        ],
    };
    let names = [
        "The compiler",
        "Rocket, when the service starts",
        "A test",
        "Users, in production",
    ];
    let answer = |(at, (name, other)): (usize, (&str, &str))| match at == who {
        true => QuizAnswer::new(name, true, because.clone()),
        false => QuizAnswer::new(name, false, other),
    };
    names
        .into_iter()
        .zip(others)
        .enumerate()
        .map(answer)
        .collect()
}

fn without_indent(lines: &[&str]) -> String {
    let indent = |line: &&&str| line.len() - line.trim_start().len();
    let least = lines
        .iter()
        .filter(|line| !line.is_empty())
        .map(|line| indent(&line))
        .min();
    let cut = |line: &&str| {
        line.get(least.unwrap_or(0)..)
            .unwrap_or_default()
            .to_owned()
    };
    let lines: Vec<String> = lines.iter().map(cut).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_base::exercise::Catalogue;

    #[test]
    fn it_shows_what_is_written_and_tells_who_notices_but_not_the_reference() -> anyhow::Result<()>
    {
        let workspace = Workspace::find()?;
        let catalogue = Catalogue::read(&workspace)?;
        let guess = render(&workspace, catalogue.get(3)?, "typed-parameter")?;
        assert!(guess.contains("pub async fn read(id: i32,"), "{guess}");
        assert!(!guess.contains("Result&lt;i32, &amp;str&gt;"), "{guess}");
        assert!(
            guess.contains("<summary>A test</summary>\n<p><strong>Right.</strong> <code>an_id_that_is_no_integer_answers_400</code> is red."),
            "{guess}"
        );
        assert!(render(&workspace, catalogue.get(3)?, "found-by-its-type").is_err());
        assert!(render(&workspace, catalogue.get(3)?, "nothing").is_err());
        Ok(())
    }

    #[test]
    fn lines_begin_where_the_leftmost_does() {
        assert_eq!(without_indent(&["    a", "", "      b"]), "a\n\n  b");
    }
}
