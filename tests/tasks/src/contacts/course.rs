//! The course of a load: what a service and the database take of the CPU while it runs, and for a while after it has ended.

use std::time::{Duration, Instant};

use workshop_base::process;
use workshop_measure::tools::database;

/// Between two looks.
const LOOK: Duration = Duration::from_millis(250);
/// The length of a window, in seconds.
const WINDOW: f64 = 0.5;
/// How many windows there are before the end of the load, and how many after it.
const BEFORE: i32 = 4;
const AFTER: i32 = 4;
/// How long there is more to see after the load.
pub const AFTERWARDS: Duration = Duration::from_secs(2);

/// One look.
#[derive(Debug, Clone, Copy)]
struct CpuSample {
    /// Seconds since the beginning.
    at_s: f64,
    /// The CPU time so far.
    service: Option<Duration>,
    database: Option<Duration>,
}

/// What was seen.
#[derive(Debug, Clone, Default)]
pub struct CpuCourse {
    looks: Vec<CpuSample>,
    /// When the load ended.
    end_s: f64,
}

/// Looks at these processes and at the database's while a load runs, and for so long afterwards.
pub async fn watched<T>(
    pids: &[u32],
    database: Option<u32>,
    load: impl Future<Output = T>,
    afterwards: Duration,
) -> (T, CpuCourse) {
    let began = Instant::now();
    let look = || CpuSample {
        at_s: began.elapsed().as_secs_f64(),
        service: process::cpu(pids),
        database: database::cpu(database),
    };
    let mut course = CpuCourse {
        looks: vec![look()],
        end_s: 0.0,
    };
    tokio::pin!(load);
    let done = loop {
        tokio::select! {
            done = &mut load => break done,
            () = tokio::time::sleep(LOOK) => course.looks.push(look()),
        }
    };
    let end = look();
    course.end_s = end.at_s;
    course.looks.push(end);
    while began.elapsed().as_secs_f64() < course.end_s + afterwards.as_secs_f64() {
        tokio::time::sleep(LOOK).await;
        course.looks.push(look());
    }
    (done, course)
}

impl CpuCourse {
    /// The database's CPU time during the load.
    pub fn by_database(&self) -> Option<Duration> {
        let end = self.looks.iter().find(|look| look.at_s >= self.end_s)?;
        let begin = self.looks.first()?;
        Some(end.database?.saturating_sub(begin.database?))
    }

    /// The service's CPU in windows around the end of the load, in percent of one core.
    pub fn windows(&self) -> Vec<Option<f64>> {
        let windows = (-BEFORE..AFTER).map(|window| {
            let from = self.end_s + f64::from(window) * WINDOW;
            let spent = self.by_service(from + WINDOW)? - self.by_service(from)?;
            Some((spent / WINDOW * 100.0).max(0.0))
        });
        windows.collect()
    }

    /// The service's CPU seconds up to a moment, between two looks as if it had been even.
    fn by_service(&self, at_s: f64) -> Option<f64> {
        let pair = self
            .looks
            .windows(2)
            .find(|pair| pair[0].at_s <= at_s && at_s <= pair[1].at_s)?;
        let [before, after] = [pair[0].service?, pair[1].service?].map(|cpu| cpu.as_secs_f64());
        let length = (pair[1].at_s - pair[0].at_s).max(f64::MIN_POSITIVE);
        Some(before + (after - before) * (at_s - pair[0].at_s) / length)
    }
}

/// What each window is called: by its end, in seconds from the end of the load.
pub fn labels() -> Vec<String> {
    let ends = (-BEFORE..AFTER).map(|window| f64::from(window + 1) * WINDOW);
    ends.map(|end| end.to_string().replace('-', "−")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(end_s: f64, service_s: impl Fn(f64) -> f64) -> CpuCourse {
        let looks = (0..=24).map(|look| f64::from(look) * 0.25);
        let looks = looks.map(|at_s| CpuSample {
            at_s,
            service: Some(Duration::from_secs_f64(service_s(at_s))),
            database: Some(Duration::from_secs_f64(at_s / 2.0)),
        });
        CpuCourse {
            looks: looks.collect(),
            end_s,
        }
    }

    #[test]
    fn cpu_is_that_of_one_core_until_the_load_ends_and_none_after_it() {
        let course = course(3.0, |at_s| at_s.min(3.0));
        let windows: Vec<f64> = course.windows().into_iter().flatten().collect();
        assert_eq!(windows.len(), labels().len());
        for (place, percent) in windows.into_iter().enumerate() {
            let expected = if place < 4 { 100.0 } else { 0.0 };
            assert!((percent - expected).abs() < 1e-6, "{place}: {percent}");
        }
        assert_eq!(course.by_database(), Some(Duration::from_millis(1500)));
    }

    #[test]
    fn what_was_not_looked_at_is_not_known() {
        let windows = course(1.0, |at_s| at_s).windows();
        assert_eq!(windows[0], None);
        assert!(windows[2].is_some());
    }

    #[test]
    fn a_window_is_called_by_its_end() {
        assert_eq!(
            labels(),
            ["−1.5", "−1", "−0.5", "0", "0.5", "1", "1.5", "2"]
        );
    }
}
