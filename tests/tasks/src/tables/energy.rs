//! Exercise 23: CPU seconds and joules per million requests, servers for the reader's own load, and CO₂.

use crate::energy::cost::{self, REQUESTS};
use workshop_base::process;
use workshop_measure::tables::ratio;
use workshop_results::figures::figure;
use workshop_results::file::ResultFile;
use workshop_results::key::{
    At, CPU, DATABASE_CPU, DATABASE_ENERGY, ENERGY, Key, LOAD_CPU, POWER_IDLE, SERVICE_ENERGY,
    THROUGHPUT,
};
use workshop_results::shown::{Cell, Column, Table};
use workshop_suites::forms::energy::EnergyForm;

/// The load whose energy counts for CO₂: a server that isn't full.
pub const AT_RATE: At = At::Load("at_rate", "at the same rate");
/// The load of a full one.
pub const SATURATED: At = At::Load("saturated", "saturated");
/// The loads, and how their lines begin.
const LOADS: [(At, &str); 2] = [(AT_RATE, "Same rate"), (SATURATED, "Saturated")];

/// All tables, of what was measured and the reader's form; `said` is what is known of the source.
pub fn tables(result: &ResultFile, form: &EnergyForm, said: &[String]) -> Vec<Table> {
    let mut tables = vec![per_million(result, said), servers(result, form)];
    tables.extend(carbon(result, form));
    tables
}

fn has_energy(result: &ResultFile) -> bool {
    let metric = |(at, _): &(At, &str)| result.metric(&ENERGY.at(*at));
    let mut metrics = LOADS.iter().filter_map(metric);
    metrics.any(|metric| !metric.values.is_empty())
}

/// CPU seconds, and kilojoules where there is a source.
fn per_million(result: &ResultFile, said: &[String]) -> Table {
    let mut names = vec![
        (CPU, "CPU (s)", "service"),
        (DATABASE_CPU, "CPU (s)", "PostgreSQL"),
        (LOAD_CPU, "CPU (s)", "load"),
    ];
    let title = if has_energy(result) {
        names.extend([
            (ENERGY, "Above idle (kJ)", "all"),
            (SERVICE_ENERGY, "Above idle (kJ)", "service"),
            (DATABASE_ENERGY, "Above idle (kJ)", "PostgreSQL"),
        ]);
        "Per million requests: CPU seconds, and kilojoules above the idle machine"
    } else {
        "Per million requests: CPU seconds, which are not joules"
    };
    let column = |(_, group, heading): &(Key, &str, &str)| Column {
        group: (*group).to_owned(),
        heading: (*heading).to_owned(),
    };
    let mut table = Table::new("per-million", title, names.iter().map(column).collect());
    for (at, load) in LOADS {
        for side in &result.sides {
            let cells = names
                .iter()
                .map(|(key, ..)| Cell::from(result.value(&key.at(at), &side.id)));
            table.row(format!("{load}: {}", side.label), cells.collect());
        }
    }
    table.notes.extend(said.iter().cloned());
    table.notes.push(if has_energy(result) {
        "kilojoules of service and PostgreSQL are estimates: what the source counted for all, shared out by CPU time".to_owned()
    } else {
        "no joules were measured, so nothing is said of the CO₂ of electricity: how many joules a CPU second takes depends on the \
         processor, on its clock and on what else runs"
            .to_owned()
    });
    table
}

