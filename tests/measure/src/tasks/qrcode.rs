//! The load of QR codes (exercises 9 to 12): random texts of two lengths, and the gate before it: do both sides draw the
//! same codes?

use std::collections::BTreeMap;
use std::time::Duration;

use rand::RngExt;

use crate::protocol::block;

use crate::protocol::block::Loads;

use crate::protocol::block::Observed;
use crate::protocol::gates;
use crate::protocol::gates::SameWork;
use crate::protocol::lab;
use crate::protocol::lab::Lab;
use crate::protocol::plan::CONNECTIONS;
use crate::protocol::plan::HEADLINE_RATE;
use crate::protocol::plan::Plan;
use crate::protocol::progress::Progress;
use crate::protocol::session::Session;
use crate::protocol::session::sides_of;
use crate::protocol::subject::Subject;
use crate::tasks::load;
use crate::tasks::load::Wanted;
use crate::tools::oha::Load;
use crate::tools::oha::Oha;
use crate::tools::oha::Order;
use workshop_base::outcome::Trouble;
use workshop_base::process;
use workshop_base::target::Language;
use workshop_harness::http::Answer;
use workshop_harness::qr;
use workshop_harness::service::Service;
use workshop_results::file::ResultFile;
use workshop_results::metrics;
use workshop_results::metrics::PSS_LOADED;
use workshop_results::metrics::text_end;
use workshop_results::statistics::mean;

/// The lengths of the texts in bytes: an address of a page, and the longest that is allowed.
const LENGTHS: [usize; 2] = [32, 512];
/// Texts of each length that are compared.
const COMPARED: usize = 20;
/// Between two looks at the memory. Adding up a JVM's pages takes the kernel milliseconds.
const SAMPLE: Duration = Duration::from_millis(500);

/// The mean sizes of the images in bytes, by side and by the length of their texts.
type ImageSizes = BTreeMap<String, BTreeMap<usize, f64>>;

/// Measures the subjects' answers to `/qrcode`, those of the Kotlin service alone first; before that, what the exercise looks
/// at by itself.
///
/// # Errors
/// When the subjects do not draw the same codes (the outcome is *failed*), a service does not start, or a tool is missing.
pub async fn measure<T>(
    lab: &Lab<'_>,
    subjects: &[Subject],
    wanted: &Wanted,
    plan: Plan,
    first_takes: Duration,
    first: impl AsyncFnOnce(&Progress) -> anyhow::Result<T>,
) -> anyhow::Result<(ResultFile, T)> {
    let oha = Oha::find(lab.workspace)?;
    let expected = plan.expected(sides_of(subjects)) + first_takes;
    load::announce(subjects, plan.rounds, expected);
    println!(
        "the load:  {CONNECTIONS} connections, by oha with --rand-regex-url '…{}', then with {} letters",
        path(LENGTHS[0]),
        LENGTHS[1]
    );
    let progress = Progress::begin(expected);
    progress.part("the same work? codes of 40 texts read back");
    let images = same_work(lab, subjects).await?;
    let found = first(&progress).await?;

    let mut session = Session::new(lab, &oha, plan, progress);
    let mut loads = Codes {
        rates: Vec::new(),
        images: &images,
    };
    loads.rates = session.shared_rates(subjects, &loads).await?;
    let blocks = session.rounds(subjects, &mut loads).await?;

    let sides: Vec<String> = subjects
        .iter()
        .map(|subject| subject.id().to_owned())
        .collect();
    let metrics = metrics::from_blocks(
        &metrics::of_codes(&LENGTHS, &session.plan.rates, HEADLINE_RATE, CONNECTIONS),
        &blocks.records,
        &sides,
        &load::against_the_first(subjects),
        session.plan.rounds_needed(),
    );
    let mut notes = load::standing_notes(subjects, wanted.mode, &SameWork::default());
    notes.extend(notes_on(&images, subjects));
    let mut manifest = lab.manifest(subjects);
    manifest.connections = CONNECTIONS;
    manifest.rates = loads
        .rates
        .iter()
        .map(|(percent, rate)| (percent.to_string(), *rate))
        .collect();
    lab::complete(&mut manifest, &blocks.records, session.progress.gone());
    let invalid = load::invalid(&metrics, "throughput", &sides);
    let result = load::assembled(subjects, wanted, manifest, metrics, blocks, notes);
    Ok((ResultFile { invalid, ..result }, found))
}

