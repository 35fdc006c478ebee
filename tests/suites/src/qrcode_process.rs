//! Suite `qrcode-process` (exercise 17): the program by itself, and the service that starts it, whatever happens to the program.

use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures_util::future::try_join_all;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

use crate::part::PartContext;
use crate::qrcode::{expect_code, path};
use workshop_base::{process, wait};
use workshop_harness::contract::{Answer, Failure, TestError, TestResult, contract_tests, expect, expect_at_most, expect_eq,};
use workshop_harness::qr;
use workshop_harness::workbench::Workbench;

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
/// The maximum time until an abandoned program is gone after the answer.
const GONE_WITHIN: Duration = Duration::from_secs(2);

fn program(bench: &Workbench, args: &[&str]) -> anyhow::Result<Child> {
    Command::new(bench.part()?)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env("RUST_BACKTRACE", "0")
        .kill_on_drop(true)
        .spawn()
        .context("the program cannot be started")
}

/// Gives a program its text, and waits for its end.
async fn ended(mut child: Child, text: &[u8]) -> Result<Output, TestError> {
    let mut input = child.stdin.take().context("no standard input")?;
    // A program that has its text as an argument may end before it has read anything.
    let _ = input.write_all(text).await;
    drop(input);
    let limit = Duration::from_secs(5);
    let output = tokio::time::timeout(limit, child.wait_with_output()).await;
    let output = output.map_err(|_| {
        let got = format!("it still ran after {limit:?}");
        Failure::new("a program that ends when its input does", got)
    })?;
    Ok(output.context("the program's output cannot be read")?)
}

/// The result of a program, in one line.
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
    let ended_well = output.status.success() && output.stderr.is_empty();
    expect(ended_well, &expected, told(output))?;
    match qr::decode(&output.stdout) {
        Ok(code) => {
            let got = format!("a code that says {:?}", code.text);
            expect(code.text == text, expected, got)
        }
        Err(fault) => Err(Failure::new(expected, fault).into()),
    }
}

async fn the_program_draws_standard_input(bench: &Workbench) -> TestResult {
    for text in ["Grüße", "a\0b", "--help", "two lines\n"] {
        expect_image(&ended(program(bench, &[])?, text.as_bytes()).await?, text)?;
    }
    Ok(())
}

async fn the_program_draws_its_argument(bench: &Workbench) -> TestResult {
    for text in ["Grüße", "--help"] {
        expect_image(&ended(program(bench, &[text])?, b"not this").await?, text)?;
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
        let output = ended(program(bench, args)?, text).await?;
        let lines = String::from_utf8_lossy(&output.stderr).lines().count();
        let given = match args {
            [] => format!("{} bytes on standard input", text.len()),
            _ => format!("the arguments {args:?}"),
        };
        expect(
            output.status.code() == Some(2) && output.stdout.is_empty() && lines == 1,
            format!(
                "exit code 2 and one line on standard error, nothing on standard output, for {given}"
            ),
            told(&output),
        )?;
    }
    Ok(())
}

async fn the_program_fails_with_exit_code_1_when_nobody_takes_the_image(
    bench: &Workbench,
) -> TestResult {
    let mut child = program(bench, &[])?;
    drop(child.stdout.take());
    let output = ended(child, b"text").await?;
    expect(
        output.status.code() == Some(1) && !output.stderr.is_empty(),
        "exit code 1 and the reason on standard error",
        told(&output),
    )
}

/// A service whose program is whatever a test puts in its place; now it is the real one.
async fn with_program(bench: &Workbench) -> Result<PartContext, TestError> {
    let place = bench.folder().join("program");
    let settings = [
        ("QRCODE_PROGRAM", &*place.to_string_lossy()),
        ("QRCODE_TIMEOUT_MS", &TIMEOUT.as_millis().to_string()),
        ("QRCODE_AT_ONCE", &AT_ONCE.to_string()),
    ];
    let real = shell(&format!("exec '{}'", bench.part()?.display()));
    let part = PartContext::start(bench, place.clone(), real.into_bytes(), &settings).await?;
    // The first start of a program costs a cold JVM more than any other.
    part.expect_recovery().await?;
    Ok(part)
}

/// These lines of shell as a program.
fn shell(lines: &str) -> String {
    format!("#!/bin/sh\n{lines}\n")
}

async fn ask(part: &PartContext) -> Result<Answer, Failure> {
    part.service.client.get(&path("text")).await
}

