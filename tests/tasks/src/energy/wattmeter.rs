//! A wattmeter between the plug and the machine, by the CSV that it writes: a file that grows, a pipe, or a serial line.
//!
//! Its first line names the columns, with a comma, a semicolon or a tab between them; `time` and `watts` are read, in whatever order, the
//! others are not. A time is in seconds since 1970 or, with a date, as RFC 3339 has it. Watts may have their unit, and a decimal comma. A
//! line whose watts are empty or a word (`overload`) is a gap; a figure that can't be read, or may be read in two ways, is an error. The
//! meter's clock is its own: how far it is ahead of this machine's is the reader's to say.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::fcntl::OFlag;

use crate::energy::source::{EnergyReading, EnergySource, Sample, now_s};
use workshop_base::outcome::Trouble;

/// What some programs on Windows write before the first line.
const BYTE_ORDER_MARK: char = '\u{feff}';
/// The columns that are read.
const COLUMNS: [&str; 2] = ["time", "watts"];
/// What a field of watts may be.
const WATTS: &str = "watts from 0 on, like 4.2, 4,2 or 4.2 W, and not like 4,250, which may be 4.25 or 4250; an empty field or a word where \
                     there are none";
/// How long a meter has for its first line, and how late any line may come.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks for the first line.
const LOOK: Duration = Duration::from_millis(100);
/// How far the newest line may be from now: a meter writes every few seconds.
const NOW: f64 = 30.0;

/// A wattmeter that writes.
#[derive(Debug)]
pub struct Wattmeter {
    path: PathBuf,
    file: File,
    offset_s: f64,
    /// The bytes of a line that has no end yet.
    rest: Vec<u8>,
    header: Option<Header>,
    lines: usize,
    last_s: f64,
}

/// Where the columns are, and what is between them.
#[derive(Debug, Clone, Copy)]
struct Header {
    between: u8,
    places: [usize; 2],
}

impl Wattmeter {
    /// Opens what the meter writes. Its clock is `offset_s` seconds ahead of this machine's. An error where there is no such file, it
    /// is no such CSV, or its newest line isn't of now.
    pub fn open(path: &Path, offset_s: f64) -> anyhow::Result<Self> {
        let mut meter = Wattmeter::of(path, offset_s)?;
        let mut newest = None;
        let began = Instant::now();
        while newest.is_none() && began.elapsed() < PATIENCE {
            newest = meter.read()?.last().copied();
            std::thread::sleep(LOOK);
        }
        meter.is_of_now(newest, now_s())?;
        Ok(meter)
    }

    fn of(path: &Path, offset_s: f64) -> anyhow::Result<Self> {
        let mut options = OpenOptions::new();
        // A pipe that nobody writes to would not let go.
        let options = options.read(true).custom_flags(OFlag::O_NONBLOCK.bits());
        let file = options.open(path).map_err(|error| {
            Trouble::new(format!("{} can't be read: {error}", path.display()))
                .expected("the CSV of a wattmeter, which is being written")
                .next("start the wattmeter, or write another file in energy.toml")
        })?;
        Ok(Wattmeter {
            path: path.to_owned(),
            file,
            offset_s,
            rest: Vec::new(),
            header: None,
            lines: 0,
            last_s: f64::NEG_INFINITY,
        })
    }

    /// Whether clocks that differ, or a file of another day, would put all lines out of every window.
    fn is_of_now(&self, newest: Option<Sample>, now_s: f64) -> Result<(), Trouble> {
        let path = self.path.display();
        let Some(newest) = newest else {
            return Err(Trouble::new(format!("{path} has no line of watts"))
                .expected(format!(
                    "a line every few seconds below {}",
                    COLUMNS.join(",")
                ))
                .next("start the wattmeter, then the same command again"));
        };
        let ahead = newest.at_s - now_s;
        if ahead.abs() <= NOW {
            return Ok(());
        }
        let way = if ahead > 0.0 { "ahead of" } else { "behind" };
        Err(Trouble::new(format!(
            "the newest line of {path} is {:.0} s {way} this machine's clock",
            ahead.abs()
        ))
        .expected("a meter that writes now, by the same clock")
        .next(format!(
            "offset = {:.0} in energy.toml, if its clock is wrong by that; if it has stopped, start it again",
            self.offset_s + ahead
        )))
    }

