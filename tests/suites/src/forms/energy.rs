//! The form of exercise 23, `energy.toml`: what to measure with, and what a service of the reader's own has to carry. It is judged
//! line by line, and read when every line is as it should be.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Table, Value};

use crate::forms::{Form, FormLine, is_in, number};
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_harness::failure::Failure;

/// What to measure with.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum WantedFigure {
    /// The best that is there.
    Best,
    /// Nothing: CPU seconds will do.
    #[serde(rename = "none")]
    Nothing,
    /// The CSV of a wattmeter, whose clock is so many seconds ahead.
    Wattmeter {
        /// The file or the pipe.
        file: PathBuf,
        /// How far its clock is ahead of this machine's, in seconds.
        #[serde(default, rename = "offset")]
        offset_s: f64,
    },
    /// The counters of the processor.
    Rapl,
}

/// A form that is filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct EnergyForm {
    /// What to measure with.
    pub wanted: WantedFigure,
    /// The carbon intensity of the grid, in grams of CO₂e per kWh.
    pub intensity: f64,
    /// The load at the busiest time, in requests per second.
    pub rate: f64,
    /// The share of each server that stays free, in percent.
    pub headroom: f64,
    /// The emissions from making one server; `None` if they are left out.
    pub hardware: Option<Hardware>,
}

/// The emissions from making one server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hardware {
    /// In kilograms of CO₂e.
    pub embodied: f64,
    /// The years that it is used.
    pub years: f64,
}

/// The form, with its tests.
pub static FORM: Form = Form {
    file: "energy.toml",
    filled_in: "every_line_is_filled_in",
    is_filled: |value| value.as_str() != Some("?"),
    lines: &[
        FormLine {
            tables: &["source"],
            key: "kind",
            test: "the_source_is_one_that_the_tool_can_read",
            expected: "\"best\", \"none\", \"rapl\", or \"wattmeter\" with its file and a number as offset",
            holds: |source, _| wanted(source).is_some(),
        },
        FormLine {
            tables: &["grid"],
            key: "intensity",
            test: "the_intensity_is_in_grams_per_kilowatt_hour",
            expected: "grams of CO₂e per kWh, from 1 to 1500: 250, not 0.25",
            holds: |_, value| is_in(value, 1.0..=1500.0),
        },
        FormLine {
            tables: &["load"],
            key: "rate",
            test: "the_load_is_in_requests_per_second",
            expected: "requests per second, 1 or more: at the busiest time, not per day",
            holds: |_, value| is_in(value, 1.0..=1e8),
        },
        FormLine {
            tables: &["load"],
            key: "headroom",
            test: "the_headroom_is_a_percentage",
            expected: "percent, from 5 to 90: 40, not 0.4",
            holds: |_, value| is_in(value, 5.0..=90.0),
        },
        FormLine {
            tables: &["hardware"],
            key: "embodied",
            test: "the_hardware_is_in_kilograms_and_years",
            expected: "kilograms of CO₂e per server, from 10 to 20 000; or 0, to leave hardware out",
            holds: |_, value| is_in(value, 0.0..=0.0) || is_in(value, 10.0..=20_000.0),
        },
        FormLine {
            tables: &["hardware"],
            key: "years",
            test: "the_hardware_is_in_kilograms_and_years",
            expected: "the years that a server is used, from 1 to 20",
            holds: |_, value| is_in(value, 1.0..=20.0),
        },
    ],
};

impl EnergyForm {
    /// Reads a form. An error names the line that isn't filled in, and the check that says more.
    pub fn read(path: &Path, exercise: &str) -> anyhow::Result<EnergyForm> {
        let text = files::text(path)?;
        let malformed = |Failure {
                             expected, actual, ..
                         }: Failure| {
            Trouble::new(format!("{} isn't filled in: {actual}", path.display()))
                .expected(expected)
                .next(format!("just check {exercise}"))
                .failed()
        };
        for (_, judged) in FORM.judged(&text) {
            judged.map_err(malformed)?;
        }
        let form = text.parse().ok().and_then(|table| EnergyForm::of(&table));
        form.ok_or_else(|| malformed(Failure::new("a form with all of its lines", text)).into())
    }

    /// Of a table that all tests accept.
    fn of(form: &Table) -> Option<EnergyForm> {
        let value = |table: &str, key: &str| number(form.get(table)?.get(key)?);
        let embodied = value("hardware", "embodied")?;
        let years = value("hardware", "years")?;
        Some(EnergyForm {
            wanted: wanted(form.get("source")?)?,
            intensity: value("grid", "intensity")?,
            rate: value("load", "rate")?,
            headroom: value("load", "headroom")?,
            hardware: (embodied > 0.0).then_some(Hardware { embodied, years }),
        })
    }
}

