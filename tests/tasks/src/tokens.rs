//! What a token costs against an API key (exercise 16): the same read of one process, with a key, and with a token of each algorithm, one
//! after the other, again and again and each time in another order.
//!
//! The extra CPU time is told in microseconds, since a token costs as much beside an expensive request as beside a cheap one.

use std::time::Duration;

use futures_util::future::try_join_all;
use serde_json::json;

use workshop_base::clock::Clocks;
use workshop_base::process::{self, since};
use workshop_harness::issuer::{Issuer, from_now, header, jwk, payload, with};
use workshop_harness::service::{Service, TokenSettings};
use workshop_measure::protocol::block::{self, Observed, Turn, turns};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::neighbors::CpuTimes;
use workshop_measure::protocol::plan::shuffled;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::{Subject, ids};
use workshop_measure::protocol::warmup;
use workshop_measure::tables::add_steps;
use workshop_measure::tools::oha::{Load, Order, Run};
use workshop_results::figures::figure;
use workshop_results::file::{BlockRecord, ResultFile};
use workshop_results::key::{At, CPU_PER_REQUEST, OVER_KEY, UNSTEADY};
use workshop_results::statistics::{mean, mean_interval};

/// Requests per second: what both services can do on a slow machine too, with the most expensive token as well.
const RATE: f64 = 500.0;
/// How often each credential has its turn in a round.
const TURNS: usize = 3;
/// Connections of each credential during the warm-up, in which all of them come at the same time.
const WARMING: u32 = 8;
/// How long a token counts: longer than any measurement takes.
const EXPIRY_S: i64 = 4 * 3600;

/// What the callers bring. The first one is what the others are compared with.
const KEY: At = At::Load("key", "an API key");
const RS256: At = At::Load("rs256", "RS256");
const ES256: At = At::Load("es256", "ES256");
const EDDSA: At = At::Load("eddsa", "EdDSA");
const TOKENS: [At; 3] = [RS256, ES256, EDDSA];
const ALL: [At; 4] = [KEY, RS256, ES256, EDDSA];

/// A header that lets requests in.
struct Credential {
    at: At,
    header: String,
}

/// Measures a target beside Kotlin.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let (mut session, subjects) = Session::begin(lab, asked, &asked.task).await?;
    let path = session.records();
    session.show_load_of(&path, Load::Open(RATE));
    let subjects = session.same_work(subjects).await?;
    let issuer = Issuer::start(lab.workspace).await?;
    let credentials = credentials(&session, &issuer).await?;
    session.tokens = Some(TokenSettings {
        // As they are where nobody sets them.
        renewal: Duration::from_mins(5),
        cooldown: Duration::from_secs(10),
        max_age: Duration::from_hours(24),
        timeout: Duration::from_secs(2),
        ..issuer.settings()
    });
    let mut rounds = Vec::new();
    for turn in turns(&session.plan, &subjects) {
        session.progress.part(&turn.title);
        let observed = round(&mut session, &turn, &path, &credentials).await?;
        rounds.push(turn.record(observed));
    }
    let lengths = credentials.iter().map(|credential| {
        let (words, bytes) = (credential.at.words(), credential.header.len());
        format!("{words} {bytes}")
    });
    let lengths = lengths.collect::<Vec<_>>().join(", ");
    session.notes.extend([
        format!(
            "each round starts a service anew, warms it up with all credentials at the same time, and puts {} requests/s on it for {} s with \
             each of them, {TURNS} times in random order",
            figure(RATE),
            figure(session.plan.open)
        ),
        "the same token comes again and again; no service remembers that it was good".to_owned(),
        format!("bytes of the header: {lengths}"),
    ]);
    let definitions = metrics::of("tokens", ALL)?;
    let extra = extra(&rounds, &subjects);
    let found = session
        .judged(&definitions, &subjects, rounds, None)
        .decided_by(&OVER_KEY.at(RS256), &subjects);
    let mut result = session.finish(&subjects, found).await?;
    add_steps(&mut result, &ALL)?;
    if let Some(table) = result.tables.last_mut() {
        table.notes.extend(extra);
    }
    Ok(result)
}