fn notes_on(images: &ImageSizes, subjects: &[Subject]) -> Vec<String> {
    let mut notes = Vec::new();
    if subjects
        .iter()
        .all(|subject| subject.runs_as == Language::Kotlin)
    {
        notes.push(
            "both sides are the Kotlin service on the same JVM; they differ in who draws the code"
                .to_owned(),
        );
    }
    for length in LENGTHS {
        let mut sizes: Vec<String> = subjects
            .iter()
            .filter_map(|subject| images.get(subject.id())?.get(&length))
            .map(|size| format!("{size:.0}"))
            .collect();
        // All that is drawn in Rust is drawn by the same code.
        sizes.dedup();
        if sizes.len() > 1 {
            notes.push(format!(
                "of the same {length} bytes, the images have {} bytes: the encoders judge the masks differently, and zlib and its counterpart in Rust do not deflate alike",
                sizes.join(" and ")
            ));
        }
    }
    notes
}

/// What is asked for: random texts of this length.
pub fn path(length: usize) -> String {
    // The question mark would otherwise make the e optional.
    format!(r"/qrcode\?text=[a-z]{{{length}}}")
}

/// Random letters.
pub fn text(length: usize) -> String {
    let mut random = rand::rng();
    (0..length)
        .map(|_| char::from(random.random_range(b'a'..=b'z')))
        .collect()
}

/// Holds the codes of every side against those of the first: the same texts must come back in codes of the same version and
/// level, in images of the same width and depth. The mask is the encoder's choice, so the images may differ in their bytes.
///
/// # Errors
/// When a service does not start, or draws something else (the outcome is *failed*).
async fn same_work(lab: &Lab<'_>, subjects: &[Subject]) -> anyhow::Result<ImageSizes> {
    let of: Vec<&Subject> = subjects.iter().collect();
    let stages = gates::start(lab.workspace, &of, &lab.database_url).await?;
    let verdict = judge(&stages).await;
    gates::stop(stages).await;
    verdict.map_err(|reason| {
        Trouble::new(format!("invalid: {reason}"))
            .expected("services that do the same work; a comparison of anything else says nothing")
            .next(format!(
                "just check {}",
                subjects.last().map_or("kotlin", Subject::id)
            ))
            .failed()
            .into()
    })
}

async fn judge(stages: &[gates::Stage]) -> Result<ImageSizes, String> {
    let mut sizes: BTreeMap<String, BTreeMap<usize, Vec<f64>>> = BTreeMap::new();
    for length in LENGTHS {
        for _ in 0..COMPARED {
            let text = text(length);
            let answers = gates::ask_all(stages, &format!("/qrcode?text={text}")).await?;
            agree(stages, &answers, &text)?;
            for (stage, answer) in stages.iter().zip(&answers) {
                let of_side = sizes.entry(stage.id.clone()).or_default();
                let bytes = answer.body().len() as f64;
                of_side.entry(length).or_default().push(bytes);
            }
        }
    }
    let means = sizes.into_iter().map(|(side, lengths)| {
        let lengths = lengths.into_iter();
        let means = lengths.map(|(length, sizes)| (length, mean(sizes)));
        (side, means.collect())
    });
    Ok(means.collect())
}

fn agree(stages: &[gates::Stage], answers: &[Answer], text: &str) -> Result<(), String> {
    let mut codes = Vec::new();
    for (stage, answer) in stages.iter().zip(answers) {
        let code = qr::code_of(answer).map_err(|failure| {
            let got = failure.actual;
            format!(
                "{} answered a text of {} bytes with {got}",
                stage.id,
                text.len()
            )
        })?;
        if code.text != text {
            return Err(format!("{} drew {:?} for {text:?}", stage.id, code.text));
        }
        codes.push((&stage.id, code));
    }
    match codes.iter().find(|(_, code)| *code != codes[0].1) {
        None => Ok(()),
        Some((other, code)) => Err(format!(
            "they do not do the same work: for {text:?}, {} drew {:?}, but {other} drew {code:?}",
            codes[0].0, codes[0].1
        )),
    }
}

/// The loads of a block: texts of each length in a closed loop, then those of the first length at constant rates (percent of
/// the slower side's saturation, requests per second).
struct Codes<'a> {
    rates: Vec<(u32, f64)>,
    images: &'a ImageSizes,
}

