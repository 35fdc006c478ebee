//! Taking a table over (exercise 21): what it costs Kotlin that its reads are looked at, how far the table of the one service lags behind
//! that of the other, and how long a switch takes while people visit.
//!
//! A round has both services, so its values are those of the two in one play: Kotlin is the service that owns visits at first, and what
//! follows, compares and switches is the target.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Context;
use sqlx::{AssertSqlSafe, Executor, PgConnection};
use tokio::time::sleep;

use workshop_base::outcome::Trouble;
use workshop_base::process::{self, since};
use workshop_base::target::Language;
use workshop_base::wait;
use workshop_harness::failure::TestError;
use workshop_harness::nginx::Nginx;
use workshop_harness::scenarios::Place;
use workshop_harness::service::Settings;
use workshop_harness::two_releases::Instance;
use workshop_harness::two_services::TwoServices;
use workshop_measure::protocol::block::Observed;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::load::enough_answers;
use workshop_measure::protocol::neighbors::CpuTimes;
use workshop_measure::protocol::plan::{POOL_SIZE, shuffled};
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::Subject;
use workshop_measure::protocol::{metrics, warmup};
use workshop_measure::tables::add_steps_of;
use workshop_measure::tools::database;
use workshop_measure::tools::oha::{Call, Load, Order};
use workshop_results::file::ResultFile;
use workshop_results::key::{
    At, CPU, DATABASE_CPU, DROPPED, LAG, LONGEST, LONGEST_LAG, LOOKED_AT, LOST, NGINX_CPU, P50,
    P99, SWITCH, UNSTEADY,
};
use workshop_results::statistics;

use crate::open_loop;

/// nginx's configuration, from the root of the checkout.
const NGINX: &str = "tests/tasks/src/taking_over/nginx";
/// How many reads clients send to nginx per second.
const READS: f64 = 250.0;
/// How many of the reads are looked at, and nginx's stage.
const NONE: At = At::Load("none", "0 %");
const ALL: At = At::Load("all", "100 %");
const SHARES: [(At, &str); 4] = [
    (NONE, "off"),
    (At::Load("one_percent", "1 %"), "one-percent"),
    (At::Load("ten_percent", "10 %"), "ten-percent"),
    (ALL, "all"),
];
/// How many visits there are per second while the lag is measured. At the last of these, nobody says that there is an event.
const LAGS: [(At, f64); 4] = [
    (At::Load("at_10", "10 visits/s"), 10.0),
    (At::Load("at_100", "100 visits/s"), 100.0),
    (At::Load("at_500", "500 visits/s"), 500.0),
    (POLLED, 100.0),
];
const POLLED: At = At::Load("polled", "100 visits/s, no NOTIFY");
/// How many visits and reads there are per second while ownership moves, and how often it goes there and back.
const SWITCHING: f64 = 200.0;
const SWITCHES: usize = 5;
/// Before and after a switch.
const PAUSE: Duration = Duration::from_millis(300);
/// Visits that the JVM has compiled.
const WARM_UP: Duration = Duration::from_secs(3);
/// The longest that an outbox may need until it is empty, and that the reads in the inbox may need.
const LIMIT: Duration = Duration::from_secs(60);
/// Nothing has been looked at for so long: the inbox is empty.
const SETTLED: Duration = Duration::from_millis(200);

/// Notes when an event is written, and when it is applied. A commit waits for the disk, as it does at work.
const TIMES: &str = "
    DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = on', current_database()); END $$;
    CREATE UNLOGGED TABLE noted (seq bigint, at float8);
    CREATE UNLOGGED TABLE applied (seq bigint, at float8);
    CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO noted VALUES (NEW.seq, extract(epoch FROM NEW.noted_at));
        RETURN NULL;
    END $$;
    CREATE FUNCTION applied() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO applied VALUES (NEW.seq, extract(epoch FROM clock_timestamp()));
        RETURN NULL;
    END $$;
    CREATE TRIGGER noted AFTER INSERT ON visits_outbox FOR EACH ROW EXECUTE FUNCTION noted();
    CREATE TRIGGER applied AFTER INSERT OR UPDATE ON visits_applied FOR EACH ROW EXECUTE FUNCTION applied()";
