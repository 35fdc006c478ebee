//! `{{#kata a}}`: a kata of the warm-up, to be changed and run on the page.
//!
//! It shows the starter, and folds away the tests that also judge it in the checkout. `book/theme/kata.js` makes an editor of it, and
//! sends both to the Rust playground. mdBook's own button would send no tests, show nothing of those that fail, and ask the playground
//! for its list of crates whenever the page is opened.

use crate::html::{block, escape};
use workshop_base::exercise::Exercise;
use workshop_base::originals;
use workshop_base::outcome::Trouble;
use workshop_base::patches;
use workshop_base::workspace::Workspace;

/// The kata of this name: `a`, or `02`.
pub fn render(workspace: &Workspace, exercise: &Exercise, name: &str) -> anyhow::Result<String> {
    let starter = originals::starter(workspace, exercise)?;
    let begins = format!("tests/kata_{name}_");
    let mut paths = starter.keys();
    let path = paths.find(|path| {
        path.to_string_lossy()
            .replace('\\', "/")
            .starts_with(&begins)
    });
    let Some(path) = path else {
        return Trouble::new(format!("there is no kata {name}"))
            .next("name one as its file does: {{#kata a}}, {{#kata 02}}")
            .err();
    };
    let text = patches::text(&starter, path);
    let Some((code, tests)) = split(&text) else {
        return Trouble::new(format!("the kata {name} has no tests"))
            .next("a kata ends with its tests")
            .err();
    };
    let title = name.trim_start_matches('0').to_uppercase();
    let name = escape(name);
    Ok(block(&format!(
        "<details class=\"kata-here\" data-kata=\"{name}\">\n\
         <summary>Solve kata {title} here, online</summary>\n\
         <p class=\"kata-note\">Running it here needs a network and scripts. On your machine, <code>./justw watch exercise-0</code> needs neither.</p>\n\
         <pre><code class=\"language-rust kata-code\" tabindex=\"0\" role=\"group\" aria-label=\"Rust code of kata {title}\">{}</code></pre>\n\
         <details class=\"rest\"><summary>The tests that judge it</summary>\n\
         <pre><code class=\"language-rust kata-tests\" tabindex=\"0\" role=\"group\" aria-label=\"Tests of kata {title}\">{}</code></pre>\n</details>\n\
         </details>",
        escape(code.trim_end()),
        escape(tests.trim_end())
    )))
}

/// What the reader changes, and the tests after it.
fn split(text: &str) -> Option<(&str, &str)> {
    text.find("#[test]").map(|at| text.split_at(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_base::exercise::Catalogue;

    #[test]
    fn a_kata_shows_the_starter_and_folds_its_tests() -> anyhow::Result<()> {
        let workspace = Workspace::find()?;
        let catalogue = Catalogue::read(&workspace)?;
        let kata = render(&workspace, catalogue.get(0)?, "02")?;
        let (code, tests) = kata.split_once("The tests that judge it").expect("a fold");
        assert!(
            code.contains("Solve kata 2 here") && code.contains("todo!("),
            "{code}"
        );
        assert!(!code.contains("#[test]"), "{code}");
        assert!(tests.contains("fn valid_ids_come_in_order()"), "{tests}");
        assert!(render(&workspace, catalogue.get(0)?, "77").is_err());
        Ok(())
    }

    #[test]
    fn each_kata_of_the_warm_up_is_whole_without_its_crate() -> anyhow::Result<()> {
        let workspace = Workspace::find()?;
        let catalogue = Catalogue::read(&workspace)?;
        let reference = originals::reference_files(&workspace, catalogue.get(0)?)?;
        for (path, _) in reference
            .iter()
            .filter(|(path, _)| path.starts_with("tests"))
        {
            let text = patches::text(&reference, path);
            let (_, tests) = split(&text).expect("tests");
            assert!(!tests.contains("todo!"), "{}", path.display());
            let uses = text.lines().filter(|line| line.starts_with("use "));
            for line in uses {
                assert!(line.starts_with("use std::"), "{}: {line}", path.display());
            }
        }
        Ok(())
    }
}
