//! The form of exercise 17, `energy.toml`: what to measure with, and what a service of the reader's own has to carry. It is judged
//! line by line, and read when every line is as it should be.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use workshop_base::files;
use workshop_base::outcome::Trouble;

/// The form's name.
pub const FILE: &str = "energy.toml";

/// What to measure with.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// The best that is there.
    Best,
    /// Nothing: CPU seconds will do.
    Nothing,
    /// What the machine has by itself.
    BuiltIn(BuiltIn),
    /// The CSV of a wattmeter, whose clock is so many seconds ahead.
    Wattmeter {
        /// The file or the pipe.
        file: PathBuf,
        /// How far its clock is ahead of this machine's, in seconds.
        offset_s: f64,
    },
}

/// A source that a machine may have by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltIn {
    /// The counters of the processor.
    Rapl,
    /// The sensors of a Raspberry Pi 5.
    Pi,
    /// The battery.
    Battery,
}

/// A form that is filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// What to measure with.
    pub wanted: Wanted,
    /// The carbon intensity of the grid, in grams of CO₂e per kWh.
    pub intensity: f64,
    /// What has to be carried at the busiest time, in requests per second.
    pub rate: f64,
    /// The share of each server that stays free, in percent.
    pub headroom: f64,
    /// What making one server took; none where that is left out.
    pub hardware: Option<Hardware>,
}

/// What making one server took.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hardware {
    /// In kilograms of CO₂e.
    pub embodied: f64,
    /// The years that it is used.
    pub years: f64,
}

/// One line of the form.
#[derive(Debug)]
struct Line {
    table: &'static str,
    key: &'static str,
    /// The test that it is held to, beside [`FILLED_IN`].
    test: &'static str,
    expected: &'static str,
    holds: fn(&Table, &Value) -> bool,
}

/// The test of every line.
pub const FILLED_IN: &str = "every_line_is_filled_in";
/// What is in a line that isn't.
const EMPTY: &str = "?";

static LINES: [Line; 6] = [
    Line {
        table: "source",
        key: "kind",
        test: "the_source_is_one_that_the_tool_can_read",
        expected: "\"best\", \"none\", \"rapl\", \"pi\", \"battery\", or \"wattmeter\" with its file",
        holds: |form, _| wanted(form).is_some(),
    },
    Line {
        table: "grid",
        key: "intensity",
        test: "the_intensity_is_in_grams_per_kilowatt_hour",
        expected: "grams of CO₂e per kWh, from 1 to 1500: 250, not 0.25",
        holds: |_, value| is_in(value, 1.0..=1500.0),
    },
    Line {
        table: "load",
        key: "rate",
        test: "the_load_is_in_requests_per_second",
        expected: "requests per second, 1 or more: at the busiest time, not per day",
        holds: |_, value| is_in(value, 1.0..=1e8),
    },
    Line {
        table: "load",
        key: "headroom",
        test: "the_headroom_is_a_percentage",
        expected: "percent, from 5 to 90: 40, not 0.4",
        holds: |_, value| is_in(value, 5.0..=90.0),
    },
    Line {
        table: "hardware",
        key: "embodied",
        test: "the_hardware_is_in_kilograms_and_years",
        expected: "kilograms of CO₂e per server, from 10 to 20 000; or 0, to leave hardware out",
        holds: |_, value| number(value) == Some(0.0) || is_in(value, 10.0..=20_000.0),
    },
    Line {
        table: "hardware",
        key: "years",
        test: "the_hardware_is_in_kilograms_and_years",
        expected: "the years that a server is used, from 1 to 20",
        holds: |_, value| is_in(value, 1.0..=20.0),
    },
];

/// A line that isn't as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// What should be there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

/// The names of the tests, in the order of the form.
pub fn tests() -> Vec<&'static str> {
    let mut names = vec![FILLED_IN];
    names.extend(LINES.iter().map(|line| line.test));
    names.dedup();
    names
}

/// Holds a form to one of [`tests`]; the first line that doesn't fit.
pub fn judge(form: &Table, test: &str) -> Result<(), Misfit> {
    let lines = LINES.iter();
    let mut lines = lines.filter(|line| test == FILLED_IN || line.test == test);
    lines.try_for_each(|line| line.judge(form, test))
}

impl Line {
    fn judge(&self, form: &Table, test: &str) -> Result<(), Misfit> {
        let Line { table, key, .. } = self;
        let value = form.get(*table).and_then(|table| table.get(key));
        let is_filled = value.is_some_and(|value| value.as_str() != Some(EMPTY));
        if is_filled && (test == FILLED_IN || value.is_some_and(|value| (self.holds)(form, value)))
        {
            return Ok(());
        }
        Err(Misfit {
            expected: format!("[{table}] {key} = {}", self.expected),
            found: match value {
                Some(value) => format!("{key} = {value}"),
                None => format!("no {key} in [{table}]"),
            },
        })
    }
}

