//! The battery of a laptop: what it gives while it isn't charged, by `/sys/class/power_supply`.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::energy::source::{Reading, Sample, Source, entries, text};
use workshop_base::outcome::Trouble;

/// The batteries of this machine.
#[derive(Debug)]
pub struct Battery {
    places: Vec<PathBuf>,
}

impl Battery {
    /// Looks below this folder, `/sys/class/power_supply`. None where there is no battery that tells its power; an error where none
    /// gives any, since the machine hangs on its charger.
    pub fn open(folder: &Path) -> Result<Option<Self>, Trouble> {
        let is_ours = |place: &PathBuf| {
            // A mouse has a battery, too.
            let is_of_machine = says(place, "type", "Battery") && !says(place, "scope", "Device");
            is_of_machine && watts(place).is_some()
        };
        let places: Vec<PathBuf> = entries(folder, "").into_iter().filter(is_ours).collect();
        if places.is_empty() {
            return Ok(None);
        }
        let battery = Battery { places };
        match battery.discharging() {
            0 => Err(Trouble::new("the battery gives no power: the charger does")
                .expected("a battery whose status is Discharging")
                .next("pull the plug of the charger, then the same command again")),
            _ => Ok(Some(battery)),
        }
    }

    /// How many of the batteries give power.
    fn discharging(&self) -> usize {
        let places = self.places.iter();
        places
            .filter(|place| says(place, "status", "Discharging"))
            .count()
    }
}

impl Source for Battery {
    fn name(&self) -> &'static str {
        "the battery"
    }

    fn covers(&self) -> String {
        "the whole machine, its screen included; the battery tells its power every few seconds only"
            .to_owned()
    }

    fn read(&mut self) -> anyhow::Result<Vec<Sample>> {
        anyhow::ensure!(
            self.discharging() > 0,
            "the battery gives no power any more: somebody has plugged the charger in"
        );
        let watts = self.places.iter().map(|place| {
            watts(place).with_context(|| format!("{} tells no power any more", place.display()))
        });
        let watts = watts.sum::<anyhow::Result<f64>>()?;
        Ok(vec![Sample::now(Reading::Power(watts))])
    }
}

/// Whether this file of a battery has this word in it.
fn says(place: &Path, file: &str, word: &str) -> bool {
    text(&place.join(file)).is_ok_and(|said| said == word)
}

/// The power of one battery; some tell it, others tell current and voltage. Drivers disagree about the sign.
fn watts(place: &Path) -> Option<f64> {
    let micro = |file: &str| text(&place.join(file)).ok()?.parse::<f64>().ok();
    let watts = match micro("power_now") {
        Some(microwatts) => microwatts / 1e6,
        None => micro("current_now")? / 1e6 * micro("voltage_now")? / 1e6,
    };
    Some(watts.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn supply(folder: &Path, name: &str, files: &[(&str, &str)]) {
        let place = folder.join(name);
        std::fs::create_dir_all(&place).unwrap();
        for (file, text) in files {
            std::fs::write(place.join(file), format!("{text}\n")).unwrap();
        }
    }

    fn power(battery: &mut Battery) -> Reading {
        battery.read().unwrap()[0].reading
    }

    #[test]
    fn power_is_told_or_it_is_current_times_voltage() {
        let folder = tempfile::tempdir().unwrap();
        let battery = [("type", "Battery"), ("status", "Discharging")];
        supply(folder.path(), "BAT0", &battery);
        supply(folder.path(), "BAT0", &[("power_now", "7250000")]);
        let mut one = Battery::open(folder.path()).unwrap().unwrap();
        assert_eq!(power(&mut one), Reading::Power(7.25));
        supply(folder.path(), "BAT1", &battery);
        let other = [("current_now", "-500000"), ("voltage_now", "12000000")];
        supply(folder.path(), "BAT1", &other);
        let mut both = Battery::open(folder.path()).unwrap().unwrap();
        assert_eq!(power(&mut both), Reading::Power(13.25));
    }

    #[test]
    fn a_charger_and_a_mouse_are_no_battery_of_this_machine() {
        let folder = tempfile::tempdir().unwrap();
        supply(folder.path(), "AC", &[("type", "Mains"), ("online", "1")]);
        let mouse = [("type", "Battery"), ("scope", "Device"), ("power_now", "1")];
        supply(folder.path(), "hidpp_battery_0", &mouse);
        assert!(Battery::open(folder.path()).unwrap().is_none());
    }

    #[test]
    fn a_charger_that_is_plugged_in_is_an_error_at_first_and_later() {
        let folder = tempfile::tempdir().unwrap();
        let battery = [
            ("type", "Battery"),
            ("status", "Discharging"),
            ("power_now", "1"),
        ];
        supply(folder.path(), "BAT0", &battery);
        let mut open = Battery::open(folder.path()).unwrap().unwrap();
        supply(folder.path(), "BAT0", &[("status", "Charging")]);
        let error = open.read().unwrap_err().to_string();
        assert!(error.contains("plugged the charger in"), "{error}");
        let error = Battery::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("pull the plug"), "{error}");
    }
}
