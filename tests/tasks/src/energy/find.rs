//! Which source this machine has: the one that the form names, or the best that is there.

use std::path::{Path, PathBuf};

use crate::energy::battery::Battery;
use crate::energy::form::{BuiltIn, Wanted};
use crate::energy::pi::{self, Pi};
use crate::energy::rapl::Rapl;
use crate::energy::source::Source;
use crate::energy::wattmeter::Wattmeter;
use workshop_base::outcome::Trouble;
use workshop_base::probe;

/// The variable with another folder than `/sys/class`, for tests and demonstrations.
const ROOT: &str = "WORKSHOP_ENERGY_ROOT";
/// What is said where nothing measures energy.
pub const NO_SOURCE: &str = "no energy source on this machine";

/// Where sources are looked for.
#[derive(Debug)]
pub struct Places {
    /// The folder of the kernel's classes.
    pub class: PathBuf,
    /// The program that asks a Pi's sensors.
    pub vcgencmd: Option<PathBuf>,
}

impl Places {
    /// Those of this machine.
    pub fn here() -> Self {
        Places {
            class: std::env::var_os(ROOT).map_or_else(|| "/sys/class".into(), PathBuf::from),
            vcgencmd: probe::on_path(pi::PROGRAM),
        }
    }
}

/// What was found.
#[derive(Debug)]
pub struct Found {
    /// The source, where there is one.
    pub source: Option<Box<dyn Source>>,
    /// What has to be said about it: what it covers, or why there is none.
    pub said: Vec<String>,
}

type Opened = Result<Option<Box<dyn Source>>, Trouble>;

impl BuiltIn {
    fn open(self, places: &Places) -> Opened {
        Ok(match (self, &places.vcgencmd) {
            (BuiltIn::Rapl, _) => boxed(Rapl::open(&places.class.join("powercap"))?),
            (BuiltIn::Pi, None) => None,
            (BuiltIn::Pi, Some(vcgencmd)) => boxed(Pi::open(vcgencmd)?),
            (BuiltIn::Battery, _) => boxed(Battery::open(&places.class.join("power_supply"))?),
        })
    }

    /// What it takes.
    fn needs(self) -> &'static str {
        match self {
            BuiltIn::Rapl => {
                "RAPL: an Intel or AMD processor under Linux, not in a virtual machine"
            }
            BuiltIn::Pi => "the sensors of a Raspberry Pi 5, and vcgencmd on the PATH",
            BuiltIn::Battery => "a battery that tells its power",
        }
    }
}

fn boxed(source: Option<impl Source + 'static>) -> Option<Box<dyn Source>> {
    source.map(|source| Box::new(source) as Box<dyn Source>)
}

/// Looks for what is wanted. A source that is wanted by name and isn't there is an error. `folder` is where a relative path of a
/// wattmeter's file begins.
pub fn find(wanted: &Wanted, places: &Places, folder: &Path) -> anyhow::Result<Found> {
    let source = match wanted {
        Wanted::Best => return Ok(best(places)),
        Wanted::Nothing => {
            let said = vec!["no energy was measured: energy.toml asks for no source".to_owned()];
            return Ok(Found { source: None, said });
        }
        Wanted::Wattmeter { file, offset_s } => {
            boxed(Some(Wattmeter::open(&folder.join(file), *offset_s)?))
        }
        Wanted::BuiltIn(wanted) => Some(named(*wanted, places)?),
    };
    let said = source
        .iter()
        .map(|source| covers(source.as_ref()))
        .collect();
    Ok(Found { source, said })
}

fn named(wanted: BuiltIn, places: &Places) -> Result<Box<dyn Source>, Trouble> {
    wanted.open(places)?.ok_or_else(|| {
        Trouble::new("energy.toml names a source that this machine doesn't have")
            .expected(wanted.needs())
            .next(
                "kind = \"best\" in energy.toml takes what is there, kind = \"none\" goes without",
            )
    })
}

/// The best that is there, in this order; what is there and can't be read is said.
fn best(places: &Places) -> Found {
    let mut said = Vec::new();
    for one in [BuiltIn::Rapl, BuiltIn::Pi, BuiltIn::Battery] {
        match one.open(places) {
            Ok(Some(source)) => {
                said.insert(0, covers(source.as_ref()));
                let source = Some(source);
                return Found { source, said };
            }
            Ok(None) => {}
            Err(trouble) => said.push(trouble.to_string().replace("\n ", ";")),
        }
    }
    said.insert(0, NO_SOURCE.to_owned());
    Found { source: None, said }
}

fn covers(source: &dyn Source) -> String {
    format!("energy by {}: {}", source.name(), source.covers())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, path: &str, text: &str) {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn places(folder: &Path) -> Places {
        Places {
            class: folder.to_owned(),
            vcgencmd: None,
        }
    }

    fn with_battery(status: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("type", "Battery"),
            ("status", status),
            ("power_now", "5000000"),
        ] {
            write(folder.path(), &format!("power_supply/BAT0/{file}"), text);
        }
        folder
    }

    fn add_rapl(folder: &Path) {
        for (file, text) in [
            ("name", "package-0"),
            ("energy_uj", "7"),
            ("max_energy_range_uj", "99"),
        ] {
            write(folder, &format!("powercap/intel-rapl:0/{file}"), text);
        }
    }

    fn found(wanted: &Wanted, folder: &Path) -> anyhow::Result<(Option<&'static str>, String)> {
        let found = find(wanted, &places(folder), folder)?;
        let name = found.source.map(|source| source.name());
        Ok((name, found.said.join("\n")))
    }

    #[test]
    fn the_best_source_that_is_there_is_taken() {
        let folder = with_battery("Discharging");
        let best = |folder: &Path| found(&Wanted::Best, folder).unwrap().0;
        assert_eq!(best(folder.path()), Some("the battery"));
        add_rapl(folder.path());
        assert_eq!(best(folder.path()), Some("RAPL"));
        let (name, _) = found(&Wanted::BuiltIn(BuiltIn::Battery), folder.path()).unwrap();
        assert_eq!(name, Some("the battery"));
    }

    #[test]
    fn a_machine_without_a_source_says_so_and_what_could_not_be_read() {
        let nothing = tempfile::tempdir().unwrap();
        let (name, said) = found(&Wanted::Best, nothing.path()).unwrap();
        assert_eq!((name, said.as_str()), (None, NO_SOURCE));
        let (name, said) = found(&Wanted::Best, with_battery("Charging").path()).unwrap();
        assert_eq!(name, None);
        assert!(
            said.starts_with(NO_SOURCE) && said.contains("pull the plug"),
            "{said}"
        );
        assert_eq!(found(&Wanted::Nothing, nothing.path()).unwrap().0, None);
    }

    #[test]
    fn a_source_that_is_wanted_and_is_not_there_is_an_error_with_the_ways_out() {
        let nothing = tempfile::tempdir().unwrap();
        for wanted in [BuiltIn::Rapl, BuiltIn::Pi, BuiltIn::Battery] {
            let error = found(&Wanted::BuiltIn(wanted), nothing.path())
                .unwrap_err()
                .to_string();
            assert!(error.contains("kind = \"best\""), "{error}");
        }
        let file = "watts.csv".into();
        let offset_s = 0.0;
        let error = found(&Wanted::Wattmeter { file, offset_s }, nothing.path()).unwrap_err();
        assert!(error.to_string().contains("start the wattmeter"), "{error}");
    }
}