impl Form {
    /// Reads a form. An error names the line that isn't filled in, and the check that says more.
    pub fn read(path: &Path, exercise: &str) -> anyhow::Result<Form> {
        let text = files::text(path)?;
        let malformed = |expected: String, found: String| {
            Trouble::new(format!("{} isn't filled in: {found}", path.display()))
                .expected(expected)
                .next(format!("just check {exercise}"))
                .failed()
        };
        let table: Table = text
            .parse()
            .map_err(|error: toml::de::Error| malformed("TOML".to_owned(), error.to_string()))?;
        for test in tests() {
            judge(&table, test).map_err(|misfit| malformed(misfit.expected, misfit.found))?;
        }
        let form = Form::of(&table);
        form.ok_or_else(|| malformed("a form with all of its lines".to_owned(), text).into())
    }

    /// Of a table that all tests accept.
    fn of(form: &Table) -> Option<Form> {
        let value = |table: &str, key: &str| number(form.get(table)?.get(key)?);
        let embodied = value("hardware", "embodied")?;
        let years = value("hardware", "years")?;
        Some(Form {
            wanted: wanted(form)?,
            intensity: value("grid", "intensity")?,
            rate: value("load", "rate")?,
            headroom: value("load", "headroom")?,
            hardware: (embodied > 0.0).then_some(Hardware { embodied, years }),
        })
    }
}

/// What is wanted; none where the form has no word for it, or the wattmeter's file is missing.
fn wanted(form: &Table) -> Option<Wanted> {
    let source = form.get("source")?;
    Some(match source.get("kind")?.as_str()? {
        "best" => Wanted::Best,
        "none" => Wanted::Nothing,
        "rapl" => Wanted::BuiltIn(BuiltIn::Rapl),
        "pi" => Wanted::BuiltIn(BuiltIn::Pi),
        "battery" => Wanted::BuiltIn(BuiltIn::Battery),
        "wattmeter" => Wanted::Wattmeter {
            file: source
                .get("file")?
                .as_str()
                .filter(|file| !file.is_empty())?
                .into(),
            offset_s: source.get("offset").and_then(number).unwrap_or_default(),
        },
        _ => return None,
    })
}

fn is_in(value: &Value, range: RangeInclusive<f64>) -> bool {
    number(value).is_some_and(|number| range.contains(&number))
}

/// A number, whether written `2` or `2.0`.
pub fn number(value: &Value) -> Option<f64> {
    let number = value
        .as_float()
        .or_else(|| value.as_integer().map(|whole| whole as f64));
    number.filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILLED: &str = "[source]\nkind = \"best\"\n[grid]\nintensity = 250\n[load]\nrate = 900.5\nheadroom = 40\n\
                          [hardware]\nembodied = 0\nyears = 4\n";

    fn failing(text: &str) -> Vec<&'static str> {
        let form: Table = text.parse().unwrap();
        tests()
            .into_iter()
            .filter(|test| judge(&form, test).is_err())
            .collect()
    }

    #[test]
    fn a_filled_form_passes_and_is_read() {
        assert_eq!(failing(FILLED), Vec::<&str>::new());
        let form = Form::of(&FILLED.parse().unwrap()).unwrap();
        assert_eq!(form.wanted, Wanted::Best);
        assert_eq!(
            (form.intensity, form.rate, form.headroom),
            (250.0, 900.5, 40.0)
        );
        assert_eq!(form.hardware, None);
        let with_hardware = FILLED.replace("embodied = 0", "embodied = 1200");
        let hardware = Form::of(&with_hardware.parse().unwrap()).unwrap().hardware;
        assert_eq!(hardware.map(|hardware| hardware.embodied), Some(1200.0));
    }

    #[test]
    fn an_empty_form_fails_every_test() {
        let lines = LINES.iter();
        let empty: String = lines
            .map(|line| format!("{}.{} = \"?\"\n", line.table, line.key))
            .collect();
        assert_eq!(failing(&empty), tests());
        assert_eq!(failing(""), tests());
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
        let wanted = Form::of(&form.parse().unwrap()).unwrap().wanted;
        let file = PathBuf::from("watts.csv");
        let offset_s = -3600.0;
        assert_eq!(wanted, Wanted::Wattmeter { file, offset_s });
    }

    #[test]
    fn a_form_that_cannot_be_read_names_the_line_and_the_check() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        for (text, words) in [
            (FILLED.replace("250", "\"?\""), "intensity = \"?\""),
            ("[source\n".to_owned(), "line 1"),
        ] {
            std::fs::write(&path, text).unwrap();
            let error = Form::read(&path, "exercise-17").unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
            assert!(error.contains("next: just check exercise-17"), "{error}");
        }
    }
}