const FORGET: &str = "TRUNCATE noted, applied";
const EMPTY: &str = "SELECT NOT EXISTS (SELECT FROM visits_outbox WHERE reason IS NULL)";
const WAKES: &str = "ALTER TABLE visits_outbox ENABLE TRIGGER visits_wake";
const DOES_NOT_WAKE: &str = "ALTER TABLE visits_outbox DISABLE TRIGGER visits_wake";

/// Measures a target beside Kotlin.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let (mut session, subjects) = Session::begin(lab, asked, &asked.task).await?;
    let [kotlin, rust] = subjects.as_slice() else {
        let trouble = Trouble::new("Kotlin takes no table over from itself");
        return Err(trouble.next("just measure exercise-21").into());
    };
    println!("the load:  {READS} reads/s through nginx, 0 to 100 % of them looked at;");
    println!("           10 to 500 visits/s; {SWITCHING} requests/s while ownership moves");
    let mut rounds = Vec::new();
    for round in 1..=session.plan.rounds {
        let title = format!("round {round} of {}", session.plan.rounds);
        session.progress.part(&title);
        let before = CpuTimes::now();
        let [of_kotlin, of_rust] = played(&session, &title, kotlin, rust).await?;
        session.neighbors.since(before, &[kotlin.id(), rust.id()]);
        rounds.push(of_kotlin.record(round, 2 * round - 1, kotlin.id()));
        rounds.push(of_rust.record(round, 2 * round, rust.id()));
    }
    session.notes.extend([
        format!(
            "looking: an open loop of {READS} reads/s through nginx in front of Kotlin; its mirror has a share of them looked at by Rust, which asks \
             Kotlin twice. CPU is divided by the reads of the clients, and includes what the looks cost after them"
        ),
        "lag: from the insert into the outbox of the one database to the write in the other, by the clock of the server that has both; the row of a \
         service is that in which it owns visits. Rust applies the events in both directions: Kotlin has no part that does"
            .to_owned(),
        "without NOTIFY, Rust looks into the outbox each 250 ms".to_owned(),
        format!(
            "a switch: `service own`, from its start to its end, {SWITCHES} times in each direction and round, while clients send {SWITCHING} requests/s to \
             Rust, each fifth a visit; the row of a service is that in which it gets visits. Lost: any other answer than 200, or none"
        ),
        "commits wait for the disk; each database has 10 000 records".to_owned(),
    ]);
    let mut definitions = metrics::of("looking", shares())?;
    definitions.extend(metrics::of("lag", lags())?);
    definitions.extend(metrics::closed("switch")?);
    let found = session
        .judged(&definitions, &subjects, rounds, None)
        .decided_by(&CPU.at(NONE), &subjects);
    let mut result = session.finish(&subjects, found).await?;
    result.manifest.data_set = "small".to_owned();
    add_steps_of("looking", &mut result, &shares())?;
    add_steps_of("lag", &mut result, &lags())?;
    Ok(result)
}

fn shares() -> Vec<At> {
    SHARES.map(|(share, _)| share).into()
}

fn lags() -> Vec<At> {
    LAGS.map(|(lag, _)| lag).into()
}