    /// The sample of a line; none for the header and for a gap.
    fn sample(&mut self, line: &str) -> anyhow::Result<Option<Sample>> {
        self.lines += 1;
        let line = line.trim_start_matches(BYTE_ORDER_MARK);
        if line.trim().is_empty() || line.starts_with('#') {
            return Ok(None);
        }
        let Some(header) = self.header else {
            self.header = Some(self.header_of(line)?);
            return Ok(None);
        };
        let fields = fields(line, header.between)?;
        let [time, watts] = header
            .places
            .map(|place| fields.get(place).unwrap_or_default());
        let at_s = seconds(time).with_context(|| {
            let (path, number) = (self.path.display(), self.lines);
            format!("{path}, line {number}: {time:?} is neither seconds since 1970 nor a time like 2026-01-31T08:15:00Z")
        })? - self.offset_s;
        let watts = power(watts).map_err(|expected| {
            let (path, number) = (self.path.display(), self.lines);
            Trouble::new(format!(
                "{path}, line {number}: {watts:?} is not a number of watts"
            ))
            .expected(expected)
            .next("correct the line, or write it without watts if the meter had none")
        })?;
        // A clock that was set back would count the same seconds twice.
        let Some(watts) = watts.filter(|_| at_s > self.last_s) else {
            return Ok(None);
        };
        self.last_s = at_s;
        Ok(Some(Sample {
            at_s,
            reading: EnergyReading::Power(watts),
        }))
    }

    fn header_of(&self, line: &str) -> anyhow::Result<Header> {
        let between = match line {
            line if line.contains(';') => b';',
            line if line.contains('\t') => b'\t',
            _ => b',',
        };
        let fields = fields(line, between)?;
        let names: Vec<String> = fields.iter().map(str::to_lowercase).collect();
        let places = COLUMNS.map(|column| names.iter().position(|name| name == column));
        match places {
            [Some(time), Some(watts)] => Ok(Header {
                between,
                places: [time, watts],
            }),
            _ => Trouble::new(format!("{} begins with {line:?}", self.path.display()))
                .expected(format!(
                    "a first line that names the columns {}",
                    COLUMNS.join(" and ")
                ))
                .next("rename the columns, or write such a line at the beginning")
                .err(),
        }
    }
}

impl EnergySource for Wattmeter {
    fn name(&self) -> &'static str {
        "the wattmeter"
    }

    fn covers(&self) -> String {
        "all that it measures: at the plug, the whole machine with its power supply".to_owned()
    }

    fn read(&mut self) -> anyhow::Result<Vec<Sample>> {
        loop {
            let mut piece = [0; 16 * 1024];
            match self.file.read(&mut piece) {
                Ok(0) => break,
                Ok(length) => self.rest.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let path = self.path.display();
                    return Err(error).with_context(|| format!("{path} can't be read any more"));
                }
            }
        }
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(Vec::new());
        };
        let whole: Vec<u8> = self.rest.drain(..=end).collect();
        let mut samples = Vec::new();
        for line in String::from_utf8_lossy(&whole).lines() {
            samples.extend(self.sample(line)?);
        }
        Ok(samples)
    }

    fn lag(&self) -> Duration {
        PATIENCE
    }
}

/// The fields of a line, without the quotes and the blanks around them.
fn fields(line: &str, between: u8) -> anyhow::Result<csv::StringRecord> {
    let mut lines = csv::ReaderBuilder::new()
        .delimiter(between)
        .has_headers(false)
        .trim(csv::Trim::All)
        .from_reader(line.as_bytes());
    Ok(lines.records().next().transpose()?.unwrap_or_default())
}

/// Watts: `4.2`, `4,2`, `4.2 W`; none for an empty field and for words. A figure that is neither is an error, which says what is expected.
fn power(text: &str) -> Result<Option<f64>, &'static str> {
    if !text.contains(|character: char| character.is_ascii_digit()) {
        return Ok(None);
    }
    let number = text.trim_end_matches(['W', 'w']).trim_end();
    let number = match number.split_once(',') {
        // Some meters have a comma for thousands: this is four watts and a quarter, or four thousand.
        Some((whole, rest)) if rest.len() == 3 && whole != "0" => return Err(WATTS),
        Some((whole, rest)) if !rest.contains([',', '.']) && !whole.contains('.') => {
            format!("{whole}.{rest}")
        }
        _ => number.to_owned(),
    };
    match number.parse::<f64>() {
        // A program that has no reading may write -1.
        Ok(watts) if watts.is_finite() && watts >= 0.0 => Ok(Some(watts)),
        _ => Err(WATTS),
    }
}

