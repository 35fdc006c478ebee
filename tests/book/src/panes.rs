//! Code on a page: one pane, or two side by side, each named by language and file.

use std::path::Path;

use crate::html::{block, escape};
use crate::macros::MacroCall;
use crate::source::Excerpt;
use workshop_base::outcome::Trouble;

/// The languages a pane can hold: what the page writes, what the highlighter calls it, what people call it.
const LANGUAGES: [(&str, &str, &str); 14] = [
    ("kotlin", "kotlin", "Kotlin"),
    ("rust", "rust", "Rust"),
    ("toml", "ini", "TOML"),
    ("yaml", "yaml", "YAML"),
    ("json", "json", "JSON"),
    ("sql", "sql", "SQL"),
    ("xml", "xml", "XML"),
    ("nginx", "nginx", "nginx"),
    ("properties", "properties", "Properties"),
    ("sh", "bash", "Shell"),
    ("diff", "diff", "Difference"),
    ("make", "makefile", "Recipes"),
    ("markdown", "markdown", "Markdown"),
    ("text", "plaintext", "Text"),
];

/// The panes of `{{#panes kotlin=path:anchor rust=path:anchor}}` (or `{{#code …}}`), in the order written.
pub fn render(root: &Path, call: &MacroCall) -> anyhow::Result<String> {
    let usage = format!(
        "write it as {{{{#{} kotlin=path/to/File.kt:anchor rust=path/to/file.rs:anchor}}}}",
        call.name
    );
    if call.arguments.is_empty() || call.arguments.len() > 2 {
        return Trouble::new(format!(
            "{{{{#{}}}}} shows one or two pieces of code, this names {}",
            call.name,
            call.arguments.len()
        ))
        .next(usage)
        .err();
    }
    let mut panes = Vec::new();
    for argument in &call.arguments {
        let Some((language, place)) = argument.split_once('=') else {
            return Trouble::new(format!("{argument} does not say its language"))
                .next(usage)
                .err();
        };
        let Some((_, highlight, name)) = LANGUAGES.iter().find(|(key, ..)| *key == language) else {
            let known: Vec<_> = LANGUAGES.iter().map(|(key, ..)| *key).collect();
            return Trouble::new(format!("the panes have no language {language}"))
                .next(format!("use one of: {}", known.join(", ")))
                .err();
        };
        let place = Excerpt::parse(place)?;
        let code = place.read(root)?;
        panes.push(pane(name, highlight, &place, &code));
    }
    let two = if panes.len() == 2 { " panes-two" } else { "" };
    let panes = panes.join("\n");
    Ok(block(&format!(
        "<div class=\"panes{two}\">\n{panes}\n</div>"
    )))
}

/// The most lines that a pane shows at once: more than one idea has to be unfolded.
const MOST: usize = 30;
/// What is shown and what is folded away have at least so many lines.
const LEAST: usize = 6;

/// The code that a pane shows, and the rest that it folds away: cut at the last empty line that leaves few enough.
fn cut(code: &str) -> (&str, Option<&str>) {
    let ends: Vec<usize> = code.match_indices('\n').map(|(at, _)| at).collect();
    // Without the last line, which no line end follows.
    if ends.len() < MOST {
        return (code, None);
    }
    let empty = |line: &usize| code[..ends[*line]].ends_with('\n');
    let last = MOST.min(ends.len().saturating_sub(LEAST));
    let line = (LEAST..=last).rev().find(empty).unwrap_or(last);
    let at = ends[line];
    (code[..at].trim_end(), Some(&code[at + 1..]))
}

fn pane(language: &str, highlight: &str, place: &Excerpt, code: &str) -> String {
    let path = place.file.to_string_lossy().replace('\\', "/");
    let (folder, file) = path.rsplit_once('/').unwrap_or(("", &path));
    // A long path may break after each slash.
    let folders = folder.split('/').filter(|part| !part.is_empty());
    let folders: String = folders
        .map(|part| format!("{}/<wbr>", escape(part)))
        .collect();
    let shown = format!("{folders}<b>{}</b>", escape(file));
    let label = match &place.anchor {
        Some(anchor) => format!("{language} code: {anchor} in {path}"),
        None => format!("{language} code: {path}"),
    };
    let (code, rest) = cut(code);
    let mut body = figure_code(highlight, &label, code);
    if let Some(rest) = rest {
        let more = format!("{} more lines", rest.lines().count());
        let rest = figure_code(highlight, &format!("{label}, the rest"), rest);
        body +=
            &format!("\n<details class=\"rest\">\n<summary>{more}</summary>\n{rest}\n</details>");
    }
    figure_of(language, &shown, &body)
}