/// Servers for the reader's own load.
fn servers(result: &ResultFile, form: &EnergyForm) -> Table {
    let first = result.sides.first().map_or("", |side| side.id.as_str());
    let group = |name: &str| Column::grouped(name, ["servers", "rounded up", "function"]);
    let columns = [group("All on each server"), group("The service alone")];
    let mut table = Table::new(
        "servers",
        format!(
            "Servers like this machine for {} requests/s, {} % of each left free",
            figure(form.rate),
            figure(form.headroom)
        ),
        columns.concat(),
    );
    let cores = process::cores() as f64;
    for side in &result.sides {
        let whole = result.value(&THROUGHPUT, &side.id);
        let seconds = |id: &str| Some(result.value(&CPU.at(SATURATED), id)? / REQUESTS);
        let alone = seconds(&side.id).map(|seconds| cores / seconds);
        let needed = |capacity: f64| cost::servers(form.rate, capacity, form.headroom);
        let count = |capacity: Option<f64>| match capacity.map(needed) {
            Some(servers) => [Cell::Number(servers), Cell::Count(servers.ceil() as u64)],
            None => [Cell::Empty, Cell::Empty],
        };
        let function = result.metric(&THROUGHPUT);
        let function = function.map_or(Cell::Empty, |metric| ratio(metric, &side.id, first));
        let by_cpu = seconds(first).zip(seconds(&side.id));
        let mut cells = count(whole).to_vec();
        cells.push(function);
        cells.extend(count(alone));
        cells.push(by_cpu.map(|(first, seconds)| first / seconds).into());
        table.row(&side.label, cells);
    }
    let first = result.sides.first().map_or("", |side| side.label.as_str());
    table.notes = [
        format!("function: how much of it the same servers carry, compared with {first}"),
        format!(
            "all on each server: as measured here at saturation, with PostgreSQL and the load generator on the same {cores} cores"
        ),
        "the service alone: all cores for the service, by its CPU time at saturation; the database is elsewhere, and large enough"
            .to_owned(),
        "assumed: every request is a read of one random row, the load is spread evenly, and servers don't slow each other down"
            .to_owned(),
    ]
    .into();
    table
}

