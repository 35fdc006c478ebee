//! hyperfine, the stop-watch of programs: how it is called, and what it says.
//!
//! hyperfine cannot interleave commands, so it is called for one of them at a time, in an order that the plan draws.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;

use crate::tools;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// hyperfine, found on this machine.
#[derive(Debug, Clone)]
pub struct Hyperfine {
    program: PathBuf,
}

/// What is timed: the words after `hyperfine`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing(Vec<String>);

impl Timing {
    /// A program without arguments, several times in a row; its standard input comes from a file, or is empty.
    pub fn runs(program: &Path, input: Option<&Path>, runs: usize) -> Self {
        let words = ["-N", "--warmup", "3", "--runs"].map(str::to_owned);
        let input = input.map(|input| ["--input".to_owned(), input.display().to_string()]);
        let rest = [runs.to_string()]
            .into_iter()
            .chain(input.into_iter().flatten());
        let program = shell_words::quote(&program.display().to_string()).into_owned();
        Timing(words.into_iter().chain(rest).chain([program]).collect())
    }

    /// The command as somebody would type it.
    pub fn typed(&self) -> String {
        format!("hyperfine {}", shell_words::join(&self.0))
    }
}

#[derive(Deserialize)]
struct HyperfineOutput {
    results: Vec<JsonResult>,
}

#[derive(Deserialize)]
struct JsonResult {
    times: Vec<f64>,
    exit_codes: Vec<Option<i32>>,
}

/// Reads hyperfine's JSON: the wall-clock times of the runs.
pub fn parse(text: &str) -> anyhow::Result<Vec<Duration>> {
    let json: HyperfineOutput = serde_json::from_str(text).map_err(|error| {
        Trouble::new(format!(
            "hyperfine wrote something other than its JSON: {error}"
        ))
        .expected("hyperfine 1.20")
        .next("./justw --bring hyperfine")
    })?;
    let result = json
        .results
        .into_iter()
        .next()
        .context("hyperfine reported no result")?;
    if let Some(code) = result.exit_codes.iter().find(|code| **code != Some(0)) {
        let code = code.map_or("a signal".to_owned(), |code| format!("exit code {code}"));
        anyhow::bail!("the timed command ended with {code}");
    }
    Ok(result
        .times
        .into_iter()
        .map(Duration::from_secs_f64)
        .collect())
}

impl Hyperfine {
    /// Looks for hyperfine on `PATH` and among the tools that `justw` brings.
    pub fn find(workspace: &Workspace) -> anyhow::Result<Self> {
        Ok(Hyperfine {
            program: tools::find(workspace, "hyperfine")?,
        })
    }

    /// Times a command.
    pub async fn times(&self, timing: &Timing, scratch: &Path) -> anyhow::Result<Vec<Duration>> {
        let json = scratch.join("hyperfine.json");
        let mut command = Command::new(&self.program);
        command
            .args(["--style", "none", "--export-json"])
            .arg(&json)
            .args(&timing.0);
        tools::printed(command, &timing.typed()).await?;
        let text = std::fs::read_to_string(&json)
            .with_context(|| format!("cannot read {}", json.display()))?;
        parse(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_are_read_in_seconds() {
        let text = r#"{"results":[{"command":"true","mean":0.1,"stddev":null,"median":0.1,"user":0.0,"system":0.0,
            "min":0.1,"max":0.1,"times":[0.101,0.2],"memory_usage_byte":[3219456,1],"exit_codes":[0,0]}]}"#;
        assert_eq!(
            parse(text).unwrap(),
            [Duration::from_millis(101), Duration::from_millis(200)]
        );
    }

    #[test]
    fn a_run_that_failed_gives_no_time() {
        let text = r#"{"results":[{"times":[0.1],"exit_codes":[2]}]}"#;
        assert!(parse(text).unwrap_err().to_string().contains("exit code 2"));
        let text = r#"{"results":[{"times":[0.1],"exit_codes":[null]}]}"#;
        assert!(parse(text).unwrap_err().to_string().contains("a signal"));
        assert!(parse("{}").unwrap_err().to_string().contains("hyperfine"));
    }

    #[test]
    fn the_typed_commands_can_be_pasted() {
        assert_eq!(
            Timing::runs(Path::new("/a b/program"), Some(Path::new("/x/32")), 20).typed(),
            r"hyperfine -N --warmup 3 --runs 20 --input /x/32 ''\''/a b/program'\'''"
        );
    }
}
