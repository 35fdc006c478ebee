//! A watt of requests (exercise 17): what does a request take in joules, where something here measures them, and in CPU seconds
//! everywhere; at the same rate for all, and at saturation.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;

use crate::energy::find;
use crate::energy::form::{EnergyForm, FORM};
use crate::energy::interval::Energy;
use crate::energy::meter::Meter;
use crate::tables::energy as tables;
use workshop_base::exercise::Catalogue;
use workshop_base::process::{self, since};
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::service::Service;
use workshop_measure::protocol::block::{
    self, GENERATOR_SHARE, Loads, Observed, Reading, Seen, watched,
};
use workshop_measure::protocol::experiment::{Asked, Experiment, ids, pairs};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::Subject;
use workshop_measure::tools::database;
use workshop_measure::tools::oha::{Load, Order};
use workshop_results::file::ResultFile;

/// The two loads: what their metrics' keys end in, and how that is said.
pub const ENDS: [(&str, &str); 2] = [("at_rate", "at the same rate"), ("saturated", "saturated")];
/// What is known of each load everywhere, by the beginning of the metric's key.
const CPU: [&str; 3] = ["cpu", "database_cpu", "load_cpu"];
/// What a source of energy adds to it.
const ENERGY: [&str; 4] = ["energy", "power", "service_energy", "database_energy"];
/// The machine without a service and without load.
const IDLE: &str = "power_idle";
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
    let (mut experiment, path) = Experiment::of_reads(lab, asked).await?;
    let rates = experiment.find_rates(&path).await?;
    let subjects = experiment.subjects.clone();
    let plan = &experiment.session.plan;
    let mut loads = Powered {
        path,
        loads: [
            (Load::Open(rates[0].1), Duration::from_secs_f64(plan.open)),
            (Load::Closed, Duration::from_secs_f64(plan.saturation)),
        ],
        meter: found.source.map(Meter::of),
        database: lab.first_process().await,
        idle: Err("the idle machine was not measured".to_owned()),
    };
    let block = async |session: &mut Session<'_>, subject: &Subject, title: &str| {
        loads.before(session, title).await;
        block::run(session, subject, &mut loads, title).await
    };
    let records = experiment.rounds_of(&subjects, block).await?;
    experiment.judge(&metrics::of("energy", ENDS)?, &records, &pairs(&subjects));
    experiment.decide("throughput", &ids(&subjects));
    experiment.notes.extend(found.said.clone());
    let mut result = experiment.finish().await?;
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

/// The loads of a block, and what measures their energy, where something does.
struct Powered {
    path: String,
    loads: [(Load, Duration); 2],
    meter: Option<Meter>,
    /// The first process of PostgreSQL, where it is known.
    database: Option<u32>,
    idle: Result<Energy, String>,
}

impl Powered {
    /// Measures the idle machine, as long as the first load will take. Without a source there is nothing to wait for.
    async fn before(&mut self, session: &Session<'_>, title: &str) {
        if let Some(meter) = &mut self.meter {
            session.progress.phase(&format!("{title}: idle"));
            tokio::time::sleep(CALM).await;
            let (_, length) = self.loads[0];
            self.idle = meter.during(tokio::time::sleep(length)).await.1;
        }
    }

    /// The keys that one load speaks for.
    fn keys_at(&self, end: &str) -> Vec<String> {
        let energy = self.meter.iter().flat_map(|_| ENERGY);
        let names = CPU.into_iter().chain(energy);
        names.map(|name| format!("{name}_{end}")).collect()
    }

    /// Notes the energy of a load; what went wrong with it is the fault of no other figure.
    fn note_energy(
        &self,
        observed: &mut Observed,
        end: &str,
        energy: Result<Energy, String>,
        per_request_us: [Option<f64>; 3],
        answers: u64,
    ) {
        let both = energy.and_then(|energy| Ok((energy, energy.above(self.idle.clone()?)?)));
        let (energy, above) = match both {
            Ok(both) => both,
            Err(reason) => {
                let keys = ENERGY.map(|name| format!("{name}_{end}"));
                return observed.invalid(keys, &reason);
            }
        };
        let per_request_mj = above * 1e3 / answers as f64;
        observed.value(format!("power_{end}"), Some(energy.watts()));
        observed.value(format!("energy_{end}"), Some(per_request_mj));
        let all: Option<f64> = per_request_us.iter().copied().sum();
        let part = |cpu: Option<f64>| Some(per_request_mj * cpu? / all?);
        let [service, database, _] = per_request_us;
        observed.value(format!("service_energy_{end}"), part(service));
        observed.value(format!("database_energy_{end}"), part(database));
    }
}

#[async_trait(?Send)]
impl Loads for Powered {
    fn path(&self) -> &str {
        &self.path
    }

    fn keys(&self, _subject: &Subject) -> Vec<String> {
        let keys = ENDS.iter().flat_map(|(end, _)| self.keys_at(end));
        keys.chain(["throughput".to_owned()]).collect()
    }

