//! RAPL: the energy counters of Intel's and AMD's processors, which Linux shows below `/sys/class/powercap`.
//!
//! A counter begins again at zero after its range, which takes from some minutes to some hours. Since Linux 5.10 only root may
//! read it: what a program computes can be told from what it takes (CVE-2020-8694).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::energy::source::{EnergyReading, EnergySource, Sample, entries, text};
use workshop_base::outcome::Trouble;

/// How the folders of the domains begin. Those of `intel-rapl-mmio` are the same counters once more.
const DOMAINS: &str = "intel-rapl:";

/// The counters of this machine's processors and, where it has them, of its memory.
#[derive(Debug)]
pub struct Rapl {
    domains: Vec<Domain>,
}

/// One counter.
#[derive(Debug)]
struct Domain {
    name: String,
    counter: PathBuf,
    range_uj: u64,
    last_uj: u64,
    total_uj: u64,
}

impl Rapl {
    /// Looks below this folder, `/sys/class/powercap`. None where the machine has no such counters; an error where they are there
    /// and can't be read.
    pub fn open(folder: &Path) -> Result<Option<Self>, Trouble> {
        let mut domains = Vec::new();
        for place in entries(folder, DOMAINS) {
            let Ok(name) = text(&place.join("name")) else {
                continue;
            };
            // The cores are part of their package, and psys has the packages in it.
            if name.starts_with("package") || name == "dram" {
                domains.push(Domain::open(name, &place)?);
            }
        }
        let is_there = domains.iter().any(|domain| domain.name != "dram");
        Ok(is_there.then_some(Rapl { domains }))
    }
}

impl Domain {
    fn open(name: String, place: &Path) -> Result<Self, Trouble> {
        let counter = place.join("energy_uj");
        let range = place.join("max_energy_range_uj");
        let read = |path: &Path| number(path).map_err(|error| refused(place, path, &error));
        Ok(Domain {
            range_uj: read(&range)?,
            last_uj: read(&counter)?,
            total_uj: 0,
            counter,
            name,
        })
    }
}

/// Counters that are there and can't be read.
fn refused(place: &Path, file: &Path, error: &std::io::Error) -> Trouble {
    let shown = file.display();
    let trouble = Trouble::new(format!("RAPL is there, but {shown} can't be read: {error}"));
    if error.kind() != ErrorKind::PermissionDenied {
        return trouble;
    }
    let all = place.with_file_name("intel-rapl:*");
    trouble
        .expected("a counter that you may read; Linux lets only root read it")
        .next(format!(
            "sudo chmod a+r {}/energy_uj, which holds until the next start of the machine",
            all.display()
        ))
}

impl EnergySource for Rapl {
    fn name(&self) -> &'static str {
        "RAPL"
    }

    fn covers(&self) -> String {
        let names = self.domains.iter().map(|domain| domain.name.as_str());
        let (memory, packages): (Vec<_>, Vec<_>) = names.partition(|name| *name == "dram");
        let memory = match memory.len() {
            0 => "without the memory, for which there is no counter here,",
            _ => "and the memory (dram),",
        };
        format!(
            "the processor ({}) {memory} and nothing else of the machine: no disk, no fan, no screen, no power supply",
            packages.join(", ")
        )
    }

    fn read(&mut self) -> anyhow::Result<Vec<Sample>> {
        let mut total_uj = 0;
        for domain in &mut self.domains {
            let now_uj = number(&domain.counter)
                .with_context(|| format!("{} can't be read any more", domain.counter.display()))?;
            domain.total_uj += counted(domain.last_uj, now_uj, domain.range_uj);
            domain.last_uj = now_uj;
            total_uj += domain.total_uj;
        }
        Ok(vec![Sample::now(EnergyReading::Energy(
            total_uj as f64 / 1e6,
        ))])
    }
}

fn number(path: &Path) -> std::io::Result<u64> {
    let text = text(path)?;
    text.parse()
        .map_err(|_| std::io::Error::new(ErrorKind::InvalidData, format!("{text:?} is no number")))
}

