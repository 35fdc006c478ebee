//! What a token costs against an API key (exercise 22): the same read by one service, started four times, with a key, and with a token of
//! each algorithm. All four are under the same rate at the same time, so what disturbs the machine disturbs all of them.
//!
//! The extra CPU time is told in microseconds, since a token costs as much beside an expensive request as beside a cheap one.

use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use serde_json::json;

use workshop_base::clock::Clocks;
use workshop_base::process::{self, since};
use workshop_harness::issuer::{Issuer, from_now, header, jwk, payload, with};
use workshop_harness::service::TokenSettings;
use workshop_measure::protocol::block::{self, Observed, Started, Turn, turns};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::neighbors::CpuTimes;
use workshop_measure::protocol::plan::shuffled;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::{self, Session};
use workshop_measure::protocol::subject::{Subject, ids};
use workshop_measure::tables::add_steps;
use workshop_measure::tools::oha::{Load, Order};
use workshop_results::figures::figure;
use workshop_results::file::{BlockRecord, ResultFile};
use workshop_results::key::{At, CPU_PER_REQUEST, OVER_KEY, UNSTEADY};
use workshop_results::statistics::mean_interval;

/// Requests per second with each credential: all four together are a load that both services carry easily, on two cores as well.
const RATE: f64 = 500.0;
/// The length of the load that is not counted, after the warm-up.
const SETTLING: Duration = Duration::from_secs(1);
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
            "each round starts a service four times, and puts {} requests/s on each process for {} s at the same time: one brings a key, the \
             others a token. All four know the issuer",
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

/// Four fresh processes of a service, each warm before the next one starts, and a load on all of them at the same time.
async fn round(
    session: &mut Session<'_>,
    turn: &Turn<'_>,
    path: &str,
    credentials: &[Credential],
) -> anyhow::Result<Observed> {
    let subject = turn.subject;
    let limits = session.plan.short_warm_up_of(subject.runs_as);
    let mut observed = Observed::default();
    let mut started = Vec::new();
    for place in shuffled(credentials.len()) {
        let credential = &credentials[place];
        let phase = format!("{}: {}", turn.title, credential.at.words());
        session.progress.phase(&phase);
        session.header.clone_from(&credential.header);
        let fresh = block::start(session, subject).await?;
        let warm = block::warm_up(session, subject, &fresh.service, path, &limits).await?;
        if warm.steady_after_s.is_none() && subject.runs_as.compiles_under_load() {
            observed.value(UNSTEADY, Some(1.0));
        }
        started.push((credential, fresh));
    }
    session.header = session::header(&session::key());
    session.progress.phase(&format!("{}: all four", turn.title));
    together(session, &started, path, SETTLING, &mut Observed::default()).await?;
    let (before, clocks) = (CpuTimes::now(), Clocks::now());
    let length = Duration::from_secs_f64(session.plan.open);
    together(session, &started, path, length, &mut observed).await?;
    session.neighbors.since(before, &[subject.id()]);
    let jumps = Clocks::now().since(&clocks);
    session.jumps = session.jumps.and(jumps);
    observed.judge(jumps);
    let stopping = started.into_iter().map(|(_, started)| started.stop());
    for stopped in join_all(stopping).await {
        stopped?;
    }
    Ok(observed)
}

/// The same rate for all of them, and what each spends on a request. Whose generator starts first is chance: they come shuffled.
async fn together(
    session: &Session<'_>,
    started: &[(&Credential, Started)],
    path: &str,
    length: Duration,
    observed: &mut Observed,
) -> anyhow::Result<()> {
    let loads = started.iter().map(async |(credential, started)| {
        let order = Order {
            header: credential.header.clone(),
            ..session.order(path, &started.service, length, Load::Open(RATE))
        };
        let pids = started.service.pids();
        let before = process::cpu(&pids);
        let run = session.oha.run(&order).await?;
        let spent = since(before, process::cpu(&pids));
        anyhow::Ok((credential.at, run.gate(&order), run.per_request_us(spent)))
    });
    for (at, gate, cpu) in try_join_all(loads).await? {
        observed.gated(gate, [(CPU_PER_REQUEST.at(at), cpu)]);
    }
    over_key(observed);
    Ok(())
}

/// What each token costs beyond the key.
fn over_key(observed: &mut Observed) {
    let cpu = |observed: &Observed, at| observed.values.get(&CPU_PER_REQUEST.at(at)).copied();
    for at in TOKENS {
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
