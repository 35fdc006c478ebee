//! The variables that cargo, the JVM, Maven, git, libpq and shells read, and what becomes of each: `environment.txt` decides. The
//! wrapper `justw` reads the same file, and CONTRIBUTING.md has it as a table.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;

const DECISIONS: &str = include_str!("environment.txt");

/// What becomes of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Nothing that the course starts gets it.
    Cleared,
    /// A service does not get it.
    ClearedForServices,
    /// A build for another machine does not get it.
    ClearedForOtherTargets,
    /// What would read it is not used.
    Refused,
    /// It is the user's.
    Passed,
}

/// Some variables, by name or by the beginning of a name, and what becomes of them.
#[derive(Debug)]
pub struct Decision {
    /// What becomes of them.
    pub rule: Rule,
    /// Their names; a last `*` stands for any rest.
    pub names: Vec<&'static str>,
    pub why: &'static str,
}

/// All of them, in the file's order.
pub fn decisions() -> Vec<Decision> {
    DECISIONS.lines().filter_map(decision).collect()
}

fn decision(line: &'static str) -> Option<Decision> {
    let mut parts = line.split(" | ");
    let (rule, names, why) = (parts.next()?, parts.next()?, parts.next()?);
    let rule = match rule {
        "cleared" => Rule::Cleared,
        "cleared for services" => Rule::ClearedForServices,
        "cleared for other targets" => Rule::ClearedForOtherTargets,
        "refused" => Rule::Refused,
        "passed" => Rule::Passed,
        _ => return None,
    };
    let names = names.split(' ').collect();
    Some(Decision { rule, names, why })
}

/// The names, and beginnings of names, that these rules are for.
fn patterns(rules: &[Rule]) -> Vec<&'static str> {
    let decisions = decisions().into_iter();
    let chosen = decisions.filter(|decision| rules.contains(&decision.rule));
    chosen.flat_map(|decision| decision.names).collect()
}

fn is_one_of(patterns: &[&str], name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    patterns
        .iter()
        .any(|pattern| match pattern.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == *pattern,
        })
}

/// Takes away what these rules say from what a command inherits; whether there was anything.
fn take_away(command: &mut Command, rules: &[Rule]) -> bool {
    let patterns = patterns(rules);
    let mut has_some = false;
    for (name, _) in std::env::vars_os() {
        if is_one_of(&patterns, &name) {
            command.env_remove(name);
            has_some = true;
        }
    }
    has_some
}

/// Starts this program again without the variables that nothing may get, where there are any: all that it starts inherits from it.
pub fn clear() -> anyhow::Result<()> {
    let program = std::env::current_exe().context("cannot find out which program this is")?;
    let mut again = Command::new(program);
    if !take_away(&mut again, &[Rule::Cleared]) {
        return Ok(());
    }
    let error = again.args(std::env::args_os().skip(1)).exec();
    Err(error).context("cannot start again with fewer variables")
}

/// For a service that is started here.
pub fn for_service(command: &mut Command) {
    take_away(command, &[Rule::Cleared, Rule::ClearedForServices]);
}

/// For a build whose result runs elsewhere. An empty value is stronger than what a file of cargo's settings says.
pub fn for_other_target(command: &mut Command) {
    take_away(command, &[Rule::Cleared, Rule::ClearedForOtherTargets]);
    command.env("CARGO_ENCODED_RUSTFLAGS", "");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_decision_and_no_variable_has_two() {
        let decisions = decisions();
        assert_eq!(decisions.len(), DECISIONS.lines().count());
        let mut names: Vec<_> = decisions.iter().flat_map(|one| &one.names).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn a_star_stands_for_any_rest() {
        let cleared = |name: &str| is_one_of(&patterns(&[Rule::Cleared]), OsStr::new(name));
        assert!(cleared("PGSSLMODE") && cleared("CARGO_TERM_COLOR") && cleared("GIT_DIR"));
        assert!(!cleared("GIT_DIRTY") && !cleared("CARGO_TARGET_DIR") && !cleared("APG"));
    }
}
