//! The tools that the wrapper `justw` brings, against the versions pinned in `tests/tools.toml`.

use std::collections::BTreeMap;

use anyhow::Context;

use crate::doctor::finding::Finding;

use crate::doctor::finding::State;
use crate::doctor::rust::simple;
use crate::doctor::version::Version;
use workshop_base::mend::Mend;
use workshop_base::outcome::Trouble;
use workshop_base::probe;
use workshop_base::probe::Answer;
use workshop_base::probe::QUICK;
use workshop_base::workspace::Workspace;

/// The pinned versions, by the name of the tool.
///
/// # Errors
/// When the file is missing or malformed.
pub(super) fn pinned(workspace: &Workspace) -> anyhow::Result<BTreeMap<String, String>> {
    let path = workspace.root().join("tests/tools.toml");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    toml::from_str(&text).map_err(|error| {
        Trouble::new(format!("{} is malformed: {error}", path.display()))
            .expected("one line a tool: oha = \"1.16.0\"")
            .next("git restore tests/tools.toml")
            .into()
    })
}

pub(super) async fn examine(
    workspace: &Workspace,
    pinned: &BTreeMap<String, String>,
) -> Vec<Finding> {
    let asking: Vec<_> = pinned
        .iter()
        .map(|(tool, pinned)| {
            let (workspace, tool, pinned) = (workspace.clone(), tool.clone(), pinned.clone());
            tokio::spawn(async move {
                // What was brought stands before the PATH in every recipe.
                let brought = workspace.tools().join("bin").join(&tool);
                let program = if brought.is_file() {
                    brought
                } else {
                    tool.clone().into()
                };
                let answer = probe::ask(program, &["--version"], workspace.root(), QUICK).await;
                judge(&tool, &pinned, answer)
            })
        })
        .collect();
    let mut findings = Vec::new();
    for finding in asking {
        findings.extend(finding.await);
    }
    findings
}

fn judge(tool: &str, pinned: &str, answer: Answer) -> Finding {
    let mend = Mend::yourself(format!("./justw --bring {tool}"));
    let found = match &answer {
        Answer::Said(text) => Version::find(text),
        _ => None,
    };
    match (found, Version::find(pinned)) {
        (Some(found), Some(pinned)) if found < pinned => Finding::fault(
            State::OLD,
            tool,
            format!("{found}, the workshop is made with {pinned}"),
            mend,
        ),
        // A newer `just` reads the same justfile; the others are pinned, because their output and protocols are read.
        (Some(found), Some(pinned))
            if found != pinned && !(tool == "just" && found.does_for(&pinned)) =>
        {
            Finding::fault(
                State::NEW,
                tool,
                format!("{found}, the workshop is made with {pinned}"),
                mend,
            )
        }
        _ => simple(tool, answer, mend),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pinned_version_will_do_and_a_newer_just() {
        let word = |tool: &str, said: &str| {
            judge(tool, "1.16.0", Answer::Said(said.to_owned()))
                .state
                .word()
        };
        assert_eq!(word("oha", "oha 1.16.0"), "ok");
        assert_eq!(word("oha", "oha 1.4.0"), "old");
        assert_eq!(word("oha", "oha 1.17.0"), "new");
        assert_eq!(word("just", "just 1.17.0"), "ok");
        assert_eq!(word("just", "just 2.0.0"), "new");
    }
}
