//! Duets: two sides under the same offered rate at the same time, in many short rounds. What disturbs the machine disturbs
//! both, so the ratio of their CPU time per request is several times surer than that of blocks one after the other.
//!
//! Each round has fresh processes: where a program happens to lie in memory, and what a JIT happens to compile, is chance, too. JVMs
//! of one service differ by several percent, so as many blocks of one process would look surer than they are.
//!
//! Where the plan asks for it, a round ends with both at saturation, a moment each in turns, there and back: what drifts from one moment to
//! the next meets both alike, which it doesn't in blocks that are minutes apart.
//!
//! CPU is read in nanoseconds, by the clock of each process. Idea: duet benchmarking (Bulej and others, ICPE 2020).

use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};

use crate::protocol::block::{self, Observed, Started};
use crate::protocol::neighbors::CpuTimes;
use crate::protocol::plan::{DUET_RATE, shuffled};
use crate::protocol::session::Session;
use crate::protocol::subject::Subject;
use crate::tools::oha::Load;
use workshop_base::clock::Clocks;
use workshop_base::process::{self, since};
use workshop_results::file::{BlockRecord, Mode};
use workshop_results::key::{CPU_PER_REQUEST, THROUGHPUT_ALTERNATING};
use workshop_results::statistics;

/// The most that is offered, as a share of the slower side's saturation.
const SHARE: f64 = 0.3;
/// The length of a block.
const BLOCK: Duration = Duration::from_secs(3);
/// The length of the load that is not counted, on fresh processes.
const SETTLING: Duration = Duration::from_secs(1);
/// How long a side is at saturation before it is the other's turn. What one such load finds varies by 7 %, be it a quarter of a second or a
/// whole one, so many short ones tell more.
const TURN: Duration = Duration::from_millis(250);
/// A JVM takes longer to warm up than a block takes, so it has as many times fewer rounds, each as many times longer.
const JVM_FACTOR: u32 = 4;
/// The fewest rounds that have an interval.
const FEWEST: usize = 2;
/// How many times as many rounds a duet has that decides, in all but quick runs. Two JVMs with one service differ by 2.5 %, so a ratio
/// within 1.5 % takes fifteen, which a thorough run has.
const DECIDING: usize = 3;

/// A duet that was played.
#[derive(Debug, Default)]
pub struct PlayedDuet {
    /// The rate that each side was offered.
    pub rate: f64,
    /// The rounds, and the length of a block in each.
    pub extent: (usize, Duration),
    /// The blocks.
    pub records: Vec<BlockRecord>,
    /// The JVMs that still got faster when a block began.
    pub unsteady: BTreeSet<String>,
}

impl PlayedDuet {
    fn new(session: &Session<'_>, sides: &[Subject], rate: f64) -> PlayedDuet {
        let decides = sides.iter().any(|side| side.row.decides);
        let rounds = match session.asked.mode {
            Mode::Standard | Mode::Thorough if decides => session.plan.duets * DECIDING,
            _ => session.plan.duets,
        };
        let is_jvm = |side: &Subject| side.runs_as.compiles_under_load();
        let extent = if sides.iter().any(is_jvm) {
            let fewer = rounds.div_ceil(JVM_FACTOR as usize).max(FEWEST);
            (fewer, BLOCK * JVM_FACTOR)
        } else {
            (rounds, BLOCK)
        };
        PlayedDuet {
            rate,
            extent,
            ..PlayedDuet::default()
        }
    }
}

/// Plays a duet, a solo, or more than two: all sides at the same time, round after round. `first_round` numbers the rounds. More than two
/// share the rate of two, so the machine is as busy as with two.
pub async fn play(
    session: &mut Session<'_>,
    sides: &[Subject],
    path: &str,
    first_round: usize,
) -> anyhow::Result<PlayedDuet> {
    let rate = DUET_RATE * 2.0 / sides.len().max(2) as f64;
    let mut played = PlayedDuet::new(session, sides, rate);
    let rounds = first_round..first_round + played.extent.0;
    for round in rounds.clone() {
        play_round(session, sides, path, (round, &rounds), &mut played).await?;
    }
    Ok(played)
}

/// The same one after the other at this rate, which a duet is compared with: every round has one side after the other, in random order.
pub async fn in_turns(
    session: &mut Session<'_>,
    sides: &[Subject],
    path: &str,
    rate: f64,
) -> anyhow::Result<Vec<BlockRecord>> {
    let mut played = PlayedDuet::new(session, sides, rate);
    let rounds = 1..1 + played.extent.0;
    for round in rounds.clone() {
        for place in shuffled(sides.len()) {
            let alone = std::slice::from_ref(&sides[place]);
            play_round(session, alone, path, (round, &rounds), &mut played).await?;
        }
    }
    Ok(played.records)
}

