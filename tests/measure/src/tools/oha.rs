//! oha, the load generator of the closed and the open loop: how it is called, and what its answer is worth.
//!
//! oha counts every status as a success and exits 0 when nothing answers, so a run counts only after [`Run::gate`].

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Deserialize;

use crate::tools;
use crate::tools::recording::{self, RecordedRequest};
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;
use workshop_base::{process, program};

/// How long a run may take beyond its duration: requests under way are waited for.
const GRACE: Duration = Duration::from_secs(30);
/// The share of the offered rate that must be reached.
pub const REACHED: f64 = 0.99;
/// The share of all cores above which the generator is taken for the bottleneck.
pub const GENERATOR_LIMIT: f64 = 0.7;

/// How requests are offered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// Each connection sends its next request when the answer to the last is there: saturation.
    Closed,
    /// So many requests per second, whether answers come or not; latency counts from when a request was due.
    Open(f64),
    /// As [`Load::Open`], but every single request is noted; for [`Oha::record`].
    Recorded(f64),
    /// As [`Load::Closed`], but it ends after so many requests; the order's duration is the longest that they may take.
    Counted(u64),
}

impl Load {
    /// True where each connection waits for its answer, so that the service is saturated.
    pub fn is_closed(self) -> bool {
        matches!(self, Load::Closed | Load::Counted(_))
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Load::Closed => f.write_str("closed loop"),
            Load::Open(rate) | Load::Recorded(rate) => {
                write!(f, "open loop, {rate:.0} requests/s")
            }
            Load::Counted(requests) => write!(f, "closed loop, {requests} requests"),
        }
    }
}

/// A load on one URL.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The URL; a regular expression for random ids.
    pub url: String,
    /// The header by which requests are let in.
    pub header: String,
    /// What each request is.
    pub call: Call,
    /// Connections.
    pub connections: u32,
    /// How long.
    pub duration: Duration,
    /// How requests are offered.
    pub load: Load,
}

/// What a request is besides its URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The method.
    pub method: &'static str,
    /// Headers besides the one that lets it in.
    pub headers: Vec<String>,
    /// The file with its body.
    pub body: Option<PathBuf>,
    /// The status of the right answer.
    pub status: u16,
}

impl Default for Call {
    /// A `GET` that is answered with 200, as nearly all loads have it.
    fn default() -> Self {
        Call {
            method: "GET",
            headers: Vec::new(),
            body: None,
            status: 200,
        }
    }
}

impl Call {
    /// The arguments that say what isn't usual.
    fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        let mut add = |option: &str, value: String| arguments.extend([option.to_owned(), value]);
        if self.method != Call::default().method {
            add("-m", self.method.to_owned());
        }
        for header in &self.headers {
            add("-H", header.clone());
        }
        if let Some(body) = &self.body {
            add("-D", body.display().to_string());
        }
        arguments
    }
}

impl Order {
    /// The arguments after `oha`.
    pub fn arguments(&self) -> Vec<String> {
        // An exact number of recorded ones, so that an answer that is missing is noticed: CSV does not list errors.
        let form = self.recorded().map_or("json", |_| "csv");
        let milliseconds = self.duration.as_millis();
        let how_long = match (self.load, self.recorded()) {
            (Load::Counted(requests), _) | (_, Some(requests)) => format!("-n {requests}"),
            _ => format!("--wait-ongoing-requests-after-deadline -z {milliseconds}ms"),
        };
        let rate = match self.load {
            Load::Closed | Load::Counted(_) => String::new(),
            Load::Open(rate) | Load::Recorded(rate) => format!("-q {rate:.0} --latency-correction"),
        };
        let options = format!(
            "--no-tui --output-format {form} {how_long} -c {} {rate} -H",
            self.connections
        );
        let options = options.split_whitespace().map(str::to_owned);
        options
            .chain([self.header.clone()])
            .chain(self.call.arguments())
            .chain(["--rand-regex-url".to_owned(), self.url.clone()])
            .collect()
    }

