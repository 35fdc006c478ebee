//! The ladder (exercise 12): `GET /qrcode` at every depth in one run, from the Kotlin service alone to a service in Rust.

use std::time::Duration;

use super::lab::Lab;
use super::load::Wanted;
use super::progress::Progress;
use super::protocol::Plan;
use super::qrcode;
use super::results::{Ladder, ResultFile, Tier};
use super::subject::Subject;
use crate::exercise::{Catalogue, Part};
use crate::target::Target;

/// What ends the start of every tier alike: a service that stands for one route has no records.
const FIRST_CODE: &str = "/qrcode?text=ladder";

/// Measures the tiers' answers to `/qrcode`: the Kotlin service alone, the references of the exercises before this one, and
/// the target.
///
/// # Errors
/// As [`qrcode::measure`].
pub async fn measure(lab: &Lab<'_>, target: Target, wanted: &Wanted) -> anyhow::Result<ResultFile> {
    let subjects = tiers(lab, target, wanted.exercise).await?;
    let plan = Plan::ladder(wanted.mode);
    let nothing = async |_: &Progress| Ok(());
    let (mut result, ()) =
        qrcode::measure(lab, &subjects, wanted, plan, Duration::ZERO, nothing).await?;
    for metric in &mut result.metrics {
        if metric.key == "start_up" {
            metric.how = "from spawn to the first code".to_owned();
        }
    }
    result.notes.extend(notes());
    let tiers = subjects.iter().zip(0..);
    let tiers = tiers.map(|(subject, tier)| Tier {
        tier,
        side: subject.id().to_owned(),
    });
    Ok(ResultFile {
        ladder: Some(Ladder {
            tiers: tiers.collect(),
        }),
        ..result
    })
}

/// The subjects from the ground up.
async fn tiers(lab: &Lab<'_>, target: Target, exercise: u8) -> anyhow::Result<Vec<Subject>> {
    let catalogue = Catalogue::read(lab.workspace)?;
    let kotlin = lab.subject(Target::Kotlin).await?;
    let mut tiers = vec![kotlin.labelled("Kotlin alone")];
    let below = catalogue
        .iter()
        .filter(|step| step.part == Part::Ladder && step.number < exercise);
    for step in below {
        let reference = lab.subject(Target::Solution(step.number)).await?;
        tiers.push(reference.labelled(&step.title));
    }
    let service = lab.subject(target).await?;
    tiers.push(service.labelled("A service in Rust"));
    let started = |tier: Subject| tier.first_asked(FIRST_CODE.to_owned());
    Ok(tiers.into_iter().map(started).collect())
}

/// What a reader of the table must know.
fn notes() -> [String; 4] {
    [
        "all tiers up to the library are the Kotlin service on the same JVM; they differ in who draws the code, and the crates are those of the references".to_owned(),
        "the service in Rust has this one route, and is asked directly; beside a Kotlin service that goes on, its memory comes on top".to_owned(),
        "the shared rate comes from the slowest tier; for the others it is light work".to_owned(),
        "memory is that of all processes of a tier together; on a JVM it is what the policy of the default heap takes, not what the tier needs".to_owned(),
    ]
}
