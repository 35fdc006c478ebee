//! The drill: a service under half of the load that it can take, and every ten seconds something happens to its database or to
//! the line between the two. No request may wait longer than its time limits say, everything works again within two seconds, and
//! neither connections nor memory grow. An hour of it is a test of its own, so it runs only when it is asked for:
//! `cargo test --package workshop --test commands -- --ignored drill:: --nocapture`, with `kotlin` or `solution` at the end for one of the
//! two, and with `WORKSHOP_DRILL_SECONDS=120` in front for a shorter one, or `WORKSHOP_DRILL_FAULT=Restart` for one kind of
//! fault. It needs the embedded provider: it freezes the server.
//! And it needs root for a disk that can be full, a small tmpfs below the server's data: without, it says so and leaves that out.

#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::checkout::{Checkout, end_server, postmaster};
use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rand::seq::IndexedRandom;
use tokio::sync::Mutex as AsyncMutex;
use tokio::task::JoinSet;
use tokio::time::{interval, sleep};
use workshop_base::process;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, Profile};
use workshop_harness::http::Client;
use workshop_harness::proxy::DatabaseProxy;
use workshop_harness::service::{Service, Settings};
use workshop_postgres::Server;
use workshop_postgres::datasets::RunDatabase;

/// How long it lasts where nothing is said.
const HOUR: u64 = 3600;
/// From one fault to the next.
const PAUSE: Duration = Duration::from_secs(10);
/// How long a frozen server stays so.
const FROZEN: Duration = Duration::from_secs(3);
/// How long a disk stays full.
const FULL: Duration = Duration::from_secs(3);
/// What the server's disk holds: a few times what a new server has on it.
const DISK: &str = "size=256m,mode=755";
/// The code of PostgreSQL's error for a disk that is full.
const DISK_FULL: &str = "53100";
/// How soon after a fault everything works again.
const RECOVERY: Duration = Duration::from_secs(2);
/// What a request may take: the limit for a connection, the one for its query, and what a busy machine adds.
const LONGEST: Duration = Duration::from_millis(2 * 1000 + 500);
/// The clients: more than the pool has connections.
const CLIENTS: usize = 16;
/// How long the clients ask as fast as they can, to find out how fast that is.
const FULL_LOAD: Duration = Duration::from_secs(5);
/// How much larger the service may be at the end than when it was warm.
const TOLERATED: f64 = 1.25;
/// The JVM takes its heap at once, so that what grows is a leak and no policy.
const SMALL_HEAP: &str = "-Xms96m -Xmx96m -XX:+AlwaysPreTouch";

/// Two drills at once would share the cores.
static ONE_AT_A_TIME: AsyncMutex<()> = AsyncMutex::const_new(());

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes an hour"]
async fn the_pool_of_the_solution_comes_back_each_time() -> anyhow::Result<()> {
    drill(Target::Solution(11)).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes an hour"]
async fn kotlin_comes_back_each_time() -> anyhow::Result<()> {
    drill(Target::Kotlin).await
}

/// What can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// The line forgets its connections, and tells nobody.
    Silence,
    /// The line resets its connections.
    Reset,
    /// The server is restarted.
    Restart,
    /// The server stands still for a while.
    Freeze,
    /// The server ends all sessions.
    Terminate,
    /// The server's disk is full for a while: who writes is refused, who reads need not notice.
    DiskFull,
}

impl Fault {
    const ALL: [Fault; 6] = [
        Fault::Silence,
        Fault::Reset,
        Fault::Restart,
        Fault::Freeze,
        Fault::Terminate,
        Fault::DiskFull,
    ];