    /// How many requests a recording has; none when nothing is recorded.
    pub fn recorded(&self) -> Option<u64> {
        match self.load {
            Load::Recorded(rate) => {
                Some((rate.round() * self.duration.as_secs_f64()).round() as u64)
            }
            Load::Closed | Load::Open(_) | Load::Counted(_) => None,
        }
    }

    /// The command as somebody would type it.
    pub fn typed(&self) -> String {
        format!("oha {}", shell_words::join(self.arguments()))
    }
}

/// What oha found out. Latencies in milliseconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    /// Answers per second.
    pub rate: f64,
    /// Answers.
    pub answers: u64,
    /// Seconds from the first request to the last answer.
    pub took_s: f64,
    /// The mean latency; in a closed loop it is only connections divided by throughput.
    pub mean_ms: Option<f64>,
    /// The median.
    pub p50_ms: Option<f64>,
    /// The 99th percentile.
    pub p99_ms: Option<f64>,
    /// The slowest.
    pub slowest_ms: Option<f64>,
    /// All percentiles that oha tells, by its names: `p99.9`.
    pub percentiles_ms: BTreeMap<String, f64>,
    /// The share of successes by oha's own count, 0 to 1: every answer is one, whatever its status.
    pub success: Option<f64>,
    /// How often each status came.
    pub statuses: BTreeMap<String, u64>,
    /// How often each error came.
    pub errors: BTreeMap<String, u64>,
    /// The generator's own CPU time; none where it cannot be known.
    pub generator_cpu: Option<Duration>,
    /// The same as a share of all cores.
    pub generator_share: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OhaOutput {
    summary: Summary,
    latency_percentiles: BTreeMap<String, Option<f64>>,
    status_code_distribution: BTreeMap<String, u64>,
    error_distribution: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    success_rate: Option<f64>,
    total: f64,
    average: Option<f64>,
    slowest: Option<f64>,
}

impl Run {
    /// Reads oha's JSON. Its times are seconds; its histogram is too coarse for a tail, so percentiles are taken.
    pub fn parse(text: &str) -> anyhow::Result<Run> {
        let json: OhaOutput = serde_json::from_str(text).map_err(|error| {
            let shown: String = text.chars().take(200).collect();
            Trouble::new(format!(
                "oha printed something other than its JSON ({error}): {shown}"
            ))
            .expected("oha 1.16 or newer")
            .next("./justw --bring oha")
        })?;
        let percentiles_ms: BTreeMap<String, f64> = json
            .latency_percentiles
            .into_iter()
            .filter_map(|(name, seconds)| Some((name, seconds? * 1e3)))
            .collect();
        // oha's own rate counts failed requests as well.
        let answers: u64 = json.status_code_distribution.values().sum();
        Ok(Run {
            rate: answers as f64 / json.summary.total.max(f64::MIN_POSITIVE),
            answers,
            took_s: json.summary.total,
            mean_ms: json.summary.average.map(|seconds| seconds * 1e3),
            p50_ms: percentiles_ms.get("p50").copied(),
            p99_ms: percentiles_ms.get("p99").copied(),
            slowest_ms: json.summary.slowest.map(|seconds| seconds * 1e3),
            percentiles_ms,
            success: json.summary.success_rate,
            statuses: json.status_code_distribution,
            errors: json.error_distribution,
            generator_cpu: None,
            generator_share: None,
        })
    }

    /// Why this run may not be believed: another status than the right one, an error, a rate not reached, a generator that was
    /// the bottleneck.
    pub fn gate(&self, order: &Order) -> Result<(), String> {
        self.answered(order)?;
        if let Some(share) = self.generator_share
            && share > GENERATOR_LIMIT
        {
            return Err(format!(
                "the load generator used {:.0} % of all cores: it is the bottleneck",
                share * 100.0
            ));
        }
        Ok(())
    }

    /// A time in microseconds per answer.
    pub fn per_request_us(&self, time: Option<Duration>) -> Option<f64> {
        let time = time.filter(|_| self.answers > 0)?;
        Some(time.as_secs_f64() * 1e6 / self.answers as f64)
    }