/// A key, and a token by each algorithm, of an issuer that publishes their keys.
async fn credentials(session: &Session<'_>, issuer: &Issuer) -> anyhow::Result<Vec<Credential>> {
    let signer = &issuer.signer;
    let keys = [
        (RS256, signer.key(json!({"rsa": 2048}), "RS256").await?),
        (ES256, signer.key(json!("p256"), "ES256").await?),
        (EDDSA, signer.key(json!("ed25519"), "EdDSA").await?),
    ];
    issuer
        .publish(keys.iter().map(|(_, key)| jwk(key, key.alg)).collect())
        .await;
    let mut credentials = vec![Credential {
        at: KEY,
        header: session.header.clone(),
    }];
    let claims = with(payload("records:read"), json!({"exp": from_now(EXPIRY_S)}));
    for (at, key) in &keys {
        let token = issuer.token(key, &header(key, key.alg), &claims).await?;
        credentials.push(Credential {
            at: *at,
            header: format!("Authorization: Bearer {token}"),
        });
    }
    Ok(credentials)
}

/// A fresh process that is warm, and a load with each credential in turn.
async fn round(
    session: &mut Session<'_>,
    turn: &Turn<'_>,
    path: &str,
    credentials: &[Credential],
) -> anyhow::Result<Observed> {
    let mut observed = Observed::default();
    let started = block::start(session, turn.subject).await?;
    if !warm_up(session, turn, path, credentials, &started.service).await? {
        observed.value(UNSTEADY, Some(1.0));
    }
    let (before, clocks) = (CpuTimes::now(), Clocks::now());
    let pids = started.service.pids();
    let length = Duration::from_secs_f64(session.plan.open);
    let mut seen = vec![Vec::new(); credentials.len()];
    for time in 1..=TURNS {
        for place in shuffled(credentials.len()) {
            let credential = &credentials[place];
            let (title, words) = (&turn.title, credential.at.words());
            let phase = format!("{title}: {words}, {time} of {TURNS}");
            session.progress.phase(&phase);
            let order = credential.order(session, path, &started.service, length, Load::Open(RATE));
            let before = process::cpu(&pids);
            let run = session.oha.run(&order).await?;
            let cpu = run.per_request_us(since(before, process::cpu(&pids)));
            if let Err(reason) = run.gate(&order) {
                observed.invalid([CPU_PER_REQUEST.at(credential.at)], &reason);
            }
            seen[place].extend(cpu);
        }
    }
    session.neighbors.since(before, &[turn.subject.id()]);
    for (credential, seen) in credentials.iter().zip(seen) {
        let cpu = (seen.len() == TURNS).then(|| mean(seen));
        observed.value(CPU_PER_REQUEST.at(credential.at), cpu);
    }
    over_key(&mut observed);
    let jumps = Clocks::now().since(&clocks);
    session.jumps = session.jumps.and(jumps);
    observed.judge(jumps);
    started.stop().await?;
    Ok(observed)
}

impl Credential {
    fn order(
        &self,
        session: &Session<'_>,
        path: &str,
        service: &Service,
        length: Duration,
        load: Load,
    ) -> Order {
        Order {
            header: self.header.clone(),
            ..session.order(path, service, length, load)
        }
    }
}

