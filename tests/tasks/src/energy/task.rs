//! A watt of requests (exercise 23): what does a request take in joules, where something here measures them, and in CPU seconds
//! everywhere; at the same rate for all, and at saturation.

use std::path::PathBuf;
use std::time::Duration;

use crate::energy::find;
use crate::energy::interval::Energy;
use crate::energy::meter::Meter;
use crate::tables::energy::{self as tables, AT_RATE, SATURATED};
use workshop_base::exercise::Catalogue;
use workshop_base::process::since;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_measure::protocol::block::{Block, Observed, turns};
use workshop_measure::protocol::experiment::Found;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::load::{Reading, Seen, watched};
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_measure::tools::database;
use workshop_measure::tools::oha::{Load, Order};
use workshop_results::file::ResultFile;
use workshop_results::key::{
    At, CPU, CPU_PER_REQUEST_SATURATED, DATABASE_CPU, DATABASE_ENERGY, ENERGY, Key, LOAD_CPU,
    POWER, POWER_IDLE, SERVICE_ENERGY, THROUGHPUT,
};
use workshop_suites::forms::energy::{EnergyForm, FORM};

/// What is known of each load everywhere.
const EVERYWHERE: [(Reading, Key); 3] = [
    (Reading::Cpu, CPU),
    (Reading::Database, DATABASE_CPU),
    (Reading::LoadCpu, LOAD_CPU),
];
/// What is known of saturation besides.
const OF_SATURATION: [(Reading, Key); 2] = [
    (Reading::Rate, THROUGHPUT),
    (Reading::Cpu, CPU_PER_REQUEST_SATURATED),
];
/// What a source of energy adds to it.
const OF_A_SOURCE: [Key; 4] = [ENERGY, POWER, SERVICE_ENERGY, DATABASE_ENERGY];
/// How long the machine has to calm down before it counts as idle.
const CALM: Duration = Duration::from_secs(2);

/// Measures Kotlin and the port with the source that the form names. The form is read first, and the source looked for: what is
/// wrong with them is told before anybody waits for a build.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let form = EnergyForm::read(
        &place_of_form(lab.workspace, asked)?,
        &asked.target.to_string(),
    )?;
    let found = find::find(&form.wanted, &find::classes(), lab.workspace.root())?;
    for said in &found.said {
        println!("{said}");
    }
    let (mut session, subjects, path) = Session::of_reads(lab, asked).await?;
    let rates = session.find_rates(&subjects, &path).await?;
    let (open, closed) = (session.plan.open, session.plan.saturation);
    let loads = [
        (
            AT_RATE,
            Load::Open(rates[0].1),
            Duration::from_secs_f64(open),
        ),
        (SATURATED, Load::Closed, Duration::from_secs_f64(closed)),
    ];
    let mut powered = Powered {
        meter: found.source.map(Meter::of),
        database: lab.first_process,
        idle: Err("the idle machine was not measured".to_owned()),
    };
    let mut rounds = Vec::new();
    for turn in turns(&session.plan, &subjects) {
        session.progress.phase(&format!("{}: idle", turn.title));
        powered.rest(loads[0].2).await;
        let mut block = Block::start(&session, &turn).await?;
        let warm_up = session.order(&path, block.service(), Duration::ZERO, Load::Closed);
        let keys = loads.iter().flat_map(|(at, ..)| powered.keys_at(*at));
        let keys = keys.chain([THROUGHPUT]).collect();
        if block.warm_up(&session, &warm_up, keys).await? {
            powered.note_idle(&mut block.observed);
            for (at, load, duration) in loads {
                block.phase(&session, load);
                let order = Order {
                    duration,
                    load,
                    ..warm_up.clone()
                };
                powered.put_on(&session, &mut block, &order, at).await?;
            }
        }
        rounds.push(block.end(&mut session).await?);
    }
    session.notes.extend(found.said.clone());
    let definitions = metrics::of("energy", [AT_RATE, SATURATED])?;
    let judged = session.judged(&definitions, &subjects, rounds, None);
    let judged = Found { rates, ..judged }.decided_by(&THROUGHPUT, &subjects);
    let mut result = session.finish(&subjects, judged).await?;
    result
        .tables
        .extend(tables::tables(&result, &form, &found.said));
    Ok(result)
}

