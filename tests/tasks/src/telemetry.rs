//! The price of being seen (exercise 21): the same reads without telemetry, with telemetry that is sent nowhere, and with one trace in a
//! hundred, or all of them, sent to a collector.

use workshop_harness::collector::{Collector, Manners};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::load;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_results::file::ResultFile;

use crate::reads;

/// The variable of the rows that send: the share of traces that they keep.
const SHARE: &str = "OTEL_TRACES_SAMPLER_ARG";

/// Measures a target that sends what its row says, the reference before it, and Kotlin.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let (mut session, mut subjects, path) = Session::of_reads(lab, asked).await?;
    let collector = Collector::start().await?;
    collector.behave(Manners::Discards);
    for subject in &mut subjects {
        let env = &mut subject.launch.env;
        if env.iter().any(|(name, _)| name == SHARE) {
            env.push(("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), collector.url()));
        }
    }
    let definitions = reads::of_load(&session.plan)?;
    let found = session
        .compare(&subjects, &path, load::steps, &definitions)
        .await?;
    session.notes.push(format!(
        "the collector is this process: it took {} exports of spans, and read none of them. At saturation a service may drop spans; \
         the CPU per request is from duets, below it",
        collector.seen(|received| received.exports)
    ));
    session.finish(&subjects, found).await
}
