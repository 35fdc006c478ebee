//! `{{#guess exercise-3 typed-parameter}}`: a planted mistake as a question. Who notices: the compiler, a test, or neither?

use crate::html::{block, escape};
use crate::panes::figure;
use workshop_base::exercise::Exercise;
use workshop_base::mistakes::Mistake;
use workshop_base::outcome::Trouble;
use workshop_base::patches;
use workshop_base::workspace::Workspace;

/// What is written instead of the reference's lines, and folded away who notices and why. The reference's own lines aren't shown: the
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
    Ok(format!(
        "\n\n## Who notices?\n\nA colleague writes this. Does the compiler notice, a test, or neither?\n{}\n<details>\n<summary>The answer</summary>\n\n{} {}\n\n</details>\n\n",
        block(&code),
        told(&mistake.caught_by),
        mistake.why
    ))
}

/// Who has noticed it.
fn told(caught_by: &str) -> String {
    match caught_by {
        "error" => "The compiler, which can't read it.".to_owned(),
        code if code.starts_with('E') => format!("The compiler, with `{code}`."),
        "does not start" => "Rocket, when the service starts.".to_owned(),
        test => format!("Not the compiler. The test `{test}` is red."),
    }
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
            guess.contains("The test `an_id_that_is_no_integer_answers_400` is red."),
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