    /// Lets it happen, and returns when it is over.
    async fn happen(
        self,
        checkout: &Checkout,
        disk: Option<&Disk>,
        server: &Server,
        proxy: &DatabaseProxy,
    ) {
        match self {
            Fault::Silence => proxy.lose(),
            Fault::Reset => proxy.reset(),
            Fault::Restart => {
                end_server(server, true).await;
                let again = checkout.server().await;
                assert_eq!(again.maintenance_url(), server.maintenance_url());
            }
            Fault::Freeze => {
                let first = postmaster(server).await.as_raw() as u32;
                let all = process::descendants(&[first], &process::all());
                let tell = |signal| {
                    for pid in all.iter().chain([&first]) {
                        // A session that has ended meanwhile needs no signal.
                        let _ = kill(Pid::from_raw(*pid as i32), signal);
                    }
                };
                tell(Signal::SIGSTOP);
                sleep(FROZEN).await;
                tell(Signal::SIGCONT);
            }
            Fault::Terminate => {
                let mut connection = server.connect_for_maintenance().await.unwrap();
                sqlx::query(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                     WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
                )
                .execute(&mut connection)
                .await
                .unwrap();
            }
            Fault::DiskFull => {
                let disk = disk.expect("a disk of the server's own");
                let mut connection = server.connect_for_maintenance().await.unwrap();
                disk.fill();
                let write = "CREATE TABLE too_much AS SELECT * FROM generate_series(1, 1000000)";
                let refused = sqlx::query(write).execute(&mut connection).await;
                let refused = refused.expect_err("there is no room for a table");
                let code = refused
                    .as_database_error()
                    .and_then(|refused| refused.code());
                assert_eq!(code.as_deref(), Some(DISK_FULL), "{refused}");
                sleep(FULL).await;
                disk.make_room();
            }
        }
    }
}

/// A file system of its own below a checkout, and so below its server's data.
struct Disk(PathBuf);

impl Disk {
    /// Only root may mount one.
    fn mount(folder: &Path) -> anyhow::Result<Disk> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", DISK, "workshop-drill"]);
        let output = mount.arg(folder).output().context("mount")?;
        let said = String::from_utf8_lossy(&output.stderr);
        anyhow::ensure!(output.status.success(), "{}", said.trim());
        Ok(Disk(folder.to_owned()))
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }

    fn fill(&self) {
        let file = std::fs::File::create(self.ballast()).expect("a file for the ballast");
        let error = std::io::copy(&mut std::io::repeat(0), &mut &file).expect_err("an end");
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "{error}");
    }

    fn make_room(&self) {
        std::fs::remove_file(self.ballast()).expect("the ballast");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).status();
        if !unmounted.is_ok_and(|status| status.success()) || std::fs::remove_dir(&self.0).is_err()
        {
            eprintln!("{} was not removed", self.0.display());
        }
    }
}

/// One answer.
#[derive(Debug, Clone, Copy)]
struct Seen {
    came: Instant,
    took: Duration,
    works: bool,
}

/// What the clients have seen since somebody looked last.
#[derive(Default)]
struct Diary(Mutex<Vec<Seen>>);

impl Diary {
    async fn request(&self, client: &Client, id: u32) {
        let sent = Instant::now();
        let answer = client.get(&format!("/read/{id}")).await;
        let came = Instant::now();
        let seen = Seen {
            came,
            took: came - sent,
            works: answer.is_ok_and(|answer| answer.status() == 200),
        };
        self.0.lock().unwrap().push(seen);
    }

    fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

async fn drill(target: Target) -> anyhow::Result<()> {
    let _turn = ONE_AT_A_TIME.lock().await;
    let seconds = match std::env::var("WORKSHOP_DRILL_SECONDS") {
        Ok(seconds) => seconds.parse().context("WORKSHOP_DRILL_SECONDS")?,
        Err(_) => HOUR,
    };
    let workspace = Workspace::find()?;
    let mut launch = build::build(&workspace, target, Profile::Measure).await?;
    launch
        .env
        .push(("JDK_JAVA_OPTIONS".to_owned(), SMALL_HEAP.to_owned()));
    // The checkout goes first, with the server that writes to the disk.
    let disk;
    let checkout = Checkout::new();
    disk = Disk::mount(checkout.workspace.root())
        .inspect_err(|error| println!("the disk is never full in this drill: {error:#}"))
        .ok();
    let only = std::env::var("WORKSHOP_DRILL_FAULT").ok();
    let possible: Vec<Fault> = Fault::ALL
        .into_iter()
        .filter(|fault| *fault != Fault::DiskFull || disk.is_some())
        .filter(|fault| {
            only.as_ref()
                .is_none_or(|only| format!("{fault:?}") == *only)
        })
        .collect();
    anyhow::ensure!(
        !possible.is_empty(),
        "no fault of this name is possible here"
    );
    let server = checkout.server().await;
    let database = RunDatabase::create(&server).await?;
    let proxy = DatabaseProxy::start(database.url()).await?;
    let settings = Settings::new(proxy.url());
    let service = Service::start(&workspace, &launch, &settings).await?;
    let client = Client::new(service.base_url(), Some("valid_key"))?.within(4 * LONGEST);

    let diary: &'static Diary = Box::leak(Box::default());
    let full = full_load(&client, diary).await;
    let rate = full / 2.0;
    println!("{target}: {full:.0} requests/s at most, so {rate:.0} from now on");
    let clients = begin_load(&client, diary, rate);
    sleep(PAUSE).await;
    diary.take();

    let pids = service.pids();
    let size = || process::tree_pss_kb(&pids).context("the memory of the service cannot be read");
    let (mut warm, mut complaints) = (None, Vec::new());
    let end = Instant::now() + Duration::from_secs(seconds);
    let (mut faults, mut lost, mut longest_recovery, mut longest_wait) =
        (0, 0, Duration::ZERO, Duration::ZERO);
    while Instant::now() < end {
        let fault = *possible.choose(&mut rand::rng()).expect("one of them");
        let began = Instant::now();
        fault
            .happen(&checkout, disk.as_ref(), &server, &proxy)
            .await;
        let over = Instant::now();
        sleep(PAUSE).await;
        faults += 1;
        let seen = diary.take();
        let failed = seen.iter().filter(|seen| !seen.works);
        lost += failed.clone().count();
        let last = failed.clone().map(|seen| seen.came).max();
        let recovery = last.map_or(Duration::ZERO, |last| last.saturating_duration_since(over));
        let longest = seen.iter().map(|seen| seen.took).max().unwrap_or_default();
        longest_recovery = longest_recovery.max(recovery);
        longest_wait = longest_wait.max(longest);
        let (open, memory) = (proxy.open(), size()?);
        println!(
            "{faults:4} {fault:9?} lasted {:5.2} s, {:6} answers, {:5} failed, works again after {:5.2} s, longest wait {:5.2} s, \
             {open} connections, {memory} kB",
            (over - began).as_secs_f64(),
            seen.len(),
            failed.count(),
            recovery.as_secs_f64(),
            longest.as_secs_f64(),
        );
        // The first of each kind let caches grow.
        if faults == possible.len() {
            warm = Some(memory);
        }
        let mut expect = |holds: bool, what: &str| {
            if !holds {
                complaints.push(format!("fault {faults}, {fault:?}: {what}"));
            }
        };
        expect(recovery <= RECOVERY, "it took longer to recover");
        expect(
            longest <= LONGEST,
            "a request waited longer than its limits",
        );
        expect(
            open <= usize::from(settings.pool_size),
            "too many connections",
        );
        let grown = warm.is_some_and(|warm| memory as f64 > warm as f64 * TOLERATED);
        expect(!grown, "it has grown");
    }
    drop(clients);
    drop(client);
    service.stop().await;
    drop(proxy);
    database.remove().await?;
    println!(
        "{target}: {faults} faults, {lost} requests lost, recovered within {:.2} s, longest wait {:.2} s",
        longest_recovery.as_secs_f64(),
        longest_wait.as_secs_f64(),
    );
    anyhow::ensure!(complaints.is_empty(), "{target}: {}", complaints.join("\n"));
    Ok(())
}

/// Asks as fast as it is answered, for a while; the requests per second.
async fn full_load(client: &Client, diary: &'static Diary) -> f64 {
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let client = client.clone();
        clients.spawn(async move {
            loop {
                diary.request(&client, number as u32 + 1).await;
            }
        });
    }
    // A JVM gets faster meanwhile, and only the end counts.
    sleep(FULL_LOAD).await;
    diary.take();
    sleep(FULL_LOAD).await;
    diary.take().len() as f64 / FULL_LOAD.as_secs_f64()
}

/// Clients that together send so many requests per second, until they are dropped.
fn begin_load(client: &Client, diary: &'static Diary, rate: f64) -> JoinSet<()> {
    let mut clients = JoinSet::new();
    let pace = Duration::from_secs_f64(CLIENTS as f64 / rate.max(1.0));
    for number in 0..CLIENTS {
        let client = client.clone();
        clients.spawn(async move {
            let mut beat = interval(pace);
            beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
            for id in (number as u32..).step_by(CLIENTS) {
                beat.tick().await;
                diary.request(&client, id % 10_000 + 1).await;
            }
        });
    }
    clients
}
