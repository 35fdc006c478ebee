//! Services that misbehave: each is judged as what it is, and never taken for a red test when it is none.
//!
//! This test binary is the misbehaving service as well: started with `FAKE_SERVICE`, it plays that part.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use libtest_mimic::{Arguments, Failed, Trial};
use sqlx::{Connection, PgConnection};
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::target::Language;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{Launch, LaunchLimits};
use workshop_harness::plan;
use workshop_harness::report::{Judged, Report, TestStatus};
use workshop_harness::run::{Listener, judge_phases};
use workshop_harness::scenarios::Place;
use workshop_postgres::Server;

fn main() -> ExitCode {
    if let Ok(part) = std::env::var("FAKE_SERVICE") {
        return fake::play(&part);
    }
    let trials = vec![
        trial(
            "a_service_that_exits_at_start_is_no_red_test",
            exits_at_start,
        ),
        trial("a_service_that_never_answers_is_no_red_test", never_answers),
        trial(
            "a_service_that_speaks_no_http_is_no_red_test",
            speaks_no_http,
        ),
        trial("an_endless_body_is_a_red_test", endless_body),
        trial(
            "a_service_that_dies_while_it_is_judged_is_red_with_its_last_words",
            dies_at_ready,
        ),
        trial(
            "a_service_that_ignores_sigterm_is_killed_and_that_is_said",
            ignores_sigterm,
        ),
        trial(
            "a_database_that_dies_while_it_is_judged_is_no_red_test",
            database_dies,
        ),
        trial(
            "a_test_is_told_when_it_has_ended_and_others_still_run",
            told_while_others_run,
        ),
        trial("no_service_is_left_when_the_tool_is_killed", killed_tool),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial<F>(name: &str, test: fn() -> F) -> Trial
where
    F: Future<Output = anyhow::Result<()>> + 'static,
{
    Trial::test(name, move || {
        let runtime = tokio::runtime::Runtime::new()?;
        runtime
            .block_on(test())
            .map_err(|error| Failed::from(format!("{error:#}")))
    })
}

/// The launch of this binary in one of its parts. A shell in between can set what a Rust program cannot set for itself.
fn playing(part: &str, shell_first: &str) -> anyhow::Result<Launch> {
    let program = std::env::current_exe()?;
    Ok(Launch {
        program: "sh".into(),
        args: vec![
            "-c".into(),
            format!("{shell_first} exec \"$0\"").into(),
            program.clone().into(),
        ],
        env: vec![("FAKE_SERVICE".to_owned(), part.to_owned())],
        directory: std::env::temp_dir(),
        label: format!("fake-{part}"),
        member: format!("fake-{part}"),
        language: Language::Rust,
        artifact: program,
        parts: Vec::new(),
        calls: None,
        limits: LaunchLimits {
            start: Duration::from_secs(2),
            stop: Duration::from_secs(1),
        },
    })
}

async fn judged(launch: &Launch) -> anyhow::Result<Report> {
    judged_before(launch, &mut ()).await
}

async fn judged_before(launch: &Launch, listener: &mut dyn Listener) -> anyhow::Result<Report> {
    let workspace = Workspace::find()?;
    let server = Server::ensure(&workspace).await?;
    let place = Place {
        workspace: &workspace,
        server: &server,
        launch,
    };
    let phases = plan::phases(workshop_suites::all(), &["first-route"], &["first-route"])?;
    judge_phases(place, &phases, listener).await
}

/// The words of an error that leaves the service unjudged.
async fn not_judged(launch: &Launch) -> anyhow::Result<String> {
    let error = match judged(launch).await {
        Ok(report) => anyhow::bail!("it was judged: {:?}", report.tests),
        Err(error) => error,
    };
    let outcome = Trouble::of(&error).map(Trouble::outcome);
    anyhow::ensure!(
        outcome == Some(Outcome::CouldNotJudge),
        "{outcome:?}: {error:#}"
    );
    Ok(format!("{error:#}"))
}

fn ensure_says(words: &str, wanted: &[&str]) -> anyhow::Result<()> {
    for part in wanted {
        anyhow::ensure!(words.contains(part), "it does not say {part:?}: {words}");
    }
    Ok(())
}

async fn exits_at_start() -> anyhow::Result<()> {
    let words = not_judged(&playing("exits", "")?).await?;
    ensure_says(
        &words,
        &[
            "exited at start (exit code 3)",
            "| the settings are wrong",
            "next: ",
        ],
    )
}

async fn never_answers() -> anyhow::Result<()> {
    let words = not_judged(&playing("silent", "")?).await?;
    ensure_says(
        &words,
        &["did not answer on port", "within 2 s", "PORT", "next: "],
    )
}

async fn speaks_no_http() -> anyhow::Result<()> {
    let words = not_judged(&playing("garbage", "")?).await?;
    ensure_says(&words, &["not with HTTP", "SSH-2.0", "next: "])
}

/// The failure of one of the suite's tests.
fn failure_of(report: &Report, test: &str) -> anyhow::Result<String> {
    match report
        .tests
        .iter()
        .find(|judged| judged.test == test)
        .map(|judged| &judged.status)
    {
        Some(TestStatus::Failed { failure, log }) => Ok(format!("{failure}\n{log}")),
        other => anyhow::bail!("{test}: {other:?}"),
    }
}

async fn endless_body() -> anyhow::Result<()> {
    let report = judged(&playing("endless", "")?).await?;
    let failure = failure_of(&report, "health_answers_200_with_status_ok")?;
    ensure_says(
        &failure,
        &[
            "curl -i 'http://127.0.0.1:",
            "/health",
            "still coming after 4194304 bytes",
        ],
    )
}

/// What is waited for, and the tests that are told while something is.
#[derive(Default)]
struct Heard {
    waits_for: Vec<String>,
    told: Vec<String>,
    told_early: Vec<String>,
}

impl Listener for Heard {
    fn waits_for(&mut self, tests: &[&str]) {
        self.waits_for = tests.iter().map(|test| (*test).to_owned()).collect();
    }

    fn ends(&mut self, _label: &str, judged: &Judged) {
        if !self.waits_for.is_empty() {
            self.told_early.push(judged.test.clone());
        }
        self.told.push(judged.test.clone());
    }
}

async fn told_while_others_run() -> anyhow::Result<()> {
    let mut heard = Heard::default();
    let report = judged_before(&playing("refuses", "")?, &mut heard).await?;
    let tests: Vec<&str> = report.tests.iter().map(|test| &*test.test).collect();
    anyhow::ensure!(heard.told == tests, "{:?}, not {tests:?}", heard.told);
    let early = heard.told_early.first().map(String::as_str);
    anyhow::ensure!(early == tests.first().copied(), "{:?}", heard.told_early);
    Ok(())
}

async fn dies_at_ready() -> anyhow::Result<()> {
    let report = judged(&playing("dies", "")?).await?;
    let failure = failure_of(&report, "ready_answers_200_when_the_database_answers")?;
    ensure_says(&failure, &["/ready", "my last words"])
}

async fn ignores_sigterm() -> anyhow::Result<()> {
    let report = judged(&playing("refuses", "trap '' TERM;")?).await?;
    anyhow::ensure!(report.hung_on_shutdown, "it was not said");
    let stops = judged(&playing("refuses", "")?).await?;
    anyhow::ensure!(
        !stops.hung_on_shutdown,
        "it was said of a service that stops"
    );
    Ok(())
}

/// Takes the tests' own connections away before the first test, as a stopping server would.
async fn database_dies() -> anyhow::Result<()> {
    let told = TcpListener::bind(("127.0.0.1", 0))?;
    let mut launch = playing("tells", "")?;
    launch
        .env
        .push(("FAKE_TELLS".to_owned(), told.local_addr()?.to_string()));
    let workspace = Workspace::find()?;
    let server = Server::ensure(&workspace).await?;
    let mut admin = PgConnection::connect(&server.url("postgres")).await?;
    let taking_away = async {
        for _ in 0..2 {
            let told = told.try_clone()?;
            let (mut service, database) =
                tokio::task::spawn_blocking(move || hear(&told)).await??;
            sqlx::query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1",
            )
            .bind(database)
            .execute(&mut admin)
            .await?;
            service.write_all(b"!")?;
        }
        anyhow::Ok(())
    };
    let (words, taken_away) = tokio::join!(not_judged(&launch), taking_away);
    taken_away?;
    ensure_says(&words?, &["the database went away", "next: "])
}

/// Waits for a service that tells which database it was given.
fn hear(told: &TcpListener) -> anyhow::Result<(TcpStream, String)> {
    let (mut service, _) = told.accept()?;
    let mut url = Vec::new();
    while url.last() != Some(&b'\n') {
        let mut byte = [0];
        service.read_exact(&mut byte)?;
        url.push(byte[0]);
    }
    let url = String::from_utf8(url)?;
    let database = url.trim().rsplit('/').next().unwrap_or_default();
    let database = database.split('?').next().unwrap_or_default();
    Ok((service, database.to_owned()))
}

/// Kills this binary in the part of a tool that has just started a service, and waits for the service's end.
async fn killed_tool() -> anyhow::Result<()> {
    if !cfg!(target_os = "linux") {
        // Only Linux's kernel can do this; elsewhere `just clean` finds what a killed tool has left.
        return Ok(());
    }
    let mut tool = Command::new(std::env::current_exe()?)
        .env("FAKE_SERVICE", "tool")
        .stdout(Stdio::piped())
        .spawn()?;
    let mut address = String::new();
    let mut output = tool
        .stdout
        .take()
        .ok_or_else(|| anyhow::anyhow!("no output"))?;
    while !address.ends_with('\n') {
        let mut byte = [0];
        output.read_exact(&mut byte)?;
        address.push(char::from(byte[0]));
    }
    let address = address.trim();
    let mut service = TcpStream::connect(address)?;
    tool.kill()?;
    tool.wait()?;
    // The connection ends when the service does; until then this read waits.
    service.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut rest = Vec::new();
    let ended = service.read_to_end(&mut rest);
    let timed_out = matches!(&ended, Err(error) if error.kind() == std::io::ErrorKind::WouldBlock);
    anyhow::ensure!(!timed_out, "the service at {address} outlived the tool");
    Ok(())
}

mod fake {
    //! The parts that this binary plays as a service.

    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use workshop_harness::service::{Service, Settings};

    static ASKED_READY: AtomicBool = AtomicBool::new(false);

    pub fn play(part: &str) -> ExitCode {
        match part {
            "exits" => {
                eprintln!("the settings are wrong");
                ExitCode::from(3)
            }
            "silent" => loop {
                std::thread::park();
            },
            "tool" => match start_and_wait() {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("{error:#}");
                    ExitCode::FAILURE
                }
            },
            _ => match serve(part) {
                Ok(()) => ExitCode::SUCCESS,
                Err(error) => {
                    eprintln!("{error}");
                    ExitCode::FAILURE
                }
            },
        }
    }

    fn serve(part: &str) -> std::io::Result<()> {
        let variable = |name| std::env::var(name).map_err(std::io::Error::other);
        let address = format!("{}:{}", variable("ADDRESS")?, variable("PORT")?);
        if part == "tells" {
            // Nothing is served before the other side has done its part.
            let mut other = TcpStream::connect(variable("FAKE_TELLS")?)?;
            writeln!(other, "{}", variable("DATABASE_URL")?)?;
            other.read_exact(&mut [0])?;
        }
        let listener = TcpListener::bind(address)?;
        loop {
            let (stream, _) = listener.accept()?;
            let part = part.to_owned();
            // A client that goes away is no reason to end.
            std::thread::spawn(move || answer(&part, stream).ok());
        }
    }

    fn answer(part: &str, mut stream: TcpStream) -> std::io::Result<()> {
        if part == "garbage" {
            return stream.write_all(b"SSH-2.0-fake\r\n");
        }
        let mut request = [0; 1024];
        let length = stream.read(&mut request)?;
        if length == 0 {
            // Somebody who only listens: wait until they are gone.
            return Ok(());
        }
        // The first is asked before the tests, until the service is ready.
        let is_ready = request.starts_with(b"GET /ready");
        let asked_before = is_ready && ASKED_READY.swap(true, Ordering::Relaxed);
        if part == "dies" && asked_before {
            eprintln!("my last words");
            std::process::abort();
        }
        if part == "endless" {
            stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")?;
            loop {
                stream.write_all(&[b'x'; 64 * 1024])?;
            }
        }
        stream.write_all(
            b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
        )
    }

    #[tokio::main(flavor = "current_thread")]
    async fn start_and_wait() -> anyhow::Result<()> {
        let workspace = Workspace::find()?;
        let settings = Settings::new("postgres://nobody@127.0.0.1:1/none");
        let service = Service::start(&workspace, &playing("refuses", "")?, &settings).await?;
        println!("{}", service.base_url().trim_start_matches("http://"));
        std::future::pending::<()>().await;
        Ok(())
    }
}
