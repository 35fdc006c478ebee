//! Suite `qrcode-process` (exercise 9): the program by itself, and the service that starts it, whatever becomes of it.

use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::future::try_join_all;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::qrcode::{expect_code, expect_unavailable, path};
use workshop_base::{files, process};
use workshop_harness::contract::TestResult;
use workshop_harness::{contract_tests, qr};
use workshop_harness::failure::{Failure, TestError};
use workshop_harness::http::Answer;
use workshop_harness::workbench::{OwnService, Workbench};

contract_tests! {
    own: [
        the_program_draws_standard_input,
        the_program_draws_its_argument,
        the_program_refuses_with_exit_code_2,
        the_program_fails_with_exit_code_1_when_nobody_takes_the_image,
        a_program_that_is_missing_answers_503,
        a_program_that_fails_answers_503,
        a_program_that_hangs_is_ended_in_time,
        a_program_that_talks_much_is_heard_to_the_end,
        no_more_programs_run_than_allowed,
        nothing_is_left_behind,
    ]
}

/// How long the service of these tests waits for an image.
const TIMEOUT: Duration = Duration::from_millis(1500);
/// How many programs it may run at once.
const AT_ONCE: usize = 2;
/// How soon after the answer a program that was given up is gone.
const GONE_WITHIN: Duration = Duration::from_secs(2);
/// Between two looks at what cannot be awaited.
const POLL: Duration = Duration::from_millis(5);

/// Runs the program to its end.
async fn run(bench: &Workbench, args: &[&str], text: &[u8]) -> Result<Output, TestError> {
    let mut child = program(bench, args)?;
    let mut input = child.stdin.take().context("no standard input")?;
    // A program that has its text as an argument may end before it has read anything.
    let _ = input.write_all(text).await;
    drop(input);
    ended(child).await
}

fn program(bench: &Workbench, args: &[&str]) -> Result<tokio::process::Child, TestError> {
    let child = Command::new(bench.part()?)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env("RUST_BACKTRACE", "0")
        .kill_on_drop(true)
        .spawn();
    Ok(child.context("the program cannot be started")?)
}

async fn ended(child: tokio::process::Child) -> Result<Output, TestError> {
    let limit = Duration::from_secs(5);
    let output = tokio::time::timeout(limit, child.wait_with_output()).await;
    let output = output.map_err(|_| {
        Failure::new(
            "a program that ends when its input does",
            format!("it still ran after {limit:?}"),
        )
    })?;
    Ok(output.context("the program's output cannot be read")?)
}

/// What a program did, in a line.
fn told(output: &Output) -> String {
    let words = String::from_utf8_lossy(&output.stderr);
    format!(
        "{}, {} bytes on standard output, on standard error {:?}",
        output.status,
        output.stdout.len(),
        words.trim()
    )
}

fn expect_image(output: &Output, text: &str) -> TestResult {
    let expected = format!(
        "exit code 0, the QR code of {text:?} on standard output, nothing on standard error"
    );
    if !output.status.success() || !output.stderr.is_empty() {
        return Err(Failure::new(expected, told(output)).into());
    }
    match qr::decode(&output.stdout) {
        Ok(code) if code.text == text => Ok(()),
        Ok(code) => Err(Failure::new(expected, format!("a code that says {:?}", code.text)).into()),
        Err(fault) => Err(Failure::new(expected, fault).into()),
    }
}

async fn the_program_draws_standard_input(bench: &Workbench) -> TestResult {
    for text in ["Grüße", "a\0b", "--help", "two lines\n"] {
        expect_image(&run(bench, &[], text.as_bytes()).await?, text)?;
    }
    Ok(())
}

async fn the_program_draws_its_argument(bench: &Workbench) -> TestResult {
    for text in ["Grüße", "--help"] {
        expect_image(&run(bench, &[text], b"not this").await?, text)?;
    }
    Ok(())
}