/// The form of the target.
fn place_of_form(workspace: &Workspace, asked: &Asked) -> anyhow::Result<PathBuf> {
    let catalogue = Catalogue::read(workspace)?;
    let exercise = catalogue.get(asked.exercise)?;
    let folder = match asked.target {
        Target::Solution(_) => exercise.solution(workspace),
        _ => exercise.starter(workspace),
    };
    Ok(folder.join(FORM.file))
}

/// What measures the energy of loads, where something does.
struct Powered {
    meter: Option<Meter>,
    /// The first process of PostgreSQL, where it is known.
    database: Option<u32>,
    idle: Result<Energy, String>,
}

impl Powered {
    /// Measures the idle machine, as long as the first load will take. Without a source there is nothing to wait for.
    async fn rest(&mut self, length: Duration) {
        if let Some(meter) = &mut self.meter {
            tokio::time::sleep(CALM).await;
            self.idle = meter.during(tokio::time::sleep(length)).await.1;
        }
    }

    fn note_idle(&self, observed: &mut Observed) {
        let gate = self.idle.as_ref().map(|_| ()).map_err(Clone::clone);
        let watts = self.idle.as_ref().ok().map(|idle| idle.watts());
        let known = self.meter.iter().map(|_| (POWER_IDLE, watts));
        observed.gated(gate, known);
    }

    /// Puts a load on a warm service.
    async fn put_on(
        &mut self,
        session: &Session<'_>,
        block: &mut Block<'_>,
        order: &Order,
        at: At,
    ) -> anyhow::Result<()> {
        let pids = block.service().pids();
        let before = database::cpu(self.database);
        let load = watched(session, order, &pids, false);
        let (seen, energy) = match &mut self.meter {
            Some(meter) => {
                let (seen, energy) = meter.during(load).await;
                (seen, Some(energy))
            }
            None => (load.await, None),
        };
        let mut seen = seen?;
        seen.database = since(before, database::cpu(self.database));
        let observed = &mut block.observed;
        if order.load == Load::Closed {
            seen.note(order, &OF_SATURATION, None, observed);
        }
        seen.note(order, &EVERYWHERE, Some(at), observed);
        if let Some(energy) = energy {
            let energy = energy.and_then(|energy| seen.run.gate(order).map(|()| energy));
            self.note_energy(observed, at, energy, &seen);
        }
        Ok(())
    }

    /// The keys that one load speaks for.
    fn keys_at(&self, at: At) -> Vec<Key> {
        let energy = self.meter.iter().flat_map(|_| OF_A_SOURCE);
        let keys = EVERYWHERE.map(|(_, key)| key).into_iter().chain(energy);
        keys.map(|key| key.at(at)).collect()
    }