/// One pane, `path` in HTML. The code scrolls inside itself, so it takes the keyboard's focus and has a name.
pub fn figure(language: &str, path: &str, highlight: &str, label: &str, code: &str) -> String {
    figure_of(language, path, &figure_code(highlight, label, code))
}

fn figure_of(language: &str, path: &str, body: &str) -> String {
    format!(
        "<figure class=\"pane\">\n<figcaption><span class=\"pane-language\">{}</span> <span class=\"pane-path\">{path}</span></figcaption>\n{body}\n</figure>",
        escape(language),
    )
}

fn figure_code(highlight: &str, label: &str, code: &str) -> String {
    format!(
        "<pre><code class=\"language-{highlight}\" tabindex=\"0\" role=\"group\" aria-label=\"{}\">{}</code></pre>",
        escape(label),
        escape(code)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::macros::find;

    fn rendered(text: &str) -> anyhow::Result<String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("src")).expect("a folder");
        std::fs::write(
            folder.path().join("src/a.rs"),
            "// ANCHOR: f\nfn f() -> Vec<u8> {\n\n    vec![]\n}\n// ANCHOR_END: f\n",
        )
        .expect("written");
        std::fs::write(
            folder.path().join("src/A.kt"),
            "fun f(): List<Byte> = emptyList()\n",
        )
        .expect("written");
        render(folder.path(), &find(text)[0])
    }

    #[test]
    fn two_panes_carry_language_path_and_escaped_code() {
        let html = rendered("{{#panes kotlin=src/A.kt rust=src/a.rs:f}}").expect("panes");
        assert!(html.contains("panes-two"), "{html}");
        assert!(
            html.contains("<span class=\"pane-language\">Kotlin</span>"),
            "{html}"
        );
        assert!(html.contains("src/<wbr><b>a.rs</b>"), "{html}");
        assert!(html.contains("fn f() -&gt; Vec&lt;u8&gt; {"), "{html}");
        assert!(
            html.contains("tabindex=\"0\" role=\"group\" aria-label=\"Rust code: f in src/a.rs\""),
            "{html}"
        );
        assert!(
            !html.trim().contains("\n\n"),
            "an empty line would end the HTML block: {html}"
        );
    }

    #[test]
    fn a_long_pane_is_cut_at_an_empty_line_and_a_short_one_is_whole() {
        let lines = |count: usize| "x\n".repeat(count);
        assert_eq!(cut(lines(20).trim_end()).1, None);
        let code = format!("{}\n{}", lines(20), lines(20));
        let (shown, rest) = cut(code.trim_end());
        assert_eq!(shown.lines().count(), 20);
        assert_eq!(rest.map(|rest| rest.lines().count()), Some(20));
        let whole = lines(50);
        let (shown, rest) = cut(&whole);
        assert_eq!(
            shown.lines().count() + rest.unwrap_or_default().lines().count(),
            50
        );
        assert!(shown.lines().count() <= MOST + 1);
    }

    #[test]
    fn one_pane_stands_alone() {
        let html = rendered("{{#code rust=src/a.rs:f}}").expect("a pane");
        assert!(!html.contains("panes-two"), "{html}");
    }

    #[test]
    fn an_unknown_language_lists_the_known_ones() {
        let problem = rendered("{{#code cobol=src/a.rs}}").expect_err("cobol");
        assert!(problem.to_string().contains("kotlin, rust"), "{problem:?}");
    }

    #[test]
    fn nothing_to_show_is_refused_with_the_right_form() {
        for text in ["{{#panes}}", "{{#panes src/a.rs}}"] {
            assert!(
                rendered(text)
                    .expect_err(text)
                    .to_string()
                    .contains("rust=path/to/file.rs:anchor")
            );
        }
    }
}