async fn the_program_refuses_with_exit_code_2(bench: &Workbench) -> TestResult {
    let wrong: [(&[&str], &[u8]); 5] = [
        (&[], b""),
        (&[""], b""),
        (&[], b"\xff"),
        (&[], &[b'a'; 3000]),
        (&["one", "two"], b""),
    ];
    for (args, text) in wrong {
        let output = run(bench, args, text).await?;
        let lines = String::from_utf8_lossy(&output.stderr).lines().count();
        if output.status.code() != Some(2) || !output.stdout.is_empty() || lines != 1 {
            let given = if args.is_empty() {
                format!("{} bytes on standard input", text.len())
            } else {
                format!("the arguments {args:?}")
            };
            let expected = format!(
                "exit code 2 and one line on standard error, nothing on standard output, for {given}"
            );
            return Err(Failure::new(expected, told(&output)).into());
        }
    }
    Ok(())
}

async fn the_program_fails_with_exit_code_1_when_nobody_takes_the_image(
    bench: &Workbench,
) -> TestResult {
    let mut child = program(bench, &[])?;
    drop(child.stdout.take());
    let mut input = child.stdin.take().context("no standard input")?;
    let _ = input.write_all(b"text").await;
    drop(input);
    let output = ended(child).await?;
    if output.status.code() == Some(1) && !output.stderr.is_empty() {
        return Ok(());
    }
    let expected = "exit code 1 and the reason on standard error";
    Err(Failure::new(expected, told(&output)).into())
}

/// A service whose program is whatever a test puts in its place.
struct StandIn {
    program: PathBuf,
    service: Arc<OwnService>,
}

impl StandIn {
    async fn start(bench: &Workbench) -> Result<StandIn, TestError> {
        let program = bench.folder().join("program");
        let (timeout, at_once) = (TIMEOUT.as_millis().to_string(), AT_ONCE.to_string());
        let env = [
            ("QRCODE_PROGRAM", program.to_string_lossy().into_owned()),
            ("QRCODE_TIMEOUT_MS", timeout),
            ("QRCODE_AT_ONCE", at_once),
        ];
        let env = env.each_ref().map(|(name, value)| (*name, value.as_str()));
        let service = bench.service(&env).await?;
        let stand_in = StandIn { program, service };
        stand_in.put_the_real_one(bench)?;
        // The first start of a program costs a cold JVM more than any other.
        expect_code(&stand_in.service.client, "warm").await?;
        Ok(stand_in)
    }

    fn put_the_real_one(&self, bench: &Workbench) -> anyhow::Result<()> {
        self.put(&format!("exec '{}'", bench.part()?.display()))
    }

    /// From now on these lines of shell are the program.
    fn put(&self, lines: &str) -> anyhow::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        self.remove()?;
        files::write_atomically(&self.program, format!("#!/bin/sh\n{lines}\n").as_bytes())?;
        std::fs::set_permissions(&self.program, std::fs::Permissions::from_mode(0o755))?;
        Ok(())
    }

    fn remove(&self) -> anyhow::Result<()> {
        match std::fs::remove_file(&self.program) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    async fn ask(&self) -> Result<Answer, Failure> {
        self.service.client.get(&path("text")).await
    }

    /// The contract's answer, and a service that goes on: it is healthy, and draws as soon as the program is back.
    async fn expect_unavailable(&self, bench: &Workbench) -> TestResult {
        expect_unavailable(&self.service.client, "text").await?;
        self.put_the_real_one(bench)?;
        expect_code(&self.service.client, "back again").await?;
        Ok(())
    }
}

async fn a_program_that_is_missing_answers_503(bench: &Workbench) -> TestResult {
    let stand_in = StandIn::start(bench).await?;
    stand_in.remove()?;
    stand_in.expect_unavailable(bench).await
}

async fn a_program_that_fails_answers_503(bench: &Workbench) -> TestResult {
    let stand_in = StandIn::start(bench).await?;
    // With half of an image, without having read anything, and killed.
    for lines in ["printf half; exit 3", "exec <&-; exit 1", "kill -9 $$"] {
        stand_in.put(lines)?;
        stand_in.expect_unavailable(bench).await?;
    }
    Ok(())
}

