//! The warm-up: load until the service is steady, never a fixed guess.
//!
//! Steady means that the median latency and the CPU time per request of the last windows lie within a few percent of those
//! of as many windows before. Neighbouring windows would not do: a JVM under load gets faster for a long time, by less from
//! one window to the next than the windows' own noise. And its compilers must have come to rest: while they have more to do
//! than the cores allow, a JVM can stand still for many seconds at a third of its speed. A floor of requests lies beyond
//! pgjdbc's switch to server-side prepared statements (the fifth use on each connection) and the JVM's first compilations; a
//! ceiling keeps the measurement within its time.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::tools::oha::{Load, Oha, Order, Run};
use workshop_base::process::{self, since};

/// The share of a service's CPU time that a JVM's compilers may take once it is steady. It is a quarter while they have work,
/// and one or two percent afterwards.
const COMPILING: f64 = 0.05;

/// When a warm-up may end, and when it must.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WarmUpLimits {
    /// The length of a window.
    pub window: Duration,
    /// How many windows are held against as many before them.
    pub agreeing: usize,
    /// How far the two means may lie apart, as a share of the larger.
    pub tolerance: f64,
    /// Requests that must have been answered before.
    pub floor: u64,
    /// The longest that it may take.
    pub ceiling: Duration,
}

impl WarmUpLimits {
    /// How many windows are looked at together.
    fn looked_at(&self) -> usize {
        2 * self.agreeing
    }

    /// The least that a warm-up takes.
    pub fn shortest(&self) -> Duration {
        self.window * self.looked_at() as u32
    }

    /// One window and no more, steady or not.
    #[must_use]
    pub fn one_window(self) -> WarmUpLimits {
        WarmUpLimits {
            agreeing: 0,
            ceiling: self.window,
            ..self
        }
    }
}

/// One window of the warm-up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Window {
    /// Seconds from the beginning of the warm-up to the beginning of the window.
    pub began_s: f64,
    /// Answers in the window.
    pub answers: u64,
    /// The median latency.
    pub p50_ms: f64,
    /// CPU time per request in microseconds; none where the system does not tell.
    pub cpu_us: Option<f64>,
    /// The share of that CPU time that a JVM's compilers took; none where the system does not tell.
    pub compiling: Option<f64>,
}

/// How a warm-up ended.
#[derive(Debug, Clone, PartialEq)]
pub struct WarmedUp {
    /// Seconds under load until the service was steady: 0 when it was so from the first window on. None when the ceiling
    /// came first.
    pub steady_after_s: Option<f64>,
    /// Answers in all.
    pub answers: u64,
    /// The throughput of the last window, in requests per second.
    pub last_rate: f64,
}

/// True when the means of the two halves lie within the tolerance.
fn halves_agree(values: &[f64], tolerance: f64) -> bool {
    let (before, after) = values.split_at(values.len() / 2);
    let before = workshop_results::statistics::mean(before.iter().copied());
    let after = workshop_results::statistics::mean(after.iter().copied());
    let larger = before.max(after);
    larger > 0.0 && (before - after).abs() / larger <= tolerance
}

fn windows_agree(windows: &[Window], tolerance: f64) -> bool {
    let medians: Vec<f64> = windows.iter().map(|window| window.p50_ms).collect();
    let cpu: Option<Vec<f64>> = windows.iter().map(|window| window.cpu_us).collect();
    halves_agree(&medians, tolerance)
        && cpu.is_none_or(|cpu| halves_agree(&cpu, tolerance))
        && compilers_rest(&windows[windows.len() / 2..])
}

fn compilers_rest(windows: &[Window]) -> bool {
    let shares: Option<Vec<f64>> = windows.iter().map(|window| window.compiling).collect();
    shares.is_none_or(|shares| workshop_results::statistics::mean(shares) <= COMPILING)
}

/// When the service became steady, if the windows so far show that it is: the beginning of the first of the agreeing
/// stretches that follow one another to the end.
pub fn steady_after(windows: &[Window], limits: &WarmUpLimits) -> Option<f64> {
    let answers: u64 = windows.iter().map(|window| window.answers).sum();
    let stretch = limits.looked_at();
    if stretch == 0 || windows.len() < stretch || answers < limits.floor {
        return None;
    }
    let agree = |first: usize| windows_agree(&windows[first..first + stretch], limits.tolerance);
    let mut first = windows.len() - stretch;
    if !agree(first) {
        return None;
    }
    while first > 0 && agree(first - 1) {
        first -= 1;
    }
    Some(windows[first].began_s)
}

/// Puts a closed loop on the service until it is steady or the ceiling is reached.
pub async fn run(
    oha: &Oha,
    order: &Order,
    pids: &[u32],
    limits: &WarmUpLimits,
) -> anyhow::Result<Result<WarmedUp, String>> {
    let order = Order {
        duration: limits.window,
        load: Load::Closed,
        ..order.clone()
    };
    let window = async || {
        let run = oha.run(&order).await?;
        let gate = run.gate(&order);
        Ok(gate
            .map(|()| run)
            .map_err(|reason| format!("during the warm-up, {reason}")))
    };
    until_steady(pids, limits, window).await
}