/// The wanted source; `None` if the table `[source]` has no word for it, or the wattmeter's file is missing.
fn wanted(source: &Value) -> Option<WantedFigure> {
    match source.clone().try_into().ok()? {
        WantedFigure::Wattmeter { file, .. } if file.as_os_str().is_empty() => None,
        wanted => Some(wanted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILLED: &str = "[source]\nkind = \"best\"\n[grid]\nintensity = 250\n[load]\nrate = 900.5\nheadroom = 40\n\
                          [hardware]\nembodied = 0\nyears = 4\n";

    fn failing(text: &str) -> Vec<&'static str> {
        let judged = FORM.judged(text).into_iter();
        judged
            .filter(|(_, judged)| judged.is_err())
            .map(|(test, _)| test)
            .collect()
    }

    #[test]
    fn a_filled_form_passes_and_is_read() {
        assert_eq!(failing(FILLED), Vec::<&str>::new());
        let form = EnergyForm::of(&FILLED.parse().unwrap()).unwrap();
        assert_eq!(form.wanted, WantedFigure::Best);
        assert_eq!(
            (form.intensity, form.rate, form.headroom),
            (250.0, 900.5, 40.0)
        );
        assert_eq!(form.hardware, None);
        let with_hardware = FILLED.replace("embodied = 0", "embodied = 1200");
        let hardware = EnergyForm::of(&with_hardware.parse().unwrap())
            .unwrap()
            .hardware;
        assert_eq!(hardware.map(|hardware| hardware.embodied), Some(1200.0));
    }

    #[test]
    fn an_empty_form_fails_every_test() {
        let lines = FORM.lines.iter();
        let empty: String = lines
            .map(|line| format!("{}.{} = \"?\"\n", line.tables[0], line.key))
            .collect();
        assert_eq!(failing(&empty), FORM.tests());
        assert_eq!(failing(""), FORM.tests());
    }

    #[test]
    fn each_slip_fails_its_own_test() {
        let slips = [
            (
                "\"best\"",
                "\"plug\"",
                "the_source_is_one_that_the_tool_can_read",
            ),
            (
                "\"best\"",
                "\"wattmeter\"",
                "the_source_is_one_that_the_tool_can_read",
            ),
            (
                "\"best\"",
                "\"wattmeter\"\nfile = \"\"",
                "the_source_is_one_that_the_tool_can_read",
            ),
            (
                "\"best\"",
                "\"wattmeter\"\nfile = \"watts.csv\"\noffset = \"an hour\"",
                "the_source_is_one_that_the_tool_can_read",
            ),
            ("250", "0.25", "the_intensity_is_in_grams_per_kilowatt_hour"),
            (
                "250",
                "\"250 g\"",
                "the_intensity_is_in_grams_per_kilowatt_hour",
            ),
            ("900.5", "0", "the_load_is_in_requests_per_second"),
            ("= 40", "= 0.4", "the_headroom_is_a_percentage"),
            ("= 40", "= 100", "the_headroom_is_a_percentage"),
            (
                "embodied = 0",
                "embodied = 1.2",
                "the_hardware_is_in_kilograms_and_years",
            ),
            (
                "years = 4",
                "years = 2029",
                "the_hardware_is_in_kilograms_and_years",
            ),
        ];
        for (line, slip, test) in slips {
            assert_eq!(failing(&FILLED.replace(line, slip)), [test], "{slip}");
        }
    }

    #[test]
    fn a_wattmeter_has_a_file_and_may_have_a_clock_of_its_own() {
        let source = "kind = \"wattmeter\"\nfile = \"watts.csv\"\noffset = -3600";
        let form = FILLED.replace("kind = \"best\"", source);
        assert_eq!(failing(&form), Vec::<&str>::new());
        let wanted = EnergyForm::of(&form.parse().unwrap()).unwrap().wanted;
        let file = PathBuf::from("watts.csv");
        let offset_s = -3600.0;
        assert_eq!(wanted, WantedFigure::Wattmeter { file, offset_s });
    }

    #[test]
    fn a_form_that_cannot_be_read_names_the_line_and_the_check() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FORM.file);
        for (text, words) in [
            (FILLED.replace("250", "\"?\""), "intensity = \"?\""),
            ("[source\n".to_owned(), "line 1"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = EnergyForm::read(&path, "exercise-23")
                .unwrap_err()
                .to_string();
            assert!(error.contains(words), "{error}");
            assert!(error.contains("next: just check exercise-23"), "{error}");
        }
    }
}
