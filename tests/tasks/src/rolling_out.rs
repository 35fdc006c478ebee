//! Rolling out (exercise 14): two instances serve reads and visits at a constant rate while the schema changes, or while they are restarted.
//! How many requests are lost, and how long does the slowest one wait?

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::FutureExt;
use sqlx::{Connection, Executor, PgConnection};
use tokio::time::sleep;

use workshop_base::wait;
use workshop_harness::http::Client;
use workshop_harness::service::{Service, Settings};
use workshop_measure::protocol::block::{Observed, Turn, turns};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::{Session, key};
use workshop_measure::tables::add_steps;
use workshop_postgres::datasets::RunDatabase;
use workshop_results::file::ResultFile;
use workshop_results::key::{ASKED, At, LONGEST, LOST};

use crate::open_loop::{self, Seen};

/// Requests per second: far below what two instances can do.
const RATE: f64 = 200.0;
/// How long the load runs before something happens, and afterwards.
const BEFORE: Duration = Duration::from_millis(500);
const AFTERWARDS: Duration = Duration::from_secs(1);
/// The pause between two attempts to get the table.
const PAUSE: Duration = Duration::from_millis(500);
/// How long an instance may take to get ready.
const READY: Duration = Duration::from_secs(60);

/// The ways, in their order. In the first one nothing happens: it's what the others are compared with.
const CALM: At = At::Load("calm", "nothing changes");
const PLAIN: At = At::Load("plain", "a plain ALTER behind an export");
const LIMITED: At = At::Load("limited", "the same with a lock_timeout");
const RESTART: At = At::Load("restart", "each instance restarted in turn");
const STALE: At = At::Load("stale", "a column gets another type");
const WAYS: [At; 5] = [CALM, PLAIN, LIMITED, RESTART, STALE];

/// Measures release 2 of a target beside the one in Kotlin.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let (mut session, subjects) = Session::begin(lab, asked, &asked.task).await?;
    let held = Duration::from_secs_f64(session.plan.open);
    println!(
        "the load:  {RATE} requests/s on two instances in turn, each fifth a visit; an export is open for {} s",
        held.as_secs_f64()
    );
    let mut rounds = Vec::new();
    for turn in turns(&session.plan, &subjects) {
        session.progress.part(&turn.title);
        rounds.push(turn.record(block(&session, &turn, held).await?));
    }
    session.notes.extend([
        format!(
            "an open loop of {RATE} requests/s on two instances in turn, each fifth a visit; times count from when a request was due"
        ),
        format!(
            "the export is a transaction that has read the table and is open for {} s, and the ALTER comes right after it began; the lock_timeout is 100 ms, \
             with {} ms between attempts",
            held.as_secs_f64(),
            PAUSE.as_millis()
        ),
        "lost: any other answer than 200, or none. The services give up on the database after 1 s and answer 503, so nobody waits much longer".to_owned(),
        "an instance that is restarted gets no new requests, and is stopped when the last one is answered".to_owned(),
        "commits wait for the disk; the table has 10 000 rows, and no ALTER here rewrites it".to_owned(),
    ]);
    let definitions = metrics::of("rolling-out", WAYS)?;
    let found = session
        .judged(&definitions, &subjects, rounds, None)
        .decided_by(&LONGEST.at(CALM), &subjects);
    let mut result = session.finish(&subjects, found).await?;
    result.manifest.data_set = "small".to_owned();
    add_steps(&mut result, &WAYS)?;
    Ok(result)
}

/// Two fresh instances on a fresh database, and all of the ways.
async fn block(session: &Session<'_>, turn: &Turn<'_>, held: Duration) -> anyhow::Result<Observed> {
    let database = RunDatabase::create(&session.lab.server).await?;
    let mut admin = database.connect().await?;
    // A commit waits for the disk, as it does at work.
    let name = database.name();
    let durable = format!("ALTER DATABASE \"{name}\" SET synchronous_commit = on");
    sqlx::raw_sql(sqlx::AssertSqlSafe(durable))
        .execute(&mut admin)
        .await?;
    let fleet = Fleet {
        session,
        turn,
        settings: Settings::new(database.url()),
        instances: RefCell::default(),
        next: Cell::default(),
    };
    for _ in 0..2 {
        let instance = fleet.start().await?;
        fleet.instances.borrow_mut().push(instance);
    }
    // A JVM compiles meanwhile, and each connection gets its prepared statements.
    fleet
        .under_load(sleep(Duration::from_secs_f64(session.plan.warm_up)).map(Ok))
        .await?;

    let mut observed = Observed::default();
    let mut exporting = database.connect().await?;
    for way in WAYS {
        session
            .progress
            .phase(&format!("{}: {}", turn.title, way.words()));
        let happens = async {
            sleep(BEFORE).await;
            match way {
                PLAIN => behind_an_export(&mut exporting, held, plain(&mut admin)).await?,
                LIMITED => behind_an_export(&mut exporting, held, limited(&mut admin)).await?,
                RESTART => fleet.restart_each().await?,
                STALE => {
                    admin
                        .execute("ALTER TABLE records ALTER COLUMN value TYPE varchar")
                        .await?;
                }
                _ => sleep(held).await,
            }
            sleep(AFTERWARDS).await;
            Ok(())
        };
        let seen = fleet.under_load(happens).await?;
        observed.value(ASKED.at(way), Some(f64::from(seen.asked)));
        observed.value(LOST.at(way), Some(f64::from(seen.lost)));
        observed.value(LONGEST.at(way), Some(seen.longest.as_secs_f64() * 1e3));
    }
    for instance in fleet.instances.take() {
        instance.stop().await;
    }
    database.remove().await?;
    Ok(observed)
}