/// Has windows of a load run until the processes are steady or the ceiling is reached.
pub async fn until_steady(
    pids: &[u32],
    limits: &WarmUpLimits,
    mut window: impl AsyncFnMut() -> anyhow::Result<Result<Run, String>>,
) -> anyhow::Result<Result<WarmedUp, String>> {
    let began = Instant::now();
    let mut began_s = 0.0;
    let mut windows: Vec<Window> = Vec::new();
    loop {
        let (cpu_before, compilers_before) = (process::cpu(pids), compilers_cpu(pids));
        let run = match window().await? {
            Ok(run) => run,
            Err(reason) => return Ok(Err(reason)),
        };
        let cpu = since(cpu_before, process::cpu(pids));
        let compilers = since(compilers_before, compilers_cpu(pids));
        windows.push(Window {
            began_s,
            answers: run.answers,
            p50_ms: run.p50_ms.unwrap_or_default(),
            cpu_us: run.per_request_us(cpu),
            compiling: compilers
                .zip(cpu.filter(|cpu| !cpu.is_zero()))
                .map(|(compilers, cpu)| compilers.div_duration_f64(cpu)),
        });
        let steady_after_s = steady_after(&windows, limits);
        let took = began.elapsed();
        if steady_after_s.is_some()
            || took + limits.window > limits.ceiling && windows.len() >= limits.looked_at()
        {
            return Ok(Ok(WarmedUp {
                steady_after_s,
                answers: windows.iter().map(|window| window.answers).sum(),
                last_rate: run.rate,
            }));
        }
        began_s = took.as_secs_f64();
    }
}

/// CPU time that the compilers of JVMs took among these; zero where none is one.
fn compilers_cpu(pids: &[u32]) -> Option<Duration> {
    pids.iter().map(|pid| compilers_of(*pid)).sum()
}

/// CPU time of the compilers of a JVM, which HotSpot runs in threads of their own; zero for every other process.
fn compilers_of(pid: u32) -> Option<Duration> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let nanoseconds: u64 = threads
        .filter_map(|thread| {
            let thread = thread.ok()?.path();
            let name = fs::read_to_string(thread.join("comm")).ok()?;
            is_compiler(&name).then(|| run_time_ns(&thread))?
        })
        .sum();
    Some(Duration::from_nanos(nanoseconds))
}

/// The kernel cuts the name of a thread at 15 characters.
fn is_compiler(name: &str) -> bool {
    name.starts_with("C1 CompilerThre") || name.starts_with("C2 CompilerThre")
}

/// What a thread has run, in nanoseconds.
fn run_time_ns(thread: &Path) -> Option<u64> {
    let schedstat = fs::read_to_string(thread.join("schedstat")).ok()?;
    schedstat.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: WarmUpLimits = WarmUpLimits {
        window: Duration::from_secs(1),
        agreeing: 2,
        tolerance: 0.05,
        floor: 10_000,
        ceiling: Duration::from_secs(15),
    };

    fn windows(medians_and_cpu: &[(f64, f64)]) -> Vec<Window> {
        medians_and_cpu
            .iter()
            .enumerate()
            .map(|(place, (p50_ms, cpu_us))| Window {
                began_s: place as f64,
                answers: 5_000,
                p50_ms: *p50_ms,
                cpu_us: Some(*cpu_us),
                compiling: Some(0.01),
            })
            .collect()
    }

    #[test]
    fn a_service_that_is_steady_from_the_start_took_no_time() {
        let steady = windows(&[(2.0, 50.0), (2.02, 50.5), (1.99, 49.8), (2.01, 50.1)]);
        assert_eq!(steady_after(&steady, &LIMITS), Some(0.0));
    }

    #[test]
    fn noise_between_windows_is_no_trend() {
        let noisy = windows(&[(2.0, 50.0), (2.3, 55.0), (2.0, 54.0), (2.2, 50.0)]);
        assert_eq!(steady_after(&noisy, &LIMITS), Some(0.0));
    }

    #[test]
    fn a_service_that_gets_faster_is_steady_from_the_first_of_the_agreeing_windows() {
        let windows = windows(&[
            (9.0, 900.0),
            (6.0, 500.0),
            (4.0, 300.0),
            (3.9, 298.0),
            (3.95, 301.0),
            (3.92, 299.0),
        ]);
        assert_eq!(steady_after(&windows[..5], &LIMITS), None);
        assert_eq!(steady_after(&windows, &LIMITS), Some(2.0));
    }

    #[test]
    fn getting_faster_by_less_than_the_tolerance_a_window_is_not_steady() {
        let slowly = windows(&[(4.0, 300.0), (3.88, 291.0), (3.76, 282.0), (3.65, 274.0)]);
        assert_eq!(steady_after(&slowly, &LIMITS), None);
    }

    #[test]
    fn a_median_that_stands_still_while_cpu_falls_is_not_steady() {
        let falling = windows(&[(4.0, 300.0), (4.0, 280.0), (4.0, 260.0), (4.0, 240.0)]);
        assert_eq!(steady_after(&falling, &LIMITS), None);
    }

    #[test]
    fn a_jvm_that_stands_still_while_its_compilers_work_is_not_steady() {
        let mut compiling = windows(&[(9.0, 900.0); 6]);
        for window in &mut compiling[..4] {
            window.compiling = Some(0.25);
        }
        assert_eq!(steady_after(&compiling[..5], &LIMITS), None);
        assert_eq!(steady_after(&compiling, &LIMITS), Some(2.0));
    }

    #[test]
    fn the_floor_of_requests_comes_first() {
        let mut few = windows(&[(2.0, 50.0); 4]);
        few.iter_mut().for_each(|window| window.answers = 100);
        assert_eq!(steady_after(&few, &LIMITS), None);
    }

    #[test]
    fn without_cpu_times_the_median_alone_decides() {
        let mut blind = windows(&[(2.0, 50.0); 4]);
        blind.iter_mut().for_each(|window| window.cpu_us = None);
        assert_eq!(steady_after(&blind, &LIMITS), Some(0.0));
    }
}