async fn a_program_that_hangs_is_ended_in_time(bench: &Workbench) -> TestResult {
    let stand_in = StandIn::start(bench).await?;
    let pids = bench.folder().join("hanging");
    stand_in.put(&format!("echo $$ >> '{}'; exec sleep 600", pids.display()))?;
    let asked = Instant::now();
    stand_in.expect_unavailable(bench).await?;
    if asked.elapsed() > TIMEOUT + GONE_WITHIN {
        let expected = format!("503 after {TIMEOUT:?}, which QRCODE_TIMEOUT_MS says");
        return Err(Failure::new(expected, format!("it took {:?}", asked.elapsed())).into());
    }
    let pids = std::fs::read_to_string(&pids).context("the stand-in has not run")?;
    let pids: Vec<u32> = pids.lines().filter_map(|line| line.parse().ok()).collect();
    let answered = Instant::now();
    while !pids.iter().all(|pid| process::is_gone(*pid)) {
        if answered.elapsed() > GONE_WITHIN {
            let expected = "a program that ends when its time is over";
            return Err(Failure::new(expected, "it still runs, and nobody waits for it").into());
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

async fn a_program_that_talks_much_is_heard_to_the_end(bench: &Workbench) -> TestResult {
    const MUCH: usize = 300_000;
    let stand_in = StandIn::start(bench).await?;
    // More than a pipe holds: who does not read it keeps the program from ever ending.
    for lines in [
        format!(
            "head -c {MUCH} /dev/zero >&2; exec '{}'",
            bench.part()?.display()
        ),
        format!("head -c {MUCH} /dev/zero"),
    ] {
        stand_in.put(&lines)?;
        stand_in.ask().await?.expect_status(200)?;
    }
    let length = stand_in.ask().await?.body().len();
    if length != MUCH {
        return Err(Failure::new(format!("all of {MUCH} bytes"), format!("{length} bytes")).into());
    }
    Ok(())
}

async fn no_more_programs_run_than_allowed(bench: &Workbench) -> TestResult {
    let stand_in = StandIn::start(bench).await?;
    let (running, seen) = (bench.folder().join("running"), bench.folder().join("seen"));
    std::fs::create_dir_all(&running).context("no folder")?;
    stand_in.put(&format!(
        "touch {running}/$$; ls {running} | wc -l >> {seen}; sleep 0.1; rm {running}/$$; exec '{program}'",
        running = running.display(),
        seen = seen.display(),
        program = bench.part()?.display()
    ))?;
    let texts: Vec<String> = (0..8).map(|number| format!("number {number}")).collect();
    try_join_all(
        texts
            .iter()
            .map(|text| expect_code(&stand_in.service.client, text)),
    )
    .await?;
    let seen = std::fs::read_to_string(&seen).context("the stand-in has not run")?;
    let most = seen
        .lines()
        .filter_map(|line| line.trim().parse::<usize>().ok())
        .max();
    if most.is_some_and(|most| most <= AT_ONCE) {
        return Ok(());
    }
    let expected = format!("at most {AT_ONCE} programs at a time, which QRCODE_AT_ONCE says");
    Err(Failure::new(expected, format!("{} at a time", most.unwrap_or_default())).into())
}

async fn nothing_is_left_behind(bench: &Workbench) -> TestResult {
    const ROUND: usize = 60;
    let stand_in = StandIn::start(bench).await?;
    let load = async || {
        let answers = (0..ROUND).map(|_| stand_in.ask());
        try_join_all(answers).await
    };
    let pid = stand_in.service.pid();
    load().await?;
    let before = process::open_files(pid);
    load().await?;
    load().await?;
    // Where the system does not tell (no /proc), the answers are all that can be looked at.
    let left = Instant::now();
    while !process::children(pid).is_empty() {
        if left.elapsed() > GONE_WITHIN {
            let got = format!("{} of them, ended or not", process::children(pid).len());
            return Err(Failure::new("no process left when all is answered", got).into());
        }
        tokio::time::sleep(POLL).await;
    }
    let after = process::open_files(pid);
    match before.zip(after) {
        // A few come and go with connections and threads.
        Some((before, after)) if after > before + ROUND / 4 => {
            let expected = format!("about {before} open descriptors, as before");
            Err(Failure::new(
                expected,
                format!("{after} after {} more requests", 2 * ROUND),
            )
            .into())
        }
        _ => Ok(()),
    }
}
