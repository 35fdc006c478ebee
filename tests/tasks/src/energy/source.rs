//! What a source of energy is: something that is read again and again, and says what it knew at which moment.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// What a source knew at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The moment by this machine's clock, in seconds since 1970.
    pub at_s: f64,
    /// What it knew.
    pub reading: EnergyReading,
}

impl Sample {
    /// What a source knows now.
    pub fn now(reading: EnergyReading) -> Self {
        Sample {
            at_s: now_s(),
            reading,
        }
    }
}

/// What a source tells: a counter that grows, or the power of this moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EnergyReading {
    /// The energy since some moment before the first sample, in joules.
    Energy(f64),
    /// The power, in watts.
    Power(f64),
}

/// A source of energy that is there and can be read.
pub trait EnergySource: std::fmt::Debug {
    /// What it is called: `RAPL`.
    fn name(&self) -> &'static str;

    /// What its joules are those of, and what they leave out.
    fn covers(&self) -> String;

    /// The samples since the last call: of a counter one, of this very moment; of a wattmeter all that it has written
    /// meanwhile. An error says why the source can't be read any more.
    fn read(&mut self) -> anyhow::Result<Vec<Sample>>;

    /// How much later than the moment that it is about a sample may arrive.
    fn lag(&self) -> Duration {
        Duration::ZERO
    }
}

/// Now, in seconds since 1970.
pub fn now_s() -> f64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_secs_f64()
}

/// The text of a small file of the kernel, without the line's end.
pub fn text(path: &Path) -> std::io::Result<String> {
    Ok(std::fs::read_to_string(path)?.trim().to_owned())
}

/// The folders in a folder whose names begin like this, in order; none where there is no such folder.
pub fn entries(folder: &Path, beginning: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let named = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(beginning)
    };
    let mut paths: Vec<_> = paths.filter(named).collect();
    paths.sort();
    paths
}