    async fn put_on(
        &mut self,
        session: &mut Session<'_>,
        _subject: &Subject,
        service: &Service,
        observed: &mut Observed,
        title: &str,
    ) -> anyhow::Result<()> {
        let pids = service.pids();
        if self.meter.is_some() {
            match &self.idle {
                Ok(idle) => observed.value(IDLE, Some(idle.watts())),
                Err(reason) => observed.invalid([IDLE], reason),
            }
        }
        for ((load, length), (end, _)) in self.loads.into_iter().zip(ENDS) {
            session.progress.phase(&format!("{title}: {load}"));
            let order = session.order(&self.path, service, length, load);
            let database_before = database::cpu(self.database);
            let (seen, energy) = match &mut self.meter {
                Some(meter) => {
                    let (seen, energy) = meter.during(watched(session, &order, &pids, false)).await;
                    (seen?, Some(energy))
                }
                None => (watched(session, &order, &pids, false).await?, None),
            };
            let by_database = since(database_before, database::cpu(self.database));
            if load == Load::Closed {
                observed.most(GENERATOR_SHARE, seen.run.generator_share);
            }
            if let Err(reason) = seen.run.gate(&order) {
                observed.invalid(self.keys_at(end), &reason);
                if load == Load::Closed {
                    observed.invalid(["throughput"], &reason);
                }
                continue;
            }
            if load == Load::Closed {
                observed.value("throughput", seen.of(Reading::Rate));
                observed.value(block::CPU_SATURATED, seen.of(Reading::Cpu));
            }
            let per_request_us = per_request_us(&seen, by_database, &order);
            for (name, cpu) in CPU.into_iter().zip(per_request_us) {
                observed.value(format!("{name}_{end}"), cpu);
            }
            if let Some(energy) = energy {
                self.note_energy(observed, end, energy, per_request_us, seen.run.answers);
            }
        }
        Ok(())
    }
}

/// The CPU time of service, database and load generator, in microseconds per request: as many seconds per million.
fn per_request_us(seen: &Seen, database: Option<Duration>, order: &Order) -> [Option<f64>; 3] {
    let run = &seen.run;
    let seconds = run.took_s.max(order.duration.as_secs_f64());
    let generator = run.generator_share;
    let generator =
        generator.map(|share| Duration::from_secs_f64(share * seconds * process::cores() as f64));
    let parts = [seen.cpu, database, generator];
    // What took less than the clock shows is not known.
    parts.map(|part| run.per_request_us(part).filter(|us| *us > 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::source::{self, Sample, Source, now_s};

    fn powered(idle: Result<Energy, String>) -> Powered {
        Powered {
            path: String::new(),
            loads: [
                (Load::Open(1.0), Duration::ZERO),
                (Load::Closed, Duration::ZERO),
            ],
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
    fn at_rate(database_us: Option<f64>) -> Observed {
        let mut observed = Observed::default();
        let used = Ok(joules(90.0));
        let cpu = [Some(30.0), database_us, Some(20.0)];
        powered(Ok(joules(40.0))).note_energy(&mut observed, "at_rate", used, cpu, 1000);
        observed
    }

    #[test]
    fn every_key_has_its_definition() {
        let defined = metrics::of("energy", ENDS).unwrap();
        for name in CPU.into_iter().chain(ENERGY) {
            for (end, _) in ENDS {
                let key = format!("{name}_{end}");
                assert!(defined.iter().any(|known| known.key == key), "{key}");
            }
        }
        assert!(defined.iter().any(|known| known.key == IDLE));
    }

    #[test]
    fn energy_is_what_is_above_idle_and_shared_out_by_cpu_time() {
        let observed = at_rate(Some(50.0));
        let value = |key: &str| observed.values[key];
        assert_eq!(value("power_at_rate"), 9.0);
        assert!((value("energy_at_rate") - 50.0).abs() < 1e-9);
        assert!((value("service_energy_at_rate") - 15.0).abs() < 1e-9);
        assert!((value("database_energy_at_rate") - 25.0).abs() < 1e-9);
    }

    #[test]
    fn without_the_databases_cpu_nothing_is_shared_out() {
        let observed = at_rate(None);
        assert!(observed.values.contains_key("energy_at_rate"));
        assert!(!observed.values.contains_key("service_energy_at_rate"));
    }

    #[test]
    fn energy_that_is_not_known_makes_no_other_figure_invalid() {
        let mut observed = Observed::default();
        let gone = Err("a sensor: it was unplugged".to_owned());
        powered(Ok(joules(40.0))).note_energy(&mut observed, "saturated", gone, [None; 3], 1000);
        let keys: Vec<&str> = observed.invalid.keys().map(String::as_str).collect();
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

    impl Source for Gone {
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
        assert_eq!(powered.keys_at("at_rate").len(), CPU.len());
        let gone: Box<dyn source::Source> = Box::new(Gone);
        powered.meter = Some(Meter::of(gone));
        assert_eq!(powered.keys_at("at_rate").len(), CPU.len() + ENERGY.len());
    }
}