impl Loads for Codes<'_> {
    fn keys(&self, _subject: &Subject) -> Vec<String> {
        keys(&self.rates)
    }

    fn warm_up(&self, _session: &Session<'_>, service: &Service, window: Duration) -> Order {
        block::order_for(&path(LENGTHS[0]), service, window, Load::Closed)
    }

    async fn put_on(
        &mut self,
        session: &mut Session<'_>,
        subject: &Subject,
        service: &Service,
        observed: &mut Observed,
        title: &str,
    ) -> anyhow::Result<()> {
        for length in LENGTHS {
            session.progress.phase(&format!(
                "{title}: closed loop, {CONNECTIONS} connections, texts of {length} bytes"
            ));
            saturate(session, service, length, observed).await?;
            let images = self.images.get(subject.id());
            let image = images.and_then(|images| images.get(&length));
            observed.value(format!("image{}", text_end(length)), image.copied());
        }
        for (percent, rate) in &self.rates {
            session
                .progress
                .phase(&format!("{title}: open loop, {rate:.0} requests/s"));
            let load = Load::Open(*rate);
            let order = block::order_for(&path(LENGTHS[0]), service, session.plan.open, load);
            block::offer(session, &order, service, *percent, observed).await?;
        }
        Ok(())
    }
}

fn keys(rates: &[(u32, f64)]) -> Vec<String> {
    let closed = LENGTHS.iter().flat_map(|length| closed_keys(*length));
    let open = rates.iter();
    closed
        .chain(open.flat_map(|(percent, _)| block::keys_at(*percent)))
        .chain([PSS_LOADED, "threads"].map(str::to_owned))
        .collect()
}

/// The metrics of the closed loop with texts of this length: those of the first length are the ones that every load has.
fn closed_keys(length: usize) -> [String; 2] {
    let end = if length == LENGTHS[0] {
        String::new()
    } else {
        text_end(length)
    };
    ["throughput", "cpu_per_request"].map(|key| format!("{key}{end}"))
}

async fn saturate(
    session: &Session<'_>,
    service: &Service,
    length: usize,
    observed: &mut Observed,
) -> anyhow::Result<()> {
    let each = session.plan.saturation / LENGTHS.len() as u32;
    let order = block::order_for(&path(length), service, each, Load::Closed);
    let pids = service.pids();
    let (watched, pss_kb) = with_memory(&pids, block::watched(session, &order, &pids)).await;
    let (run, cpu, threads) = watched?;
    let keys = closed_keys(length);
    if let Err(reason) = run.gate(&order) {
        observed.invalid(&keys, &reason);
        return Ok(());
    }
    let values = [Some(run.rate), block::per_request_us(cpu, &run)];
    for (key, value) in keys.into_iter().zip(values) {
        observed.value(key, value);
    }
    let most = |key: &str, value: Option<f64>| {
        let before = observed.values.get(key).copied();
        value.map(|value| before.map_or(value, |before| before.max(value)))
    };
    let pss = most(PSS_LOADED, pss_kb.map(block::megabytes));
    let threads = most("threads", threads.map(|threads| threads as f64));
    observed.value(PSS_LOADED, pss);
    observed.value("threads", threads);
    if length == LENGTHS[0] {
        observed.value(block::GENERATOR_SHARE, run.generator_share);
    }
    Ok(())
}

/// Runs a load with an eye on the memory of the processes and their children: the most that was seen.
async fn with_memory<T>(pids: &[u32], load: impl Future<Output = T>) -> (T, Option<u64>) {
    tokio::pin!(load);
    let mut most = None;
    loop {
        tokio::select! {
            done = &mut load => return (done, most),
            () = tokio::time::sleep(SAMPLE) => most = most.max(process::tree_pss_kb(pids)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_definition() {
        let defined = metrics::of_codes(&LENGTHS, &[HEADLINE_RATE], HEADLINE_RATE, CONNECTIONS);
        for key in keys(&[(HEADLINE_RATE, 100.0)]) {
            assert!(
                defined.iter().any(|definition| definition.key == key),
                "{key} has no definition"
            );
        }
    }

    #[test]
    fn the_question_mark_of_the_path_is_no_part_of_the_expression() {
        assert_eq!(path(32), r"/qrcode\?text=[a-z]{32}");
        assert_eq!(text(512).len(), 512);
    }
}
