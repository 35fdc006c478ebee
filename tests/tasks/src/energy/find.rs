//! Which source this machine has: the one that the form names, or the best that is there.

use std::path::{Path, PathBuf};

use crate::energy::rapl::Rapl;
use crate::energy::source::EnergySource;
use crate::energy::wattmeter::Wattmeter;
use workshop_base::outcome::Trouble;
use workshop_suites::forms::energy::WantedFigure;

/// The variable with another folder than `/sys/class`, for tests and demonstrations.
const ROOT: &str = "WORKSHOP_ENERGY_ROOT";
/// What is said where nothing measures energy.
pub const NO_SOURCE: &str = "no energy source on this machine";

/// The folder of the kernel's classes on this machine.
pub fn classes() -> PathBuf {
    std::env::var_os(ROOT).map_or_else(|| "/sys/class".into(), PathBuf::from)
}

/// What was found.
#[derive(Debug)]
pub struct FoundSources {
    /// The source, where there is one.
    pub source: Option<Box<dyn EnergySource>>,
    /// What has to be said about it: what it covers, or why there is none.
    pub said: Vec<String>,
}

fn boxed(source: impl EnergySource + 'static) -> Option<Box<dyn EnergySource>> {
    Some(Box::new(source))
}

/// Looks for what is wanted, below the folder of the kernel's classes. A source that is wanted by name and isn't there is an error.
/// `folder` is where a relative path of a wattmeter's file begins.
pub fn find(wanted: &WantedFigure, classes: &Path, folder: &Path) -> anyhow::Result<FoundSources> {
    let counters = classes.join("powercap");
    let source = match wanted {
        WantedFigure::Best => return Ok(best(&counters)),
        WantedFigure::Nothing => {
            let said = vec!["no energy was measured: energy.toml asks for no source".to_owned()];
            return Ok(FoundSources { source: None, said });
        }
        WantedFigure::Wattmeter { file, offset_s } => {
            boxed(Wattmeter::open(&folder.join(file), *offset_s)?)
        }
        WantedFigure::Rapl => match Rapl::open(&counters)? {
            Some(rapl) => boxed(rapl),
            None => {
                return Trouble::new("energy.toml names a source that this machine doesn't have")
                    .expected("RAPL: an Intel or AMD processor under Linux, not in a virtual machine")
                    .next("kind = \"best\" in energy.toml takes what is there, kind = \"none\" goes without")
                    .err();
            }
        },
    };
    let said = source
        .iter()
        .map(|source| covers(source.as_ref()))
        .collect();
    Ok(FoundSources { source, said })
}

/// The counters, if there are any; what is there and can't be read is said.
fn best(counters: &Path) -> FoundSources {
    match Rapl::open(counters) {
        Ok(Some(rapl)) => FoundSources {
            said: vec![covers(&rapl)],
            source: boxed(rapl),
        },
        Ok(None) => FoundSources {
            source: None,
            said: vec![NO_SOURCE.to_owned()],
        },
        Err(trouble) => FoundSources {
            source: None,
            said: vec![
                NO_SOURCE.to_owned(),
                trouble.to_string().replace("\n ", ";"),
            ],
        },
    }
}

fn covers(source: &dyn EnergySource) -> String {
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

    fn add_rapl(folder: &Path) {
        for (file, text) in [
            ("name", "package-0"),
            ("energy_uj", "7"),
            ("max_energy_range_uj", "99"),
        ] {
            write(folder, &format!("powercap/intel-rapl:0/{file}"), text);
        }
    }

    fn found(
        wanted: &WantedFigure,
        folder: &Path,
    ) -> anyhow::Result<(Option<&'static str>, String)> {
        let found = find(wanted, folder, folder)?;
        let name = found.source.map(|source| source.name());
        Ok((name, found.said.join("\n")))
    }

    #[test]
    fn the_counters_are_taken_where_there_are_any() {
        let folder = tempfile::tempdir().unwrap();
        add_rapl(folder.path());
        for wanted in [WantedFigure::Best, WantedFigure::Rapl] {
            assert_eq!(found(&wanted, folder.path()).unwrap().0, Some("RAPL"));
        }
    }

    #[test]
    fn a_machine_without_a_source_says_so() {
        let nothing = tempfile::tempdir().unwrap();
        let (name, said) = found(&WantedFigure::Best, nothing.path()).unwrap();
        assert_eq!((name, said.as_str()), (None, NO_SOURCE));
        assert_eq!(
            found(&WantedFigure::Nothing, nothing.path()).unwrap().0,
            None
        );
    }

    #[test]
    fn counters_that_cannot_be_read_are_said() {
        let folder = tempfile::tempdir().unwrap();
        add_rapl(folder.path());
        let counter = folder.path().join("powercap/intel-rapl:0/energy_uj");
        std::fs::write(counter, "not a number").unwrap();
        let (name, said) = found(&WantedFigure::Best, folder.path()).unwrap();
        assert_eq!(name, None);
        assert!(
            said.starts_with(NO_SOURCE) && said.lines().count() > 1,
            "{said}"
        );
    }

    #[test]
    fn a_source_that_is_wanted_and_is_not_there_is_an_error_with_the_ways_out() {
        let nothing = tempfile::tempdir().unwrap();
        let error = found(&WantedFigure::Rapl, nothing.path()).unwrap_err();
        assert!(error.to_string().contains("kind = \"best\""), "{error}");
        let file = "watts.csv".into();
        let offset_s = 0.0;
        let error = found(&WantedFigure::Wattmeter { file, offset_s }, nothing.path()).unwrap_err();
        assert!(error.to_string().contains("start the wattmeter"), "{error}");
    }
}
