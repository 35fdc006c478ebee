//! The drill: a service under half of the load that it can take, and every ten seconds something happens to its database or to
//! the line between the two. No request may wait longer than its time limits say, everything works again within two seconds, and
//! neither connections nor memory grow. An hour of it is a test of its own, so it runs only when it is asked for:
//! `cargo test --package workshop --test drill -- --ignored --nocapture`, with `kotlin` or `solution` at the end for one of the
//! two, and with `WORKSHOP_DRILL_SECONDS=120` in front for a shorter one. It needs the embedded provider: it freezes the server.

#![allow(clippy::expect_used, clippy::unwrap_used)]

#[path = "../../postgres/tests/checkout/mod.rs"]
mod checkout;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Context;
use checkout::{Checkout, end_server, postmaster};
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
use workshop_postgres::datasets::{DataSet, RunDatabase};

/// How long it lasts where nothing is said.
const HOUR: u64 = 3600;
/// From one fault to the next.
const PAUSE: Duration = Duration::from_secs(10);
/// How long a frozen server stays so.
const FROZEN: Duration = Duration::from_secs(3);
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
    drill(Target::Solution(13)).await
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
}

impl Fault {
    const ALL: [Fault; 5] = [
        Fault::Silence,
        Fault::Reset,
        Fault::Restart,
        Fault::Freeze,
        Fault::Terminate,
    ];

    /// Lets it happen, and returns when it is over.
    async fn happen(self, checkout: &Checkout, server: &Server, proxy: &DatabaseProxy) {
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
    let checkout = Checkout::new();
    let server = checkout.server().await;
    let database = RunDatabase::create(&server, &workspace, DataSet::Small).await?;
    let proxy = DatabaseProxy::start(database.url()).await?;
    let settings = Settings::new(proxy.url());
    let service = Service::start(&workspace, &launch, &settings)
        .await
        .map_err(|error| error.into_error())?;
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
    let mut faults = 0;
    while Instant::now() < end {
        let fault = *Fault::ALL.choose(&mut rand::rng()).expect("one of them");
        let began = Instant::now();
        fault.happen(&checkout, &server, &proxy).await;
        let over = Instant::now();
        sleep(PAUSE).await;
        faults += 1;
        let seen = diary.take();
        let failed = seen.iter().filter(|seen| !seen.works);
        let last = failed.clone().map(|seen| seen.came).max();
        let recovery = last.map_or(Duration::ZERO, |last| last.saturating_duration_since(over));
        let longest = seen.iter().map(|seen| seen.took).max().unwrap_or_default();
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
        if faults == Fault::ALL.len() {
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
    anyhow::ensure!(complaints.is_empty(), "{target}: {}", complaints.join("\n"));
    println!("{target}: {faults} faults, and it came back each time");
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