/// A time in seconds since 1970; some meters count milliseconds.
fn seconds(text: &str) -> Option<f64> {
    /// The year 5138 in seconds, 1973 in milliseconds.
    const MILLISECONDS: f64 = 1e11;
    // Between semicolons, seconds may have a comma as well.
    match text.replacen(',', ".", 1).parse::<f64>() {
        Ok(number) if !number.is_finite() => None,
        Ok(number) if number > MILLISECONDS => Some(number / 1e3),
        Ok(number) => Some(number),
        Err(_) => {
            let time: jiff::Timestamp = text.parse().ok()?;
            Some(time.as_microsecond() as f64 / 1e6)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::interval::{EnergyWindow, energy};
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    const RECORDED: &str = include_str!("fixtures/wattmeter.csv");

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("watts.csv");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    fn append(path: &Path, text: &str) {
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    /// What the script beside the form prints for this source, one line of it.
    fn script(source: &str, variable: &str, value: &str) -> String {
        let script = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../exercises/23-a-watt-of-requests/watts.sh"
        );
        let mut sh = Command::new("sh");
        let said = sh.args([script, source, "1"]).env(variable, value).output();
        let said = said.unwrap();
        assert!(said.status.success(), "{said:?}");
        String::from_utf8(said.stdout).unwrap()
    }

    fn power(csv: &str) -> EnergyReading {
        let (_folder, path) = file(csv);
        Wattmeter::of(&path, 0.0).unwrap().read().unwrap()[0].reading
    }

    #[test]
    fn a_script_writes_what_the_sensors_of_a_pi_say() {
        let folder = tempfile::tempdir().unwrap();
        let vcgencmd = folder.path().join("vcgencmd");
        let printed = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/energy/fixtures/pmic_read_adc.txt"
        );
        std::fs::write(&vcgencmd, format!("#!/bin/sh\ncat '{printed}'\n")).unwrap();
        std::fs::set_permissions(&vcgencmd, PermissionsExt::from_mode(0o755)).unwrap();
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{path}", folder.path().display());
        assert_eq!(
            power(&script("pi", "PATH", &path)),
            EnergyReading::Power(1.50257)
        );
    }

    #[test]
    fn a_script_writes_what_the_batteries_give_and_not_what_they_get() {
        let folder = tempfile::tempdir().unwrap();
        for (name, says) in [
            ("BAT0", "STATUS=Discharging POWER_NOW=5000000"),
            (
                "BAT1",
                "STATUS=Discharging CURRENT_NOW=-500000 VOLTAGE_NOW=12000000",
            ),
            ("BAT2", "STATUS=Charging POWER_NOW=9000000"),
        ] {
            let place = folder.path().join(name);
            std::fs::create_dir(&place).unwrap();
            let says = format!("NAME={name} {says}");
            let lines = says.split(' ').map(|says| format!("POWER_SUPPLY_{says}\n"));
            std::fs::write(place.join("uevent"), lines.collect::<String>()).unwrap();
        }
        let supplies = folder.path().to_str().unwrap();
        let csv = script("battery", "SUPPLIES", supplies);
        assert_eq!(power(&csv), EnergyReading::Power(11.0));
    }

    fn times(samples: &[Sample]) -> Vec<f64> {
        samples.iter().map(|sample| sample.at_s).collect()
    }

    #[test]
    fn lines_are_read_by_this_machines_clock_and_what_is_no_number_is_a_gap() {
        let (_folder, path) = file(RECORDED);
        let mut meter = Wattmeter::of(&path, 120.0).unwrap();
        let samples = meter.read().unwrap();
        let first = 1_732_365_600.0;
        assert_eq!(
            times(&samples),
            [0.0, 1.0, 2.0, 5.0, 6.0].map(|second| first + second)
        );
        assert_eq!(samples[3].reading, EnergyReading::Power(4.5));
        let window = EnergyWindow {
            from_s: first,
            to_s: first + 2.0,
        };
        let of_two_seconds = energy(&samples, window).unwrap();
        assert!((of_two_seconds.joules - 8.2).abs() < 1e-6);
        let window = EnergyWindow {
            from_s: first + 120.0,
            to_s: first + 122.0,
        };
        assert!(
            energy(&samples, window).is_err(),
            "that's the meter's own clock"
        );
    }

    #[test]
    fn figures_are_read_as_people_and_their_programs_write_them() {
        let watts = |csv: &str| {
            let (_folder, path) = file(csv);
            let samples = Wattmeter::of(&path, 0.0).unwrap().read().unwrap();
            let readings = samples.into_iter().map(|sample| sample.reading);
            readings.collect::<Vec<_>>()
        };
        for csv in [
            "time,watts\n1000,4.25\n",
            "\u{feff}time,watts\r\n1000,4.25\r\n",
            "\u{feff}# of Monday\ntime,watts\n1000,4.25\n",
            "time;watts\n1000,0;4,25\n",
            "\"Time\",\"Watts\"\n\"1000\",\"4,25\"\n",
            "time\twatts\n1000\t4.25 W\n",
            "time, watts\n1000, 4.25W\n",
        ] {
            assert_eq!(watts(csv), [EnergyReading::Power(4.25)], "{csv:?}");
        }
        for gap in ["", "-", "overload", "\"\"", "unavailable"] {
            assert_eq!(watts(&format!("time,watts\n1000,{gap}\n")), [], "{gap}");
        }
        assert_eq!(
            watts("time;watts\n1000;0,250\n"),
            [EnergyReading::Power(0.25)]
        );
        for wrong in ["1,234.5", "1.234,5", "1,234", "4..2", "4.2 kW", "0x4", "-1"] {
            let (_folder, path) = file(&format!("time;watts\n\n1000;{wrong}\n"));
            let error = Wattmeter::of(&path, 0.0).unwrap().read().unwrap_err();
            assert!(error.to_string().contains("line 3"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_file_that_grows_is_read_on_where_it_ended_and_half_a_line_waits() {
        let (_folder, path) = file("watts;time\n3,5;1000\n4;1001\n5;10");
        let mut meter = Wattmeter::of(&path, 0.0).unwrap();
        assert_eq!(times(&meter.read().unwrap()), [1000.0, 1001.0]);
        assert!(meter.read().unwrap().is_empty());
        append(&path, "02\n6;1003\n");
        assert_eq!(times(&meter.read().unwrap()), [1002.0, 1003.0]);
    }

    #[test]
    fn a_pipe_is_read_as_well_and_nobody_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let mut meter = Wattmeter::of(&path, 0.0).unwrap();
        assert!(meter.read().unwrap().is_empty());
        let mut writer = OpenOptions::new().write(true).open(&path).unwrap();
        writer.write_all(b"time,watts\n1000,4\n").unwrap();
        assert_eq!(times(&meter.read().unwrap()), [1000.0]);
        assert!(meter.read().unwrap().is_empty());
    }

    #[test]
    fn times_are_seconds_milliseconds_or_dates_with_a_zone() {
        assert_eq!(seconds("1732365720.5"), Some(1_732_365_720.5));
        assert_eq!(seconds("1732365720500"), Some(1_732_365_720.5));
        assert_eq!(seconds("2024-11-23T12:42:00.5Z"), Some(1_732_365_720.5));
        assert_eq!(seconds("2024-11-23T13:42:00+01:00"), Some(1_732_365_720.0));
        assert_eq!(seconds("2024-11-23 13:42:00"), None);
        assert_eq!(seconds("nan"), None);
    }

    #[test]
    fn another_csv_and_a_time_of_another_form_are_told() {
        let (_folder, path) = file("Uhrzeit,Leistung\n");
        let error = Wattmeter::of(&path, 0.0).unwrap().read().unwrap_err();
        assert!(
            error.to_string().contains("columns time and watts"),
            "{error}"
        );
        let (_folder, path) = file("time,watts\nhalf past eight,4\n");
        let error = Wattmeter::of(&path, 0.0).unwrap().read().unwrap_err();
        assert!(
            error.to_string().contains("line 2: \"half past eight\""),
            "{error}"
        );
        let error = Wattmeter::open(Path::new("no/such.csv"), 0.0).unwrap_err();
        assert!(error.to_string().contains("start the wattmeter"), "{error}");
    }

    #[test]
    fn clocks_that_differ_are_told_with_the_offset_that_would_fit() {
        let (_folder, path) = file("time,watts\n1000,4\n");
        let mut meter = Wattmeter::of(&path, -5.0).unwrap();
        let newest = meter.read().unwrap().last().copied();
        assert!(meter.is_of_now(newest, 1010.0).is_ok());
        let error = meter.is_of_now(newest, 885.0).unwrap_err().to_string();
        assert!(
            error.contains("120 s ahead of this machine's clock"),
            "{error}"
        );
        assert!(error.contains("offset = 115 in energy.toml"), "{error}");
        let error = meter.is_of_now(newest, 4605.0).unwrap_err().to_string();
        assert!(
            error.contains("3600 s behind") && error.contains("offset = -3605"),
            "{error}"
        );
        assert!(meter.is_of_now(None, 1000.0).is_err());
    }
}