async fn a_program_that_is_missing_answers_503(bench: &Workbench) -> TestResult {
    let part = with_program(bench).await?;
    std::fs::remove_file(&part.place).context("cannot remove the program")?;
    part.expect_unavailable().await?;
    part.expect_recovery().await
}

async fn a_program_that_fails_answers_503(bench: &Workbench) -> TestResult {
    let part = with_program(bench).await?;
    // With half of an image, without having read anything, and killed.
    for lines in ["printf half; exit 3", "exec <&-; exit 1", "kill -9 $$"] {
        part.put(shell(lines))?;
        part.expect_unavailable().await?;
        part.expect_recovery().await?;
    }
    Ok(())
}

async fn a_program_that_hangs_is_ended_in_time(bench: &Workbench) -> TestResult {
    let part = with_program(bench).await?;
    let pids = bench.folder().join("hanging");
    let hanging = format!("echo $$ >> '{}'; exec sleep 600", pids.display());
    part.put(shell(&hanging))?;
    let asked = Instant::now();
    part.expect_unavailable().await?;
    part.expect_recovery().await?;
    let took = asked.elapsed();
    expect(
        took <= TIMEOUT + GONE_WITHIN,
        format!("503 after {TIMEOUT:?}, as QRCODE_TIMEOUT_MS says"),
        format!("it took {took:?}"),
    )?;
    let pids = std::fs::read_to_string(&pids).context("the stand-in has not run")?;
    let pids: Vec<u32> = pids.lines().filter_map(|line| line.parse().ok()).collect();
    let gone = async || pids.iter().all(|pid| process::is_gone(*pid)).then_some(());
    expect(
        wait::within(GONE_WITHIN, gone).await.is_some(),
        "a program that ends when its time is over",
        "it still runs, and nobody waits for it",
    )
}

async fn a_program_that_talks_much_is_heard_to_the_end(bench: &Workbench) -> TestResult {
    const MUCH: usize = 300_000;
    let part = with_program(bench).await?;
    // More than a pipe holds: if it isn't read, the program never ends.
    let real = bench.part()?.display();
    let talks = format!("head -c {MUCH} /dev/zero >&2; exec '{real}'");
    part.put(shell(&talks))?;
    ask(&part).await?.expect_status(200)?;
    part.put(shell(&format!("head -c {MUCH} /dev/zero")))?;
    let length = ask(&part).await?.expect_status(200)?.body().len();
    expect_eq("bytes", length, MUCH)
}

async fn no_more_programs_run_than_allowed(bench: &Workbench) -> TestResult {
    let part = with_program(bench).await?;
    let (running, seen) = (bench.folder().join("running"), bench.folder().join("seen"));
    std::fs::create_dir_all(&running).context("no folder")?;
    part.put(shell(&format!(
        "touch {running}/$$; ls {running} | wc -l >> {seen}; sleep 0.1; rm {running}/$$; exec '{program}'",
        running = running.display(),
        seen = seen.display(),
        program = bench.part()?.display()
    )))?;
    let texts = (0..8).map(|number| format!("number {number}"));
    let codes = texts.map(async |text| expect_code(&part.service.client, &text).await);
    try_join_all(codes).await?;
    let seen = std::fs::read_to_string(&seen).context("the stand-in has not run")?;
    let counts = seen.lines().filter_map(|line| line.trim().parse().ok());
    let most = counts.max().unwrap_or(usize::MAX);
    expect_at_most(AT_ONCE, "programs at a time, as QRCODE_AT_ONCE says", most)
}

async fn nothing_is_left_behind(bench: &Workbench) -> TestResult {
    const ROUND: usize = 60;
    let part = with_program(bench).await?;
    let load = async || try_join_all((0..ROUND).map(|_| ask(&part))).await;
    let pid = part.service.process.pid();
    load().await?;
    let before = process::open_files(pid);
    load().await?;
    load().await?;
    // Without /proc, only the answers can be checked.
    let left = async || process::children(pid).is_empty().then_some(());
    expect(
        wait::within(GONE_WITHIN, left).await.is_some(),
        "no process left when everything is answered",
        format!("{} of them, ended or not", process::children(pid).len()),
    )?;
    let after = process::open_files(pid).unwrap_or_default();
    // A few come and go with connections and threads.
    let limit = before.unwrap_or_default() + ROUND / 4;
    let what = format!("open descriptors, about as before {} more requests", 2 * ROUND);
    expect_at_most(limit, &what, after)
}
