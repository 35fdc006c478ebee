//! QR codes (exercises 17 to 20): random texts of two lengths, and the gate before it: do all sides draw the same codes?

use std::collections::BTreeMap;

use rand::RngExt;

use crate::reads;
use workshop_base::target::Language;
use workshop_harness::http::Answer;
use workshop_harness::qr::{self, QrCode};
use workshop_measure::protocol::experiment::Found;
use workshop_measure::protocol::gates::{self, Stage, not_the_same};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::load::{self, Reading, Step};
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::plan::Plan;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::Subject;
use workshop_results::key::{At, IMAGE, Key, PSS_AT_LOAD, THREADS, THROUGHPUT};
use workshop_results::metrics::Definition;
use workshop_results::statistics::mean;

/// The lengths of the texts in bytes: an address of a page, and the longest that is allowed.
pub const LENGTHS: [usize; 2] = [32, 512];
/// Texts of each length that are compared.
const COMPARED: usize = 20;
/// What ends the start of a tier.
const FIRST_CODE: &str = "/qrcode?text=ladder";

/// The mean sizes of the images in bytes, by side and length of their texts.
type ImageSizes = BTreeMap<(String, usize), f64>;

/// Begins a measurement of answers to `/qrcode`: all sides draw the same codes.
pub async fn begin<'a>(
    lab: &'a Lab<'a>,
    asked: &'a Asked,
) -> anyhow::Result<(Session<'a>, Vec<Subject>)> {
    let (mut session, mut subjects) = Session::begin(lab, asked, &asked.task).await?;
    session.show_load(&path(LENGTHS[0]));
    let progress = &session.progress;
    progress.part("the same work? codes of 40 texts read back");
    let images = gates::on_stages(lab.workspace, &subjects, &lab.database_url, judge).await?;
    session.notes.extend(notes_on(&images, &subjects));
    for subject in &mut subjects {
        let sizes = LENGTHS.into_iter().filter_map(|length| {
            let size = images.get(&(subject.id().to_owned(), length))?;
            Some((IMAGE.at(At::Bytes(length)), *size))
        });
        let sizes: Vec<(Key, f64)> = sizes.collect();
        subject.constants.extend(sizes);
        // A service for one route has no records.
        let first = subject.row.tier.map(|_| FIRST_CODE.to_owned());
        subject.first_path = first;
    }
    Ok((session, subjects))
}

/// Measures the answers, each side beside those that it is compared with.
pub async fn compare(session: &mut Session<'_>, subjects: &[Subject]) -> anyhow::Result<Found> {
    let definitions = definitions(&session.plan)?;
    let path = path(LENGTHS[0]);
    session.compare(subjects, &path, steps, &definitions).await
}

/// The loads of a block: texts of each length in a closed loop, then those of the first length at constant rates.
fn steps(plan: &Plan, shorter: &str, rates: &[(u32, f64)]) -> Vec<Step> {
    let mut steps = load::steps(plan, shorter, rates);
    steps[0]
        .readings
        .retain(|(reading, _)| *reading != Reading::Database);
    steps[0].readings.push((Reading::Pss, PSS_AT_LOAD));
    let longer = Step {
        path: path(LENGTHS[1]),
        readings: vec![
            (Reading::Rate, THROUGHPUT.at(At::Bytes(LENGTHS[1]))),
            (Reading::Threads, THREADS),
            (Reading::Pss, PSS_AT_LOAD),
        ],
        ..steps[0].clone()
    };
    steps.insert(1, longer);
    steps
}

fn definitions(plan: &Plan) -> anyhow::Result<Vec<Definition>> {
    let codes = metrics::of("codes", LENGTHS.map(At::Bytes))?;
    Ok(reads::of_load(plan)?.into_iter().chain(codes).collect())
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
            .filter_map(|subject| images.get(&(subject.id().to_owned(), length)))
            .map(|size| format!("{size:.0}"))
            .collect();
        // Neighbors that draw with the same code have images of the same size.
        sizes.dedup();
        if sizes.len() > 1 {
            notes.push(format!(
                "of the same {length} bytes, the images have {} bytes: the encoders judge the masks differently, and zlib and its counterparts in Rust do not deflate alike",
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

/// Compares the codes of every side with those of the first: the same texts must come back in codes of the same version and
/// level, in images of the same width and depth. The mask is the encoder's choice, so the images may differ in their bytes.
async fn judge(stages: &[Stage]) -> anyhow::Result<ImageSizes> {
    let mut sizes: BTreeMap<(String, usize), Vec<f64>> = BTreeMap::new();
    for length in LENGTHS {
        for _ in 0..COMPARED {
            let text = text(length);
            let answers = gates::ask_all(stages, &format!("/qrcode?text={text}")).await?;
            let mut first = None;
            for (Stage { id, .. }, answer) in stages.iter().zip(&answers) {
                let code = code_of(answer, &text)
                    .map_err(|wrong| not_the_same(id, format!("{id} {wrong}")))?;
                let (drawn_by, expected) = first.get_or_insert_with(|| (id, code.clone()));
                if code != *expected {
                    let reason = format!(
                        "they do not do the same work: for {text:?}, {drawn_by} drew {expected:?}, but {id} drew {code:?}"
                    );
                    return Err(not_the_same(id, reason));
                }
                let of_side = sizes.entry((id.clone(), length)).or_default();
                of_side.push(answer.body().len() as f64);
            }
        }
    }
    let means = sizes.into_iter();
    Ok(means.map(|(of, sizes)| (of, mean(sizes))).collect())
}

/// The code in an answer, which must hold this text.
fn code_of(answer: &Answer, text: &str) -> Result<QrCode, String> {
    let code = qr::code_of(answer).map_err(|failure| {
        let (length, got) = (text.len(), failure.actual);
        format!("answered a text of {length} bytes with {got}")
    })?;
    if code.text != text {
        return Err(format!("drew {:?} for {text:?}", code.text));
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::file::Mode;
    use workshop_results::key::CPU_PER_REQUEST_SATURATED;

    #[test]
    fn every_key_has_its_definition() {
        let plan = Plan::of("process", Mode::Standard).unwrap();
        let defined = definitions(&plan).unwrap();
        let steps = steps(&plan, "", &[(60, 100.0)]);
        let keys = steps
            .iter()
            .flat_map(|step| &step.readings)
            .map(|(_, key)| key);
        for key in keys.filter(|key| **key != CPU_PER_REQUEST_SATURATED) {
            assert!(
                defined.iter().any(|definition| definition.key == *key),
                "{key}"
            );
        }
    }

    #[test]
    fn the_question_mark_of_the_path_is_no_part_of_the_expression() {
        assert_eq!(path(32), r"/qrcode\?text=[a-z]{32}");
        assert_eq!(text(512).len(), 512);
    }
}