    /// How many requests were not answered with 200.
    pub fn failed(&self) -> u64 {
        let others = self.statuses.iter().filter(|(status, _)| *status != "200");
        let others: u64 = others.map(|(_, count)| count).sum();
        others + self.errors.values().sum::<u64>()
    }

    /// Why the answers may not be believed: another status than the right one, an error, a rate or a number of requests not reached.
    pub fn answered(&self, order: &Order) -> Result<(), String> {
        if let Some((error, count)) = self.errors.iter().next() {
            return Err(format!("{count} requests failed: {error}"));
        }
        let right = order.call.status.to_string();
        if let Some((status, count)) = self.statuses.iter().find(|(status, _)| **status != right) {
            return Err(format!(
                "{count} of {} answers had status {status}, not {right}",
                self.answers
            ));
        }
        if self.answers == 0 {
            return Err("nothing answered".to_owned());
        }
        if let Load::Open(offered) | Load::Recorded(offered) = order.load
            && self.rate < REACHED * offered
        {
            return Err(format!(
                "only {:.0} of {offered:.0} requests/s were answered",
                self.rate
            ));
        }
        if let Load::Counted(requests) = order.load
            && self.answers < requests
        {
            return Err(format!(
                "only {} of {requests} requests were answered",
                self.answers
            ));
        }
        Ok(())
    }
}

/// oha, found on this machine.
#[derive(Debug, Clone)]
pub struct Oha {
    program: PathBuf,
}

impl Oha {
    /// Looks for oha on `PATH` and among the tools that `justw` brings.
    pub fn find(workspace: &Workspace) -> anyhow::Result<Self> {
        Ok(Oha {
            program: tools::find(workspace, "oha")?,
        })
    }

    /// oha where it is, else by its name: for a measurement that hardly needs it.
    pub fn of(workspace: &Workspace) -> Self {
        let program = tools::look(workspace, "oha").unwrap_or_else(|| "oha".into());
        Oha { program }
    }

    /// Runs one load. Dropping the future ends oha.
    pub async fn run(&self, order: &Order) -> anyhow::Result<Run> {
        Ok(self.record(order).await?.0)
    }

    /// Runs one load, and tells every single request of [`Load::Recorded`].
    pub async fn record(&self, order: &Order) -> anyhow::Result<(Run, Vec<RecordedRequest>)> {
        let mut command = Command::new(&self.program);
        command
            .args(order.arguments())
            .env_remove("TOKIO_WORKER_THREADS");
        let (of_all_before, began) = (children_cpu(), Instant::now());
        let ended = program::run_clocked(command);
        let Ok(ended) = tokio::time::timeout(order.duration + GRACE, ended).await else {
            return Ok((Run::hung(order), Vec::new()));
        };
        let (output, cpu) = ended?;
        // Without /proc, another that ends meanwhile is counted with it: in a duet, the one that ends first.
        let cpu = cpu.unwrap_or_else(|| children_cpu().saturating_sub(of_all_before));
        let printed = tools::ended_well(&output, &order.typed())?;
        let all_cores = began.elapsed().as_secs_f64() * process::cores() as f64;
        let (mut run, requests) = match order.recorded() {
            None => (Run::parse(&printed)?, Vec::new()),
            Some(_) => {
                let requests = recording::parse(&printed)?;
                (Run::of(&requests, order), requests)
            }
        };
        run.generator_cpu = Some(cpu);
        run.generator_share = Some(cpu.as_secs_f64() / all_cores);
        Ok((run, requests))
    }
}

impl Run {
    /// A recording as a run, whose latencies are the requests'. An answer that is missing was an error; which one, CSV does not say.
    fn of(requests: &[RecordedRequest], order: &Order) -> Run {
        let answers = requests.len() as u64;
        let mut statuses = BTreeMap::new();
        for request in requests {
            *statuses.entry(request.status.to_string()).or_default() += 1;
        }
        let missing = order.recorded().unwrap_or_default().saturating_sub(answers);
        let errors = (missing > 0).then(|| ("no answer".to_owned(), missing));
        let took_s = requests
            .iter()
            .map(|request| request.answered_s)
            .fold(0.0, f64::max);
        Run {
            rate: answers as f64 / took_s.max(f64::MIN_POSITIVE),
            answers,
            took_s,
            statuses,
            errors: errors.into_iter().collect(),
            ..Run::default()
        }
    }