/// Grams of CO₂e by the SCI formula; none where neither energy nor hardware is known.
fn carbon(result: &ResultFile, form: &EnergyForm) -> Option<Table> {
    if !has_energy(result) && form.hardware.is_none() {
        return None;
    }
    let headings = [
        "servers",
        "requests: E × I",
        "idle servers: E × I",
        "hardware: M",
        "sum",
    ];
    let mut table = Table::new(
        "carbon",
        format!(
            "Grams of CO₂e per million requests, with {} g per kWh",
            figure(form.intensity)
        ),
        Column::list(headings),
    );
    for side in &result.sides {
        let Some(capacity) = result.value(&THROUGHPUT, &side.id) else {
            continue;
        };
        let servers = cost::servers(form.rate, capacity, form.headroom).ceil();
        // Millijoules per request are kilojoules per million.
        let requests = result
            .value(&ENERGY.at(AT_RATE), &side.id)
            .map(|energy| cost::grams(energy * 1e3, form.intensity));
        let idle = result
            .value(&POWER_IDLE, &side.id)
            .map(|watts| cost::grams(cost::joules_of(servers, watts, form.rate), form.intensity));
        let hardware = form
            .hardware
            .map(|hardware| cost::hardware_grams(servers, hardware, form.rate));
        let sum = requests
            .zip(idle)
            .map(|(requests, idle)| requests + idle + hardware.unwrap_or_default());
        let cells = [requests, idle, hardware, sum].map(Cell::from);
        let cells = std::iter::once(Cell::Count(servers as u64)).chain(cells);
        table.row(&side.label, cells.collect());
    }
    let hardware = match form.hardware {
        Some(hardware) => format!(
            "M: {} kg per server, used for {} years",
            figure(hardware.embodied),
            figure(hardware.years)
        ),
        None => {
            "M, what making the servers took, is left out: embodied = 0 in energy.toml".to_owned()
        }
    };
    table.notes = [
        "SCI = ((E × I) + M) per R, and R is a million requests".to_owned(),
        "E: the energy above idle at the same rate for all, and what the servers of the table before take idle".to_owned(),
        hardware,
    ]
    .into();
    Some(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use workshop_results::file::{Better, Metric, Mode, SCHEMA, Side, SideValue};
    use workshop_results::manifest::Manifest;
    use workshop_suites::forms::energy::{Hardware, WantedFigure};

    fn metric(key: Key, values: [f64; 2]) -> Metric {
        let value = |(side, value): (&str, f64)| SideValue {
            side: side.to_owned(),
            value,
            least: value,
            most: value,
            blocks: 5,
        };
        Metric {
            name: key.to_string(),
            key,
            unit: String::new(),
            how: String::new(),
            better: Better::Less,
            headline: true,
            values: ["kotlin", "rust"]
                .into_iter()
                .zip(values)
                .map(value)
                .collect(),
            comparisons: Vec::new(),
        }
    }

    fn result(metrics: Vec<Metric>) -> ResultFile {
        let side = |id: &str| Side {
            id: id.to_owned(),
            label: id.to_owned(),
            language: workshop_base::target::Language::Rust,
            command: String::new(),
            runtime: String::new(),
            peer: false,
        };
        ResultFile {
            schema: SCHEMA,
            task: "energy".to_owned(),
            exercise: "exercise-23".to_owned(),
            target: "exercise-23".to_owned(),
            mode: Mode::Standard,
            taken_at: String::new(),
            machine: String::new(),
            manifest: Manifest::default(),
            sides: ["kotlin", "rust"].map(side).into(),
            metrics,
            predictions: Vec::new(),
            notes: Vec::new(),
            invalid: Vec::new(),
            blocks: Vec::new(),
            tables: Vec::new(),
            charts: Vec::new(),
        }
    }

    fn form(hardware: Option<Hardware>) -> EnergyForm {
        EnergyForm {
            wanted: WantedFigure::Best,
            intensity: 360.0,
            rate: 30_000.0,
            headroom: 50.0,
            hardware,
        }
    }

    fn by_cpu() -> Vec<Metric> {
        vec![
            metric(THROUGHPUT, [5000.0, 16_000.0]),
            metric(CPU.at(AT_RATE), [90.0, 30.0]),
            metric(CPU.at(SATURATED), [80.0, 20.0]),
        ]
    }

    fn cells(table: &Table) -> BTreeMap<&str, &[Cell]> {
        let rows = table.rows.iter();
        rows.map(|row| (row.heading.as_str(), row.cells.as_slice()))
            .collect()
    }

    fn number(cell: &Cell) -> f64 {
        match cell {
            Cell::Number(number) => *number,
            Cell::Count(count) => *count as f64,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn without_a_source_the_table_says_that_cpu_seconds_are_not_joules_and_there_is_no_co2() {
        let result = result(by_cpu());
        let tables = tables(
            &result,
            &form(None),
            &["no energy source on this machine".to_owned()],
        );
        let ids: Vec<&str> = tables.iter().map(|table| table.id.as_str()).collect();
        assert_eq!(ids, ["per-million", "servers"]);
        let per_million = &tables[0];
        assert!(per_million.title.contains("not joules"));
        assert_eq!(per_million.notes[0], "no energy source on this machine");
        assert_eq!(
            cells(per_million)["Saturated: rust"],
            [Cell::Number(20.0), Cell::Empty, Cell::Empty]
        );
    }

    #[test]
    fn servers_are_computed_from_throughput_and_from_cpu_time() {
        let result = result(by_cpu());
        let table = servers(&result, &form(None));
        let rust = cells(&table)["rust"];
        assert_eq!(number(&rust[0]), 3.75);
        assert_eq!(rust[1], Cell::Count(4));
        assert!((number(&rust[2]) - 3.2).abs() < 1e-9, "{rust:?}");
        let cores = process::cores() as f64;
        assert!((number(&rust[3]) - 30_000.0 * 20e-6 / cores / 0.5).abs() < 1e-9);
        assert!((number(&rust[5]) - 4.0).abs() < 1e-9);
        assert_eq!(number(&cells(&table)["kotlin"][2]), 1.0);
    }

    #[test]
    fn grams_add_up_from_requests_idle_servers_and_hardware() {
        let mut metrics = by_cpu();
        metrics.push(metric(ENERGY.at(AT_RATE), [2.0, 1.0]));
        metrics.push(metric(POWER_IDLE, [5.0, 5.0]));
        let result = result(metrics);
        let left_out = carbon(&result, &form(None)).unwrap();
        let rust = cells(&left_out)["rust"];
        // 1 kJ for a million requests, and four servers of 5 W for the 33 s in which they come.
        assert!((number(&rust[1]) - 0.1).abs() < 1e-9, "{rust:?}");
        assert!((number(&rust[2]) - 20.0 / 30_000.0 * 1e6 / 3.6e6 * 360.0).abs() < 1e-9);
        assert_eq!(rust[3], Cell::Empty);
        assert!((number(&rust[4]) - number(&rust[1]) - number(&rust[2])).abs() < 1e-9);
        assert!(left_out.notes[2].contains("left out"));
        let hardware = Hardware {
            embodied: 1000.0,
            years: 5.0,
        };
        let given = carbon(&result, &form(Some(hardware))).unwrap();
        let with = cells(&given)["rust"];
        assert!(number(&with[3]) > 0.0 && number(&with[4]) > number(&rust[4]));
        assert!(
            tables(&result, &form(None), &[])[0]
                .title
                .contains("kilojoules")
        );
    }
}
