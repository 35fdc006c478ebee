//! Duets: two sides under the same offered rate at the same time, in many short blocks. What disturbs the machine disturbs
//! both, so the ratio of their CPU time per request is several times surer than that of blocks one after the other.
//!
//! CPU is read in nanoseconds, by the clock of each process. Idea: duet benchmarking (Bulej and others, ICPE 2020).

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};

use crate::protocol::block::{self, Observed, Started};
use crate::protocol::kernel::since;
use crate::protocol::neighbors::CpuTimes;
use crate::protocol::plan::shuffled;
use crate::protocol::session::Session;
use crate::protocol::subject::Subject;
use crate::tools::oha::Load;
use workshop_results::file::BlockRecord;

/// The key of what duets measure.
pub const CPU: &str = "cpu_per_request";
/// The most that is offered, as a share of the slower side's saturation.
const SHARE: f64 = 0.3;
/// The length of a block.
pub const BLOCK: Duration = Duration::from_secs(3);
/// The length of the block that is not counted, on fresh processes.
const SETTLING: Duration = Duration::from_secs(1);
/// Blocks after which native binaries are started afresh: where a process happens to lie in memory is chance, too.
const NATIVE_BLOCKS: usize = 2;
/// The same for a JVM, whose warm-up takes longer than the blocks.
const JVM_BLOCKS: usize = 8;

/// A duet that was played.
#[derive(Debug, Default)]
pub struct Played {
    /// The rate that each side was offered.
    pub rate: f64,
    /// The blocks.
    pub records: Vec<BlockRecord>,
    /// The JVMs that still got faster when the blocks began.
    pub unsteady: BTreeSet<String>,
}

/// Plays a duet, or a solo: all sides at the same time, block after block. `first_round` numbers the blocks.
pub async fn play(
    session: &mut Session<'_>,
    sides: &[Subject],
    path: &str,
    first_round: usize,
) -> anyhow::Result<Played> {
    let blocks = session.plan.duets;
    let names: Vec<&str> = sides.iter().map(Subject::id).collect();
    let names = names.join(" and ");
    let mut played = Played {
        rate: session.duet_rate,
        ..Played::default()
    };
    let mut block = 0;
    while block < blocks {
        session
            .progress
            .part(&format!("duet of {names}, block {} of {blocks}", block + 1));
        let mut started: Vec<Option<Started>> = sides.iter().map(|_| None).collect();
        for place in shuffled(sides.len()) {
            let side = &sides[place];
            let fresh = block::start(session, side).await?;
            let limits = session.plan.short_warm_up_of(side.runs_as);
            let warm = block::warm_up(session, side, &fresh, path, &limits).await?;
            if block == 0 {
                played.rate = played.rate.min((warm.last_rate * SHARE).round());
            }
            if warm.steady_after_s.is_none() && side.runs_as.compiles_under_load() {
                played.unsteady.insert(side.id().to_owned());
            }
            started[place] = Some(fresh);
        }
        let started: Vec<Started> = started.into_iter().flatten().collect();
        together(session, sides, &started, path, played.rate, SETTLING).await?;
        for _ in 0..per_sitting(sides).min(blocks - block) {
            let before = CpuTimes::now();
            let observed = together(session, sides, &started, path, played.rate, BLOCK).await?;
            session.neighbors.since(before);
            for (side, observed) in sides.iter().zip(observed) {
                let place = played.records.len() + 1;
                let record = observed.record(first_round + block, place, side.id());
                played.records.push(record);
            }
            block += 1;
        }
        let stopped = join_all(started.into_iter().map(Started::stop)).await;
        stopped.into_iter().collect::<Result<Vec<_>, _>>()?;
    }
    Ok(played)
}

/// The same one after the other, which a duet is compared with: every block has one side alone, in random order.
pub async fn in_turns(
    session: &mut Session<'_>,
    sides: &[Subject],
    path: &str,
) -> anyhow::Result<Vec<BlockRecord>> {
    let blocks = session.plan.duets;
    session.plan.duets = 1;
    let mut records = Vec::new();
    for round in 1..=blocks {
        for place in shuffled(sides.len()) {
            let alone = std::slice::from_ref(&sides[place]);
            records.extend(play(session, alone, path, round).await?.records);
        }
    }
    session.plan.duets = blocks;
    Ok(records)
}

fn per_sitting(sides: &[Subject]) -> usize {
    if sides.iter().any(|side| side.runs_as.compiles_under_load()) {
        JVM_BLOCKS
    } else {
        NATIVE_BLOCKS
    }
}

/// One block: the same rate for all of them, and what each spends on it. Whose generator starts first is chance. A side for which
/// more requests are planted gets these as well, and what it spends is divided by the number of the others: as if a request cost more.
async fn together(
    session: &Session<'_>,
    sides: &[Subject],
    started: &[Started],
    path: &str,
    rate: f64,
    length: Duration,
) -> anyhow::Result<Vec<Observed>> {
    let spent = || {
        started
            .iter()
            .map(|started| session.kernel.cpu(&started.pids))
    };
    let before: Vec<Option<Duration>> = spent().collect();
    let loads = shuffled(started.len()).into_iter().map(async |place| {
        let load = Load::Open(rate * (1.0 + sides[place].row.plant));
        let order = session.order(path, &started[place].service, length, load);
        let run = session.oha.run(&order).await?;
        anyhow::Ok((place, run.gate(&order), run))
    });
    let mut runs = try_join_all(loads).await?;
    runs.sort_by_key(|(place, ..)| *place);
    let each = runs.into_iter().zip(before.into_iter().zip(spent()));
    let observed = each.map(|((place, gate, run), (before, after))| {
        let mut observed = Observed::default();
        let cpu = run.per_request_us(since(before, after));
        let cpu = cpu.map(|cpu| cpu * (1.0 + sides[place].row.plant));
        observed.gated(gate, [(CPU, cpu)]);
        observed
    });
    Ok(observed.collect())
}