/// A round: both services start, and are measured in each of the three ways. What is Kotlin's, and what is the target's.
async fn played(
    session: &Session<'_>,
    title: &str,
    kotlin: &Subject,
    rust: &Subject,
) -> anyhow::Result<[Observed; 2]> {
    let place = Place {
        workspace: session.lab.workspace,
        server: &session.lab.server,
        launch: &rust.launch,
    };
    let settings = Settings {
        pool_size: POOL_SIZE,
        ..Settings::new("")
    };
    let services = TwoServices::new(&place, &kotlin.launch, settings).await?;
    let mut databases = [
        services.kotlin_database().await?,
        services.rust_database().await?,
    ];
    for database in &mut databases {
        sqlx::raw_sql(TIMES).execute(&mut *database).await?;
    }
    let kotlin = services.start_kotlin("exposed").await.map_err(in_words)?;
    let rust = services.start().await.map_err(in_words)?;
    let mut played = Played {
        session,
        title,
        services: &services,
        nginx: nginx(session, &kotlin, &rust).await?,
        kotlin,
        rust,
        databases,
        seen: <[Observed; 2]>::default(),
    };
    played.phase("warming up until steady");
    played.warm_up().await?;
    for at in shuffled(SHARES.len()) {
        let (share, stage) = SHARES[at];
        played.look(share, stage).await?;
    }
    for at in shuffled(LAGS.len()) {
        let (lag, rate) = LAGS[at];
        played.lag(Owner::Kotlin, lag, rate).await?;
    }
    played.own(Owner::Rust).await?;
    for at in shuffled(LAGS.len()) {
        let (lag, rate) = LAGS[at];
        played.lag(Owner::Rust, lag, rate).await?;
    }
    played.own(Owner::Kotlin).await?;
    played.switch().await?;
    let Played {
        nginx,
        kotlin,
        rust,
        seen,
        ..
    } = played;
    drop(nginx);
    rust.stop().await;
    kotlin.stop().await;
    Ok(seen)
}

async fn nginx(session: &Session<'_>, kotlin: &Instance, rust: &Instance) -> anyhow::Result<Nginx> {
    let configuration = session.lab.workspace.root().join(NGINX);
    let place = |instance: &Instance| instance.place().context("a service has ended");
    let ((kotlin, _), (rust, _)) = (place(kotlin)?, place(rust)?);
    Nginx::start(&configuration, kotlin, rust)
        .await
        .map_err(in_words)
}

/// What the services don't do ends the measurement: `just check` tells it better.
fn in_words(error: TestError) -> anyhow::Error {
    match error {
        TestError::CouldNotJudge(error) => error,
        TestError::Failed(failure) => Trouble::new(failure.to_string())
            .next("just check exercise-21")
            .failed()
            .into(),
    }
}

/// Who owns visits; the place of its database, and of what is seen of it.
#[derive(Debug, Clone, Copy)]
enum Owner {
    Kotlin = 0,
    Rust = 1,
}

impl Owner {
    fn name(self) -> &'static str {
        match self {
            Owner::Kotlin => "kotlin",
            Owner::Rust => "rust",
        }
    }
}

/// Both services while they are measured.
struct Played<'a> {
    session: &'a Session<'a>,
    title: &'a str,
    services: &'a TwoServices,
    nginx: Nginx,
    kotlin: Rc<Instance>,
    rust: Rc<Instance>,
    databases: [PgConnection; 2],
    seen: [Observed; 2],
}

/// CPU time so far.
struct Spent {
    kotlin: Option<Duration>,
    rust: Option<Duration>,
    nginx: Option<Duration>,
    database: Option<Duration>,
}

