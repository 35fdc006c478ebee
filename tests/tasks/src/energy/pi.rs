//! The sensors of a Raspberry Pi 5: its power chip tells the current and the voltage of a dozen lines, by `vcgencmd pmic_read_adc`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::energy::source::{Reading, Sample, Source};
use workshop_base::outcome::Trouble;
use workshop_base::probe::{self, Answer};

/// The program, which Raspberry Pi OS brings.
pub const PROGRAM: &str = "vcgencmd";

/// The sensors of this board.
#[derive(Debug)]
pub struct Pi {
    program: PathBuf,
}

impl Pi {
    /// Asks this program. None where the board has no such sensors, as a Pi 4 and the boards before it; an error where the program
    /// may not ask them.
    pub fn open(program: &Path) -> Result<Option<Self>, Trouble> {
        let pi = Pi {
            program: program.to_owned(),
        };
        match pi.ask() {
            Answer::Said(text) if watts(&text).is_some() => Ok(Some(pi)),
            Answer::Refused(said) if said.contains("/dev/vc") => Err(Trouble::new(format!(
                "the sensors of this board can't be asked: {}",
                said.lines().next().unwrap_or_default()
            ))
            .expected("a user who may, which is one of the group video")
            .next("sudo usermod -aG video $USER, then log in again")),
            _ => Ok(None),
        }
    }

    fn ask(&self) -> Answer {
        probe::ask_and_wait(&self.program, &["pmic_read_adc"], probe::QUICK)
    }
}

impl Source for Pi {
    fn name(&self) -> &'static str {
        "the Pi's sensors"
    }

    fn covers(&self) -> String {
        "what the board's power chip hands on to processor, memory, network and the rest of the board, without its own loss, and \
         without what hangs on the USB ports, on the pins and on the 5 volts of the fan"
            .to_owned()
    }

    fn read(&mut self) -> anyhow::Result<Vec<Sample>> {
        let answer = self.ask();
        let watts = match &answer {
            Answer::Said(text) => watts(text),
            _ => None,
        };
        let watts = watts.with_context(|| {
            format!("{PROGRAM} pmic_read_adc tells no power any more: {answer:?}")
        })?;
        Ok(vec![Sample::now(Reading::Power(watts))])
    }
}

/// The power of all lines whose current and voltage are known; the supply's own voltage has no current beside it.
fn watts(text: &str) -> Option<f64> {
    let value = |line: &str, ending: char| {
        let (name, _) = line.trim().split_once([' ', '='])?;
        let name = name.strip_suffix(ending)?.strip_suffix('_')?;
        let (_, value) = line.rsplit_once('=')?;
        let value: f64 = value.trim().strip_suffix(ending)?.parse().ok()?;
        Some((name.to_owned(), value))
    };
    let amperes: BTreeMap<String, f64> = text.lines().filter_map(|line| value(line, 'A')).collect();
    let volts = text.lines().filter_map(|line| value(line, 'V'));
    let lines = volts.filter_map(|(name, volts)| Some(volts * amperes.get(&name)?));
    lines.reduce(|sum, line| sum + line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const PRINTED: &str = include_str!("fixtures/pmic_read_adc.txt");

    /// A program that prints this, and fails from the call after so many on.
    fn program(folder: &Path, printed: &str, calls: usize) -> PathBuf {
        let path = folder.join(PROGRAM);
        std::fs::write(folder.join("printed"), printed).unwrap();
        let script = format!(
            "#!/bin/sh\ncd '{}'\necho >> calls\n[ \"$(wc -l < calls)\" -le {calls} ] || exit 1\ncat printed\n",
            folder.display()
        );
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn the_power_is_the_sum_over_the_lines_that_have_both() {
        let by_hand = 3.709_434 * 0.003_903_72
            + 3.315_503 * 0.048_796_5
            + 1.802_197 * 0.156_148_8
            + 1.106_229 * 0.010_735_23
            + 1.105_859 * 0.173_715_5
            + 0.802_564 * 0.312_297_6
            + 0.720_964 * 0.713_64
            + 3.313_187 * 0.000_061_05
            + 3.312_576 * 0.000_061_05
            + 0.796_336 * 0.003_296_7
            + 5.135_24 * 0.014_163_6;
        let watts = watts(PRINTED).unwrap();
        assert!((watts - by_hand).abs() < 1e-9, "{watts} {by_hand}");
    }

    #[test]
    fn a_board_without_such_sensors_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let unknown = "error=1 error_msg=\"Command not registered\"";
        let program = program(folder.path(), unknown, 9);
        assert!(Pi::open(&program).unwrap().is_none());
        assert!(Pi::open(&folder.path().join("nothing")).unwrap().is_none());
    }

    #[test]
    fn a_sensor_that_goes_away_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let program = program(folder.path(), PRINTED, 2);
        let mut pi = Pi::open(&program).unwrap().unwrap();
        assert!(pi.read().is_ok());
        let error = pi.read().unwrap_err().to_string();
        assert!(error.contains("tells no power any more"), "{error}");
    }
}