    /// Notes the energy of a load; what went wrong with it is the fault of no other figure.
    fn note_energy(
        &self,
        observed: &mut Observed,
        at: At,
        energy: Result<Energy, String>,
        seen: &Seen,
    ) {
        let both = energy.and_then(|energy| Ok((energy, energy.above(self.idle.clone()?)?)));
        let (energy, above) = match both {
            Ok(both) => both,
            Err(reason) => {
                return observed.invalid(OF_A_SOURCE.map(|key| key.at(at)), &reason);
            }
        };
        let per_request_mj = above * 1e3 / seen.run.answers as f64;
        observed.value(POWER.at(at), Some(energy.watts()));
        observed.value(ENERGY.at(at), Some(per_request_mj));
        let all: Option<f64> = EVERYWHERE
            .iter()
            .map(|(reading, _)| seen.of(*reading))
            .sum();
        let part = |reading| Some(per_request_mj * seen.of(reading)? / all?);
        observed.value(SERVICE_ENERGY.at(at), part(Reading::Cpu));
        observed.value(DATABASE_ENERGY.at(at), part(Reading::Database));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::source::{self, EnergySource, Sample, now_s};
    use workshop_measure::tools::oha::Run;

    fn powered(idle: Result<Energy, String>) -> Powered {
        Powered {
            meter: None,
            database: None,
            idle,
        }
    }

    fn joules(joules: f64) -> Energy {
        Energy {
            joules,
            seconds: 10.0,
        }
    }

    /// A thousand requests for 90 J, of which 40 J are idle. Each takes 30 µs of CPU in the service and 20 µs in the rest.
    fn at_rate(database_us: Option<u64>) -> Observed {
        let mut observed = Observed::default();
        let used = Ok(joules(90.0));
        let of_all = |us: u64| Duration::from_micros(us * 1000);
        let seen = Seen {
            run: Run {
                answers: 1000,
                generator_cpu: Some(of_all(20)),
                ..Run::default()
            },
            cpu: Some(of_all(30)),
            database: database_us.map(of_all),
            ..Seen::default()
        };
        powered(Ok(joules(40.0))).note_energy(&mut observed, AT_RATE, used, &seen);
        observed
    }

    #[test]
    fn every_key_has_its_definition() {
        let defined = metrics::of("energy", [AT_RATE, SATURATED]).unwrap();
        let keys = EVERYWHERE.map(|(_, key)| key);
        for key in keys.into_iter().chain(OF_A_SOURCE) {
            for at in [AT_RATE, SATURATED] {
                let key = key.at(at);
                assert!(defined.iter().any(|known| known.key == key), "{key}");
            }
        }
        assert!(defined.iter().any(|known| known.key == POWER_IDLE));
    }

    #[test]
    fn energy_is_what_is_above_idle_and_shared_out_by_cpu_time() {
        let observed = at_rate(Some(50));
        let value = |key: Key| observed.values[&key.at(AT_RATE)];
        assert_eq!(value(POWER), 9.0);
        assert!((value(ENERGY) - 50.0).abs() < 1e-9);
        assert!((value(SERVICE_ENERGY) - 15.0).abs() < 1e-9);
        assert!((value(DATABASE_ENERGY) - 25.0).abs() < 1e-9);
    }

    #[test]
    fn without_the_databases_cpu_nothing_is_shared_out() {
        let observed = at_rate(None);
        let values = &observed.values;
        assert!(values.contains_key(&ENERGY.at(AT_RATE)));
        assert!(!values.contains_key(&SERVICE_ENERGY.at(AT_RATE)));
    }

    #[test]
    fn energy_that_is_not_known_makes_no_other_figure_invalid() {
        let mut observed = Observed::default();
        let gone = Err("a sensor: it was unplugged".to_owned());
        powered(Ok(joules(40.0))).note_energy(&mut observed, SATURATED, gone, &Seen::default());
        let keys: Vec<&str> = observed.invalid.keys().map(Key::as_str).collect();
        assert_eq!(
            keys,
            [
                "database_energy_saturated",
                "energy_saturated",
                "power_saturated",
                "service_energy_saturated"
            ]
        );
        assert!(observed.values.is_empty());
    }

    /// A sensor that is gone from the beginning.
    #[derive(Debug)]
    struct Gone;

    impl EnergySource for Gone {
        fn name(&self) -> &'static str {
            "a sensor"
        }
        fn covers(&self) -> String {
            String::new()
        }
        fn read(&mut self) -> anyhow::Result<Vec<Sample>> {
            anyhow::bail!("it was unplugged at {}", now_s())
        }
    }

    #[test]
    fn the_keys_of_energy_are_spoken_for_only_where_there_is_a_source() {
        let mut powered = powered(Ok(joules(1.0)));
        assert_eq!(powered.keys_at(AT_RATE).len(), EVERYWHERE.len());
        let gone: Box<dyn source::EnergySource> = Box::new(Gone);
        powered.meter = Some(Meter::of(gone));
        assert_eq!(
            powered.keys_at(AT_RATE).len(),
            EVERYWHERE.len() + OF_A_SOURCE.len()
        );
    }
}
