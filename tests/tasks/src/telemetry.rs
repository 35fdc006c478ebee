//! The price of being seen (exercise 15): the same reads without telemetry, with telemetry that is sent nowhere, and with one trace in a
//! hundred, or all of them, sent to a collector; on a JVM by the SDK in the service, and by the agent beside it.

use workshop_base::target::Language;
use workshop_harness::build::maven;
use workshop_harness::collector::{Collector, Manners};
use workshop_measure::protocol::experiment::of_duets;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::{Subject, pairs};
use workshop_results::file::ResultFile;
use workshop_results::key::CPU_PER_REQUEST;

/// The variable of the rows that send: the share of traces that they keep.
const SHARE: &str = "OTEL_TRACES_SAMPLER_ARG";
/// Where they send: a service that has this variable uses its own SDK.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// Measures a target that sends what its row says, the reference that knows no telemetry, and Kotlin.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let (mut session, mut subjects, path) = Session::of_reads(lab, asked).await?;
    let collector = Collector::start().await?;
    collector.behave(Manners::Discards);
    for subject in &mut subjects {
        send(subject, &collector, lab).await?;
    }
    let is_kotlin = |subject: &Subject| subject.side.language == Language::Kotlin;
    let (kotlin, rust): (Vec<Subject>, Vec<Subject>) =
        subjects.iter().cloned().partition(is_kotlin);
    let casts = [kotlin, rust].map(|cast| {
        let pairs = pairs(&cast);
        (cast, pairs)
    });
    let duets = session.duets_of(casts.into(), &path).await?;
    let found = session.judged(&of_duets()?, &subjects, Vec::new(), Some(duets));
    let found = found.decided_by(&CPU_PER_REQUEST, &subjects);
    let exports = collector.seen(|received| received.exports);
    session.notes.push(format!(
        "the collector is the measuring process: it took {exports} exports of spans, and read none of them"
    ));
    session.notes.push(
        "all rows of one language run at the same time, and share the rate of a duet; rows of the other language run at another time"
            .to_owned(),
    );
    session.finish(&subjects, found).await
}

/// Has a row that keeps a share of its traces send them to this collector.
async fn send(subject: &mut Subject, collector: &Collector, lab: &Lab<'_>) -> anyhow::Result<()> {
    if subject.row.agent {
        // By properties, which the agent reads and the service doesn't: its own SDK stays off.
        let agent = maven::agent(lab.workspace).await?;
        let flags = [
            format!("-javaagent:{}", agent.display()),
            format!("-Dotel.exporter.otlp.endpoint={}", collector.url()),
            "-Dotel.service.name=records".to_owned(),
            "-Dotel.traces.sampler=parentbased_traceidratio".to_owned(),
            "-Dotel.logs.exporter=none".to_owned(),
        ];
        *subject = subject.with_flags(&flags, lab.scratch())?;
    } else if subject.launch.env.iter().any(|(name, _)| name == SHARE) {
        let endpoint = (ENDPOINT.to_owned(), collector.url());
        subject.launch.env.push(endpoint);
    }
    Ok(())
}