/// Has something happen right after an export began that stays open for so long.
async fn behind_an_export(
    exporting: &mut PgConnection,
    held: Duration,
    change: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<()> {
    let mut export = exporting.begin().await?;
    export.execute("SELECT id FROM records LIMIT 1").await?;
    let export = async {
        sleep(held).await;
        export.rollback().await.map_err(anyhow::Error::from)
    };
    tokio::try_join!(export, change).map(drop)
}

async fn plain(admin: &mut PgConnection) -> anyhow::Result<()> {
    admin
        .execute("ALTER TABLE records ADD COLUMN way_plain int")
        .await?;
    Ok(())
}

async fn limited(admin: &mut PgConnection) -> anyhow::Result<()> {
    let alter = "BEGIN; SET LOCAL lock_timeout = '100ms'; ALTER TABLE records ADD COLUMN way_limited int; COMMIT";
    while let Err(error) = admin.execute(alter).await {
        let code = error.as_database_error().and_then(|error| error.code());
        if code.as_deref() != Some("55P03") {
            return Err(error.into());
        }
        admin.execute("ROLLBACK").await?;
        sleep(PAUSE).await;
    }
    Ok(())
}

/// An instance, and how many requests are under way on it.
struct Instance {
    client: Client,
    under_way: Cell<usize>,
    service: Service,
}

impl Instance {
    async fn stop(self: Rc<Self>) {
        let none_under_way = async || (self.under_way.get() == 0).then_some(());
        wait::within(READY, none_under_way).await;
        if let Ok(instance) = Rc::try_unwrap(self) {
            instance.service.stop().await;
        }
    }
}

/// Two instances of one service, which are asked in turn.
struct Fleet<'a> {
    session: &'a Session<'a>,
    turn: &'a Turn<'a>,
    settings: Settings,
    instances: RefCell<Vec<Rc<Instance>>>,
    next: Cell<usize>,
}

impl Fleet<'_> {
    async fn start(&self) -> anyhow::Result<Rc<Instance>> {
        let launch = &self.turn.subject.launch;
        let service = Service::start(self.session.lab.workspace, launch, &self.settings).await?;
        let client = Client::new(service.base_url(), Some(&key()))?;
        let is_ready = async || {
            let answer = client.get("/ready").await.ok()?;
            (answer.status() == 200).then_some(())
        };
        let ready = wait::within(READY, is_ready).await;
        anyhow::ensure!(ready.is_some(), "{} does not get ready", launch.label);
        Ok(Rc::new(Instance {
            client,
            under_way: Cell::default(),
            service,
        }))
    }

    async fn restart_each(&self) -> anyhow::Result<()> {
        let count = self.instances.borrow().len();
        for _ in 0..count {
            let old = self.instances.borrow_mut().remove(0);
            old.stop().await;
            let new = self.start().await?;
            self.instances.borrow_mut().push(new);
        }
        Ok(())
    }

    /// Asks for records until something has happened, and until each request is answered.
    async fn under_load(
        &self,
        happens: impl Future<Output = anyhow::Result<()>>,
    ) -> anyhow::Result<Seen> {
        open_loop::beside(RATE, happens, async |number| {
            let turn = self.next.get();
            self.next.set(turn + 1);
            let instance = {
                let instances = self.instances.borrow();
                Rc::clone(&instances[turn % instances.len()])
            };
            instance.under_way.set(instance.under_way.get() + 1);
            let works = open_loop::works(&instance.client, number).await;
            instance.under_way.set(instance.under_way.get() - 1);
            works
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_has_its_definitions() {
        let defined = metrics::of("rolling-out", WAYS).unwrap();
        for key in [ASKED, LOST, LONGEST] {
            for way in WAYS {
                let key = key.at(way);
                assert!(defined.iter().any(|known| known.key == key), "{key}");
            }
        }
    }
}