impl Played<'_> {
    fn phase(&self, what: &str) {
        let title = self.title;
        self.session.progress.phase(&format!("{title}: {what}"));
    }

    /// An order of reads, to nginx.
    fn reads(&self, load: Load) -> Order {
        Order {
            url: format!("http://{}{}", self.nginx.address(), self.session.records()),
            header: self.session.header.clone(),
            call: Call::default(),
            connections: self.session.connections,
            duration: Duration::from_secs_f64(self.session.plan.open),
            load,
        }
    }

    /// An order of visits, to the service that owns them.
    fn visits(&self, owner: Owner, load: Load) -> Order {
        let owner = match owner {
            Owner::Kotlin => &self.kotlin,
            Owner::Rust => &self.rust,
        };
        let records = self.session.records().replace("/read/", "/records/");
        Order {
            url: format!("{}{records}/visit", owner.base_url()),
            call: Call {
                method: "POST",
                ..Call::default()
            },
            duration: Duration::from_secs_f64(self.session.plan.saturation),
            ..self.reads(load)
        }
    }

    /// The JVM has compiled what it needs for reads, looks and visits, and all connections are there.
    async fn warm_up(&mut self) -> anyhow::Result<()> {
        self.nginx.switch("all").await.map_err(in_words)?;
        let pids: Vec<u32> = self
            .kotlin
            .place()
            .map(|(_, pid)| pid)
            .into_iter()
            .collect();
        let limits = self.session.plan.warm_up_of(Language::Kotlin);
        let reads = self.reads(Load::Closed);
        let warm = warmup::run(&self.session.oha, &reads, &pids, &limits).await?;
        let warm = warm.map_err(anyhow::Error::msg)?;
        if warm.steady_after_s.is_none() {
            self.seen[Owner::Kotlin as usize].value(UNSTEADY, Some(1.0));
        }
        let visits = Order {
            duration: WARM_UP,
            ..self.visits(Owner::Kotlin, Load::Closed)
        };
        let run = self.session.oha.run(&visits).await?;
        run.answered(&visits).map_err(anyhow::Error::msg)?;
        self.emptied(Owner::Kotlin).await?;
        // A JVM compiles on for a while at the rate that is measured: the first share would pay for that.
        self.session.oha.run(&self.reads(Load::Open(READS))).await?;
        self.settled().await.map(drop)
    }

    fn spent(&self) -> Spent {
        let of = |instance: &Instance| process::cpu(&[instance.place()?.1]);
        Spent {
            kotlin: of(&self.kotlin),
            rust: of(&self.rust),
            nginx: process::cpu(&[self.nginx.pid()]),
            database: database::cpu(self.session.lab.first_process),
        }
    }

    /// How many reads were looked at so far and how many were not, once none of them waits any more.
    async fn settled(&mut self) -> anyhow::Result<(i64, i64)> {
        let counts = "SELECT coalesce(sum(same + moving + late + different + failed), 0)::bigint,
                             coalesce(sum(dropped), 0)::bigint FROM visits_compared";
        let [_, rust] = &mut self.databases;
        let began = Instant::now();
        let mut last = None;
        loop {
            let now: (i64, i64) = sqlx::query_as(counts).fetch_one(&mut *rust).await?;
            if last == Some(now) {
                return Ok(now);
            }
            anyhow::ensure!(began.elapsed() < LIMIT, "the inbox does not become empty");
            last = Some(now);
            sleep(SETTLED).await;
        }
    }

    /// Clients read, and a share of that is looked at.
    async fn look(&mut self, share: At, stage: &str) -> anyhow::Result<()> {
        self.phase(&format!("{} of the reads are looked at", share.words()));
        self.nginx.switch(stage).await.map_err(in_words)?;
        let (looked_before, dropped_before) = self.settled().await?;
        let reads = self.reads(Load::Open(READS));
        let before = self.spent();
        let run = self.session.oha.run(&reads).await?;
        let (looked, dropped) = self.settled().await?;
        let after = self.spent();
        let gate = run.gate(&reads);
        let cpu = |before, after| run.per_request_us(since(before, after));
        let [of_kotlin, of_rust] = &mut self.seen;
        of_kotlin.gated(
            gate.clone(),
            [
                (CPU.at(share), cpu(before.kotlin, after.kotlin)),
                (NGINX_CPU.at(share), cpu(before.nginx, after.nginx)),
                (DATABASE_CPU.at(share), cpu(before.database, after.database)),
                (P50.at(share), run.p50_ms),
            ],
        );
        let enough = enough_answers(run.answers, "p99");
        of_kotlin.gated(gate.clone().and(enough), [(P99.at(share), run.p99_ms)]);
        of_rust.gated(
            gate,
            [
                (CPU.at(share), cpu(before.rust, after.rust)),
                (LOOKED_AT.at(share), Some((looked - looked_before) as f64)),
                (DROPPED.at(share), Some((dropped - dropped_before) as f64)),
            ],
        );
        Ok(())
    }

    /// Waits until nothing waits in the outbox of this service.
    async fn emptied(&mut self, owner: Owner) -> anyhow::Result<()> {
        let from = &mut self.databases[owner as usize];
        let look = async || {
            let empty = sqlx::query_scalar(EMPTY).fetch_one(&mut *from);
            empty.await.unwrap_or(false).then_some(())
        };
        wait::within(LIMIT, look)
            .await
            .context("the outbox does not become empty")
    }

    /// Clients visit through the service that owns visits; how much later does the other table know?
    async fn lag(&mut self, owner: Owner, lag: At, rate: f64) -> anyhow::Result<()> {
        let name = owner.name();
        self.phase(&format!("{} through {name}", lag.words()));
        for database in &mut self.databases {
            database.execute(FORGET).await?;
        }
        let from = owner as usize;
        if lag == POLLED {
            self.databases[from].execute(DOES_NOT_WAKE).await?;
        }
        let visits = self.visits(owner, Load::Open(rate));
        let run = self.session.oha.run(&visits).await?;
        self.emptied(owner).await?;
        self.databases[from].execute(WAKES).await?;
        let noted = times(&mut self.databases[from], "noted").await?;
        let applied = times(&mut self.databases[1 - from], "applied").await?;
        let mut lags: Vec<f64> = Vec::new();
        for (seq, at) in &noted {
            let applied = applied.get(seq);
            let applied = applied.with_context(|| format!("event {seq} was never applied"))?;
            lags.push((applied - at) * 1e3);
        }
        let longest = lags.iter().copied().reduce(f64::max);
        self.seen[from].gated(
            run.gate(&visits),
            [
                (LAG.at(lag), statistics::median(&lags)),
                (LONGEST_LAG.at(lag), longest),
            ],
        );
        Ok(())
    }

    /// Gives visits to this service; how long that took.
    async fn own(&self, owner: Owner) -> anyhow::Result<Duration> {
        let began = Instant::now();
        let ended = self.services.run(&["own", owner.name()]).await?;
        anyhow::ensure!(
            ended.code == Some(0),
            "own {}: {}",
            owner.name(),
            ended.said
        );
        Ok(began.elapsed())
    }

    /// Ownership goes there and back while clients visit and read.
    async fn switch(&mut self) -> anyhow::Result<()> {
        self.phase("ownership moves");
        let mut took = [Vec::new(), Vec::new()];
        let mut lost = [0, 0];
        for _ in 0..SWITCHES {
            for owner in [Owner::Rust, Owner::Kotlin] {
                let took = &mut took[owner as usize];
                let moves = async {
                    sleep(PAUSE).await;
                    took.push(self.own(owner).await?.as_secs_f64());
                    sleep(PAUSE).await;
                    Ok(())
                };
                let ask = async |number| open_loop::works(&self.rust.client, number).await;
                let seen = open_loop::beside(SWITCHING, moves, ask).await?;
                lost[owner as usize] += seen.lost;
                let longest = seen.longest.as_secs_f64() * 1e3;
                self.seen[owner as usize].most(LONGEST, Some(longest));
            }
        }
        for ((seen, took), lost) in self.seen.iter_mut().zip(&took).zip(lost) {
            seen.value(SWITCH, statistics::median(took));
            seen.value(LOST, Some(f64::from(lost)));
        }
        Ok(())
    }
}

/// When events were written, or applied, in seconds.
async fn times(database: &mut PgConnection, table: &str) -> sqlx::Result<HashMap<i64, f64>> {
    let query = AssertSqlSafe(format!("SELECT seq, min(at) FROM {table} GROUP BY seq"));
    let rows: Vec<(i64, f64)> = sqlx::query_as(query).fetch_all(database).await?;
    Ok(rows.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_definition() {
        let looking = [CPU, NGINX_CPU, DATABASE_CPU, P50, P99, LOOKED_AT, DROPPED];
        let looking = looking.map(|key| shares().into_iter().map(move |share| key.at(share)));
        let lag = [LAG, LONGEST_LAG].map(|key| lags().into_iter().map(move |lag| key.at(lag)));
        let mut defined = metrics::of("looking", shares()).unwrap();
        defined.extend(metrics::of("lag", lags()).unwrap());
        defined.extend(metrics::closed("switch").unwrap());
        let keys = looking
            .into_iter()
            .flatten()
            .chain(lag.into_iter().flatten());
        for key in keys.chain([SWITCH, LONGEST, LOST]) {
            assert!(defined.iter().any(|known| known.key == key), "{key}");
        }
    }
}
