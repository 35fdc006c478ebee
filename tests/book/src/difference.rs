//! `{{#diff exercise-3}}`: what leads from the starter to the reference, folded away until the reader wants it.

use crate::html::{block, escape};
use crate::panes::figure;
use workshop_base::exercise::Exercise;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;
use workshop_base::{files, originals, patches};

/// The difference in the files of the edit list, one pane per file.
pub fn render(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<String> {
    if !exercise.is_crate() || exercise.is_own() {
        return Trouble::new(format!(
            "{} has no code at first, so there is no difference to show",
            exercise.name()
        ))
        .next("take the macro out of this page")
        .err();
    }
    let starter = originals::starter(workspace, exercise)?;
    let reference = originals::reference(workspace, exercise)?;
    let mut panes = String::new();
    let mut lines = 0;
    let differing = files::differing(&starter, &reference).into_iter();
    for path in differing.filter(|path| exercise.edit.contains(path)) {
        let text = |tree| patches::without_anchors(&patches::text(tree, &path));
        let patch = hunks(&text(&starter), &text(&reference));
        if patch.is_empty() {
            continue;
        }
        lines += patch.lines().filter(|line| line.starts_with('+')).count();
        let name = path.to_string_lossy();
        let (shown, label) = (
            format!("<b>{}</b>", escape(&name)),
            format!("Difference in {name}"),
        );
        panes += &figure("Difference", &shown, "diff", &label, patch.trim_end());
        panes.push('\n');
    }
    if panes.is_empty() {
        return Trouble::new(format!(
            "starter and reference of {} do not differ",
            exercise.name()
        ))
        .next("see whether starter.patch in the reference's folder is right")
        .err();
    }
    Ok(block(&format!(
        "<details class=\"difference\">\n<summary>Show the reference (from the starter, {lines} lines added)</summary>\n{panes}</details>"
    )))
}

/// The hunks of the difference, without the two lines of file names.
fn hunks(before: &str, after: &str) -> String {
    let difference = patches::difference(Default::default(), before, after);
    let hunks: Vec<&str> = difference.lines().skip(2).collect();
    hunks.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use patches::without_anchors;

    #[test]
    fn anchor_comments_are_no_difference() {
        let before = "fn a() {}\n";
        let after = "// ANCHOR: a\nfn a() {}\n// ANCHOR_END: a\n";
        assert_eq!(hunks(&without_anchors(before), &without_anchors(after)), "");
    }

    #[test]
    fn hunks_come_without_file_names() {
        assert_eq!(hunks("a\n", "b\n"), "@@ -1 +1 @@\n-a\n+b");
    }
}