/// Warms a service up with all credentials at the same time: what checks tokens has to be compiled, too. True where it is steady.
async fn warm_up(
    session: &Session<'_>,
    turn: &Turn<'_>,
    path: &str,
    credentials: &[Credential],
    service: &Service,
) -> anyhow::Result<bool> {
    let runs_as = turn.subject.runs_as;
    let limits = session.plan.short_warm_up_of(runs_as);
    let window = async || {
        let loads = credentials.iter().map(async |credential| {
            let load = Load::Closed;
            let order = Order {
                connections: WARMING,
                ..credential.order(session, path, service, limits.window, load)
            };
            let run = session.oha.run(&order).await?;
            anyhow::Ok(run.gate(&order).map(|()| run))
        });
        let runs: Result<Vec<Run>, String> = try_join_all(loads).await?.into_iter().collect();
        Ok(runs.map(|runs| Run {
            answers: runs.iter().map(|run| run.answers).sum(),
            rate: runs.iter().map(|run| run.rate).sum(),
            p50_ms: Some(mean(runs.iter().filter_map(|run| run.p50_ms))),
            ..Run::default()
        }))
    };
    let pids = service.pids();
    let warm = warmup::until_steady(&pids, &limits, window).await?;
    let warm = warm.map_err(|reason| {
        anyhow::anyhow!(
            "{} cannot be measured: during the warm-up, {reason}",
            turn.subject.id()
        )
    })?;
    Ok(warm.steady_after_s.is_some() || !runs_as.compiles_under_load())
}

/// What each token costs beyond the key.
fn over_key(observed: &mut Observed) {
    let cpu = |observed: &Observed, at| observed.values.get(&CPU_PER_REQUEST.at(at)).copied();
    for at in TOKENS {
        let keys = [CPU_PER_REQUEST.at(at), CPU_PER_REQUEST.at(KEY)];
        let broken = keys
            .iter()
            .find_map(|key| observed.invalid.get(key))
            .cloned();
        if let Some(reason) = broken {
            observed.invalid([OVER_KEY.at(at)], &reason);
        }
        let both = cpu(observed, at).zip(cpu(observed, KEY));
        observed.value(OVER_KEY.at(at), both.map(|(token, key)| token - key));
    }
}

/// The same over all rounds, in words: a difference needs no ratio to be surer of.
fn extra(rounds: &[BlockRecord], subjects: &[Subject]) -> Vec<String> {
    let sides = ids(subjects);
    let told = sides.iter().flat_map(|side| {
        TOKENS.iter().filter_map(move |at| {
            let key = OVER_KEY.at(*at);
            let of_side = rounds.iter().filter(|block| block.side == *side);
            let values: Vec<f64> = of_side.filter_map(|block| block.valid(&key)).collect();
            let interval = mean_interval(&values)?;
            let [mean, low, high] = [interval.mean, interval.low, interval.high].map(figure);
            let alg = at.words();
            Some(format!(
                "{side}: a token by {alg} costs {mean} µs more than a key (95 % interval: {low} to {high})"
            ))
        })
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_credential_has_its_definitions_and_the_key_costs_nothing_beyond_itself() {
        let defined = metrics::of("tokens", ALL).unwrap();
        let is_defined = |key| defined.iter().any(|known| known.key == key);
        assert!(ALL.iter().all(|at| is_defined(CPU_PER_REQUEST.at(*at))));
        assert!(TOKENS.iter().all(|at| is_defined(OVER_KEY.at(*at))));

        let mut observed = Observed::default();
        for (at, cpu) in ALL.into_iter().zip([40.0, 90.0, 110.0, 70.0]) {
            observed.value(CPU_PER_REQUEST.at(at), Some(cpu));
        }
        over_key(&mut observed);
        let extra = |at| observed.values.get(&OVER_KEY.at(at)).copied();
        assert_eq!(ALL.map(extra), [None, Some(50.0), Some(70.0), Some(30.0)]);
    }

    #[test]
    fn without_a_key_that_counts_a_token_has_nothing_to_cost_more_than() {
        let mut observed = Observed::default();
        observed.value(CPU_PER_REQUEST.at(RS256), Some(90.0));
        over_key(&mut observed);
        assert_eq!(observed.values.get(&OVER_KEY.at(RS256)), None);
    }
}