/// What a counter has counted between two readings, if it has begun again at most once.
fn counted(last: u64, now: u64, range: u64) -> u64 {
    match now.checked_sub(last) {
        Some(more) => more,
        None => range.saturating_sub(last) + now,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder as Linux has it: of each domain the folder's end, the name and the counter.
    fn folder(domains: &[(&str, &str, u64)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("intel-rapl")).unwrap();
        for (end, name, counter) in domains {
            let place = folder.path().join(format!("intel-rapl{end}"));
            std::fs::create_dir(&place).unwrap();
            std::fs::write(place.join("name"), format!("{name}\n")).unwrap();
            std::fs::write(place.join("max_energy_range_uj"), "262143328850\n").unwrap();
            std::fs::write(place.join("energy_uj"), format!("{counter}\n")).unwrap();
        }
        folder
    }

    /// Sets a counter, reads all, and tells the joules so far.
    fn joules(rapl: &mut Rapl, folder: &Path, end: &str, counter: u64) -> f64 {
        let file = folder.join(format!("intel-rapl{end}/energy_uj"));
        std::fs::write(file, format!("{counter}\n")).unwrap();
        match rapl.read().unwrap()[0].reading {
            EnergyReading::Energy(joules) => joules,
            EnergyReading::Power(_) => panic!("a counter tells energy"),
        }
    }

    /// The domains of a laptop, as it had them: psys and the cores are counted elsewhere already.
    const LAPTOP: [(&str, &str, u64); 6] = [
        (":0", "package-0", 1_000_000),
        (":0:0", "core", 500_000),
        (":0:1", "uncore", 10_000),
        (":0:2", "dram", 200_000),
        (":1", "psys", 9_000_000),
        ("-mmio:0", "package-0", 1_000_000),
    ];

    #[test]
    fn packages_and_memory_are_counted_and_what_is_part_of_them_is_not() {
        let folder = folder(&LAPTOP);
        let mut rapl = Rapl::open(folder.path()).unwrap().unwrap();
        assert_eq!(joules(&mut rapl, folder.path(), ":0", 3_000_000), 2.0);
        assert_eq!(joules(&mut rapl, folder.path(), ":0:2", 700_000), 2.5);
        for end in [":0:0", ":1", "-mmio:0"] {
            assert_eq!(joules(&mut rapl, folder.path(), end, 99_000_000), 2.5);
        }
        assert!(rapl.covers().contains("(package-0) and the memory (dram)"));
    }

    #[test]
    fn a_counter_that_begins_again_has_counted_on() {
        let folder = folder(&[(":0", "package-0", 262_143_000_000)]);
        let mut rapl = Rapl::open(folder.path()).unwrap().unwrap();
        let across = joules(&mut rapl, folder.path(), ":0", 671_150);
        assert!((across - 1.0).abs() < 1e-9, "{across}");
        assert_eq!(counted(5, 5, 10), 0);
    }

    #[test]
    fn a_missing_domain_is_said() {
        let folder = folder(&[(":0", "package-0", 1), (":1", "package-1", 1)]);
        let rapl = Rapl::open(folder.path()).unwrap().unwrap();
        let covers = rapl.covers();
        assert!(
            covers.contains("(package-0, package-1) without the memory"),
            "{covers}"
        );
    }

    #[test]
    fn a_machine_without_counters_has_no_rapl() {
        assert!(Rapl::open(Path::new("no/such/folder")).unwrap().is_none());
        assert!(Rapl::open(folder(&[]).path()).unwrap().is_none());
        let no_package = folder(&[(":0", "psys", 1)]);
        assert!(Rapl::open(no_package.path()).unwrap().is_none());
    }

    #[test]
    fn without_the_permission_the_command_that_gives_it_is_told() {
        let place = Path::new("powercap/intel-rapl:0");
        let denied = std::io::Error::from(ErrorKind::PermissionDenied);
        let error = refused(place, &place.join("energy_uj"), &denied).to_string();
        assert!(error.contains("only root"), "{error}");
        assert!(
            error.contains("sudo chmod a+r powercap/intel-rapl:*/energy_uj"),
            "{error}"
        );
    }

    #[test]
    fn a_counter_that_holds_no_number_is_there_and_of_no_use() {
        let folder = folder(&LAPTOP);
        std::fs::write(folder.path().join("intel-rapl:0/energy_uj"), "\n").unwrap();
        let error = Rapl::open(folder.path()).unwrap_err().to_string();
        assert!(
            error.contains("can't be read: \"\" is no number"),
            "{error}"
        );
    }

    #[test]
    fn a_counter_that_goes_away_is_an_error_that_names_it() {
        let folder = folder(&LAPTOP);
        let mut rapl = Rapl::open(folder.path()).unwrap().unwrap();
        rapl.read().unwrap();
        std::fs::remove_dir_all(folder.path().join("intel-rapl:0")).unwrap();
        let error = format!("{:#}", rapl.read().unwrap_err());
        assert!(
            error.contains("energy_uj can't be read any more"),
            "{error}"
        );
    }
}