    /// The run of a service that never answered what was under way.
    fn hung(order: &Order) -> Run {
        let error = format!(
            "no answer within {} s after the last request",
            GRACE.as_secs()
        );
        Run {
            took_s: (order.duration + GRACE).as_secs_f64(),
            errors: BTreeMap::from([(error, u64::from(order.connections))]),
            ..Run::default()
        }
    }
}

/// CPU time, user and system, of all children that ended and were waited for.
fn children_cpu() -> Duration {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or(Duration::ZERO, |usage| {
        let microseconds =
            usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        Duration::from_micros(microseconds.unsigned_abs())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(load: Load) -> Order {
        Order {
            url: "http://127.0.0.1:4711/read/[1-9][0-9]{3}".to_owned(),
            header: "X-API-Key: valid_key".to_owned(),
            call: Call::default(),
            connections: 32,
            duration: Duration::from_millis(2500),
            load,
        }
    }

    fn json(statuses: &str, errors: &str, total: f64) -> String {
        format!(
            r#"{{"summary":{{"successRate":1.0,"total":{total},"slowest":0.02,"fastest":0.0002,"average":0.0016,
                "requestsPerSec":1241.9,"totalData":3729,"sizePerRequest":3,"sizePerSec":3719.9}},
                "responseTimeHistogram":{{"0.000249603":1}},
                "latencyPercentiles":{{"p50":0.0008,"p95":0.005,"p99":0.008,"p99.9":0.0186}},
                "statusCodeDistribution":{{{statuses}}},"errorDistribution":{{{errors}}}}}"#
        )
    }

    #[test]
    fn seconds_become_milliseconds_and_the_rate_counts_answers_only() {
        let run = Run::parse(&json(r#""200":2000"#, r#""timeout":500"#, 2.0)).unwrap();
        assert_eq!(
            (run.p50_ms, run.p99_ms, run.mean_ms),
            (Some(0.8), Some(8.0), Some(1.6))
        );
        assert_eq!((run.rate, run.answers), (1000.0, 2000));
    }

    #[test]
    fn a_run_without_any_answer_parses_and_fails_its_gate() {
        let text = json("", r#""Connection refused (os error 111)":2664"#, 1.0)
            .replace("0.0016", "null")
            .replace("\"p50\":0.0008", "\"p50\":null");
        let run = Run::parse(&text).unwrap();
        assert_eq!(run.p50_ms, None);
        let reason = run.gate(&order(Load::Closed)).unwrap_err();
        assert!(reason.contains("Connection refused"), "{reason}");
    }

    #[test]
    fn what_oha_counts_as_a_success_the_gate_refuses() {
        let run = Run::parse(&json(r#""401":38000"#, "", 1.0)).unwrap();
        assert_eq!(run.success, Some(1.0));
        assert_eq!(
            run.gate(&order(Load::Closed)),
            Err("38000 of 38000 answers had status 401, not 200".to_owned())
        );
    }

    #[test]
    fn any_other_status_than_200_breaks_the_gate() {
        let run = Run::parse(&json(r#""200":999,"503":1"#, "", 1.0)).unwrap();
        assert_eq!(
            run.gate(&order(Load::Closed)),
            Err("1 of 1000 answers had status 503, not 200".to_owned())
        );
    }

    #[test]
    fn a_rate_that_was_not_reached_breaks_the_gate_of_an_open_loop_only() {
        let run = Run::parse(&json(r#""200":980"#, "", 1.0)).unwrap();
        assert_eq!(run.gate(&order(Load::Closed)), Ok(()));
        assert_eq!(run.gate(&order(Load::Open(985.0))), Ok(()));
        assert!(
            run.gate(&order(Load::Open(1000.0)))
                .unwrap_err()
                .contains("980 of 1000")
        );
    }

    #[test]
    fn a_generator_that_is_the_bottleneck_breaks_the_gate() {
        let mut run = Run::parse(&json(r#""200":1000"#, "", 1.0)).unwrap();
        run.generator_share = Some(0.8);
        assert!(
            run.gate(&order(Load::Closed))
                .unwrap_err()
                .contains("80 % of all cores")
        );
    }

    #[test]
    fn an_open_loop_is_corrected_and_random_ids_are_asked_for() {
        let typed = order(Load::Open(1234.4)).typed();
        assert!(
            typed.contains("-z 2500ms -c 32 -q 1234 --latency-correction"),
            "{typed}"
        );
        assert!(
            typed.ends_with("--rand-regex-url 'http://127.0.0.1:4711/read/[1-9][0-9]{3}'"),
            "{typed}"
        );
        assert!(!order(Load::Closed).typed().contains("-q"));
    }

    #[test]
    fn a_call_says_what_it_is_and_which_status_is_right() {
        let order = Order {
            call: Call {
                method: "PUT",
                headers: vec!["If-Match: \"a\"".to_owned()],
                body: Some("card.vcf".into()),
                status: 204,
            },
            ..order(Load::Closed)
        };
        let typed = order.typed();
        assert!(
            typed.contains("-m PUT -H 'If-Match: \"a\"' -D card.vcf --rand-regex-url"),
            "{typed}"
        );
        let run = |statuses| Run::parse(&json(statuses, "", 1.0)).unwrap();
        assert_eq!(run(r#""204":1000"#).gate(&order), Ok(()));
        assert_eq!(
            run(r#""200":1000"#).gate(&order),
            Err("1000 of 1000 answers had status 200, not 204".to_owned())
        );
        assert!((run(r#""204":1"#).percentiles_ms["p99.9"] - 18.6).abs() < 1e-9);
    }

    #[test]
    fn a_count_asks_for_an_exact_number_in_a_closed_loop_and_misses_each_answer() {
        let order = order(Load::Counted(2000));
        let typed = order.typed();
        assert!(
            typed.starts_with("oha --no-tui --output-format json -n 2000 -c 32 -H"),
            "{typed}"
        );
        let run = |statuses| Run::parse(&json(statuses, "", 1.0)).unwrap();
        assert_eq!(run(r#""200":2000"#).answered(&order), Ok(()));
        assert_eq!(run(r#""200":2000"#).slowest_ms, Some(20.0));
        assert_eq!(run(r#""200":1990,"503":10"#).failed(), 10);
        assert_eq!(
            run(r#""200":1990"#).answered(&order),
            Err("only 1990 of 2000 requests were answered".to_owned())
        );
    }

    #[test]
    fn a_recording_asks_for_an_exact_number_and_misses_each_answer() {
        let order = order(Load::Recorded(2.0));
        let typed = order.typed();
        assert!(
            typed.starts_with("oha --no-tui --output-format csv -n 5 -c 32 -q 2 --latency"),
            "{typed}"
        );
        let request = |second: f64, status| RecordedRequest {
            due_s: second,
            sent_s: second,
            answered_s: second + 0.001,
            status,
        };
        let mut requests: Vec<RecordedRequest> =
            [0.0, 0.5, 1.0, 1.5, 2.0].map(|at| request(at, 200)).into();
        assert_eq!(Run::of(&requests, &order).gate(&order), Ok(()));
        requests[2].status = 503;
        assert_eq!(
            Run::of(&requests, &order).gate(&order),
            Err("1 of 5 answers had status 503, not 200".to_owned())
        );
        requests.remove(2);
        assert_eq!(
            Run::of(&requests, &order).gate(&order),
            Err("1 requests failed: no answer".to_owned())
        );
    }

    #[test]
    fn something_else_than_json_is_told_with_its_beginning() {
        let error = Run::parse("Usage: oha").unwrap_err().to_string();
        assert!(
            error.contains("Usage: oha") && error.contains("./justw --bring oha"),
            "{error}"
        );
    }
}
