//! hyperfine, the stop-watch of programs: how it is called, and what it says.
//!
//! hyperfine cannot interleave commands, so it is called for one of them at a time, in an order that the plan draws.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Deserialize;

use crate::tools;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// hyperfine, found on this machine.
#[derive(Debug, Clone)]
pub struct Hyperfine {
    program: PathBuf,
}

/// A command to time once, and what ends the process that it leaves behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timing {
    /// The command that is timed, as words.
    pub command: Vec<String>,
    /// The command that is run after it, untimed.
    pub conclude: Vec<String>,
}

impl Timing {
    /// The arguments after `hyperfine`, its JSON going to this file.
    pub fn arguments(&self, runs: usize, json: &Path) -> Vec<String> {
        vec![
            "-N".to_owned(),
            "--runs".to_owned(),
            runs.to_string(),
            "--style".to_owned(),
            "none".to_owned(),
            "--export-json".to_owned(),
            json.display().to_string(),
            "--conclude".to_owned(),
            one_line(&self.conclude),
            one_line(&self.command),
        ]
    }

    /// The command as somebody would type it.
    pub fn typed(&self) -> String {
        format!(
            "hyperfine -N --runs 1 --conclude {} {}",
            quoted(&one_line(&self.conclude)),
            quoted(&one_line(&self.command))
        )
    }
}

/// A program to time several times in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runs {
    /// The program, without arguments.
    pub program: PathBuf,
    /// The file that is its standard input; none for an empty one.
    pub input: Option<PathBuf>,
    /// How often.
    pub runs: usize,
}

impl Runs {
    /// The arguments after `hyperfine`, its JSON going to this file.
    fn arguments(&self, json: &Path) -> Vec<String> {
        let mut arguments = self.timed();
        let output = ["--style", "none", "--export-json"].map(str::to_owned);
        arguments.splice(0..0, output.into_iter().chain([json.display().to_string()]));
        arguments
    }

    /// The command as somebody would type it.
    pub fn typed(&self) -> String {
        format!("hyperfine {}", one_line(&self.timed()))
    }

    fn timed(&self) -> Vec<String> {
        let mut words = ["-N", "--warmup", "3", "--runs"]
            .map(str::to_owned)
            .to_vec();
        words.push(self.runs.to_string());
        if let Some(input) = &self.input {
            words.extend(["--input".to_owned(), input.display().to_string()]);
        }
        words.push(one_line(&[self.program.display().to_string()]));
        words
    }
}

/// Words as the one line that hyperfine splits again.
fn one_line(words: &[String]) -> String {
    words
        .iter()
        .map(|word| quoted(word))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A word as a shell reads it.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[derive(Deserialize)]
struct Json {
    results: Vec<JsonResult>,
}

#[derive(Deserialize)]
struct JsonResult {
    times: Vec<f64>,
    exit_codes: Vec<Option<i32>>,
}

/// Reads hyperfine's JSON: the wall-clock times of the runs.
pub fn parse(text: &str) -> anyhow::Result<Vec<Duration>> {
    let json: Json = serde_json::from_str(text).map_err(|error| {
        Trouble::new(format!(
            "hyperfine wrote something else than its JSON: {error}"
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

    /// Where it is.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Times the command once. Whatever way this ends, nothing that the command started is left in its process group.
    pub async fn once(&self, timing: &Timing, scratch: &Path) -> anyhow::Result<Duration> {
        let json = scratch.join("hyperfine.json");
        let times = self.times(timing.arguments(1, &json), &json, timing.typed());
        let first = times.await?.into_iter().next();
        first.context("hyperfine reported no time")
    }

    /// Times a program several times in a row.
    pub async fn runs(&self, runs: &Runs, scratch: &Path) -> anyhow::Result<Vec<Duration>> {
        let json = scratch.join("hyperfine.json");
        self.times(runs.arguments(&json), &json, runs.typed()).await
    }

    async fn times(
        &self,
        arguments: Vec<String>,
        json: &Path,
        typed: String,
    ) -> anyhow::Result<Vec<Duration>> {
        let mut command = tokio::process::Command::new(&self.program);
        command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        let child = command
            .spawn()
            .with_context(|| format!("{} cannot be run", self.program.display()))?;
        let _group = Group(child.id());
        let output = child
            .wait_with_output()
            .await
            .context("cannot wait for hyperfine")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(
                Trouble::new(format!("hyperfine could not time it: {}", said.trim()))
                    .next(format!("run it by hand: {typed}"))
                    .into(),
            );
        }
        let text = std::fs::read_to_string(json)
            .with_context(|| format!("cannot read {}", json.display()))?;
        parse(&text)
    }
}

/// Ends a process group when dropped.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            let _ = killpg(Pid::from_raw(group.cast_signed()), Signal::SIGKILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timing() -> Timing {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect();
        Timing {
            command: words("tool cold-start /a/b.json"),
            conclude: words("tool cold-start --stop /a/b.json"),
        }
    }

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
    fn a_folder_with_a_space_survives_the_splitting() {
        let mut timing = timing();
        timing.command = vec!["my tool".to_owned(), "it's".to_owned()];
        assert_eq!(
            timing.arguments(1, Path::new("x.json")).last().unwrap(),
            r"'my tool' 'it'\''s'"
        );
    }

    #[test]
    fn a_program_gets_its_input_from_a_file() {
        let runs = Runs {
            program: "/a b/program".into(),
            input: Some("/x/32".into()),
            runs: 20,
        };
        assert_eq!(
            runs.arguments(Path::new("x.json")).join(" "),
            "--style none --export-json x.json -N --warmup 3 --runs 20 --input /x/32 '/a b/program'"
        );
        assert_eq!(
            runs.typed(),
            r"hyperfine -N --warmup 3 --runs 20 --input /x/32 ''\''/a b/program'\'''"
        );
    }

    #[test]
    fn the_typed_command_can_be_pasted() {
        assert_eq!(
            timing().typed(),
            "hyperfine -N --runs 1 --conclude 'tool cold-start --stop /a/b.json' 'tool cold-start /a/b.json'"
        );
    }
}