/// One round: fresh processes of all sides, each warm before the next one starts, and a block of all at the same time.
async fn play_round(
    session: &mut Session<'_>,
    sides: &[Subject],
    path: &str,
    (round, rounds): (usize, &Range<usize>),
    played: &mut PlayedDuet,
) -> anyhow::Result<()> {
    let names: Vec<&str> = sides.iter().map(Subject::id).collect();
    session.progress.part(&format!(
        "duet of {}, round {} of {}",
        names.join(" and "),
        round - rounds.start + 1,
        rounds.len()
    ));
    let mut started: Vec<Option<Started>> = sides.iter().map(|_| None).collect();
    for place in shuffled(sides.len()) {
        let side = &sides[place];
        let fresh = block::start(session, side).await?;
        let limits = session.plan.short_warm_up_of(side.runs_as);
        let warm = block::warm_up(session, side, &fresh.service, path, &limits).await?;
        if round == rounds.start {
            played.rate = played.rate.min((warm.last_rate * SHARE).round());
        }
        if warm.steady_after_s.is_none() && side.runs_as.compiles_under_load() {
            played.unsteady.insert(side.id().to_owned());
        }
        started[place] = Some(fresh);
    }
    let started: Vec<Started> = started.into_iter().flatten().collect();
    together(session, sides, &started, path, played.rate, SETTLING).await?;
    let (before, clocks) = (CpuTimes::now(), Clocks::now());
    let mut observed =
        together(session, sides, &started, path, played.rate, played.extent.1).await?;
    if session.plan.alternating > 0 {
        alternating(session, sides, &started, path, &mut observed).await?;
    }
    session.neighbors.since(before, &names);
    let jumps = Clocks::now().since(&clocks);
    session.jumps = session.jumps.and(jumps);
    for observed in &mut observed {
        observed.judge(jumps);
    }
    for (side, observed) in sides.iter().zip(observed) {
        let place = played.records.len() + 1;
        played
            .records
            .push(observed.record(round, place, side.id()));
    }
    let stopped = join_all(started.into_iter().map(Started::stop)).await;
    stopped.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(())
}

/// One block: the same rate for all of them, and what each spends on it. Whose generator starts first is chance. A side for which
/// more is planted is loaded for longer by this share, and what it spends is divided by the requests of the others' time: as if a
/// request cost that much more. The others stay under load, uncounted, until it has ended.
async fn together(
    session: &Session<'_>,
    sides: &[Subject],
    started: &[Started],
    path: &str,
    rate: f64,
    length: Duration,
) -> anyhow::Result<Vec<Observed>> {
    let longest = sides.iter().map(|side| side.row.plant).fold(0.0, f64::max);
    let order = |place: usize, share: f64| {
        let length = length.mul_f64(share);
        session.order(path, &started[place].service, length, Load::Open(rate))
    };
    let loads = shuffled(sides.len()).into_iter().map(async |place| {
        let (plant, pids) = (sides[place].row.plant, started[place].service.pids());
        let counted = order(place, 1.0 + plant);
        let before = process::cpu(&pids);
        let run = session.oha.run(&counted).await?;
        let spent = since(before, process::cpu(&pids));
        if plant < longest {
            session.oha.run(&order(place, longest - plant)).await?;
        }
        let mut observed = Observed::default();
        let cpu = run.per_request_us(spent).map(|cpu| cpu * (1.0 + plant));
        observed.gated(run.gate(&counted), [(CPU_PER_REQUEST, cpu)]);
        anyhow::Ok((place, observed))
    });
    let mut observed = try_join_all(loads).await?;
    observed.sort_by_key(|(place, _)| *place);
    Ok(observed.into_iter().map(|(_, observed)| observed).collect())
}

/// All sides at saturation, one after the other and back again, as often as the plan says: first, second, second, first. Of a side for
/// which more is planted only a share of the answers counts, as if a request took that much longer. (A shorter load would lose more than
/// that: before all connections are busy, 16 of its 250 ms pass, and as many in a shorter one.)
async fn alternating(
    session: &Session<'_>,
    sides: &[Subject],
    started: &[Started],
    path: &str,
    observed: &mut [Observed],
) -> anyhow::Result<()> {
    let mut there_and_back = shuffled(sides.len());
    there_and_back.extend(there_and_back.clone().into_iter().rev());
    let mut rates: Vec<Vec<Result<f64, String>>> = vec![Vec::new(); sides.len()];
    for place in there_and_back.repeat(session.plan.alternating) {
        let counted = sides[place].row.counted();
        let service = &started[place].service;
        let order = session.order(path, service, TURN, Load::Closed);
        let run = session.oha.run(&order).await?;
        rates[place].push(run.gate(&order).map(|()| run.rate * counted));
    }
    for (rates, observed) in rates.into_iter().zip(observed) {
        let rates: Result<Vec<f64>, String> = rates.into_iter().collect();
        let rate = rates
            .as_deref()
            .ok()
            .map(|rates| statistics::mean(rates.iter().copied()));
        observed.gated(rates.map(drop), [(THROUGHPUT_ALTERNATING, rate)]);
    }
    Ok(())
}
