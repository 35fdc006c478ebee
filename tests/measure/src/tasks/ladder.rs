//! The ladder (exercise 12): `GET /qrcode` at every depth in one run, from the Kotlin service alone to a service in Rust.

use std::time::Duration;

use crate::protocol::front::FrontLaunch;
use crate::protocol::lab::Lab;
use crate::protocol::plan::Plan;
use crate::protocol::progress::Progress;
use crate::protocol::subject::Subject;
use crate::tables::ladder::{self, Tier};
use crate::tasks::load::Wanted;
use crate::tasks::qrcode;
use workshop_base::exercise::Catalogue;
use workshop_base::target::Target;
use workshop_harness::nginx;
use workshop_results::file::ResultFile;

/// What ends the start of every tier alike: a service that stands for one route has no records.
const FIRST_CODE: &str = "/qrcode?text=ladder";

/// Measures the tiers' answers to `/qrcode`: the Kotlin service alone, the references of the exercises before this one, and
/// the target.
///
/// # Errors
/// As [`qrcode::measure`].
pub async fn measure(lab: &Lab<'_>, target: Target, wanted: &Wanted) -> anyhow::Result<ResultFile> {
    let (tiers, subjects): (Vec<u8>, Vec<Subject>) = subjects(lab, target, wanted.exercise)
        .await?
        .into_iter()
        .unzip();
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
    let tiers = tiers.into_iter().zip(&subjects);
    let tiers = tiers.map(|(tier, subject)| Tier {
        tier,
        side: subject.id().to_owned(),
    });
    let tiers: Vec<Tier> = tiers.collect();
    Ok(ResultFile {
        tables: ladder::tables(&result, &tiers),
        ..result
    })
}

/// The subjects with their tiers, from the ground up. The last tier has two: the target asked directly, and behind nginx.
async fn subjects(
    lab: &Lab<'_>,
    target: Target,
    exercise: u8,
) -> anyhow::Result<Vec<(u8, Subject)>> {
    let catalogue = Catalogue::read(lab.workspace)?;
    let kotlin = lab.subject(Target::Kotlin).await?;
    let beside = kotlin.launch.clone();
    let mut subjects = vec![(0, kotlin.labelled("Kotlin alone"))];
    let part = &catalogue.get(exercise)?.part;
    let below = catalogue
        .iter()
        .filter(|step| step.part == *part && step.number < exercise);
    for (step, tier) in below.zip(1..) {
        let reference = lab.subject(Target::Solution(step.number)).await?;
        subjects.push((tier, reference.labelled(&step.title)));
    }
    let top = subjects.len() as u8;
    let service = lab.subject(target).await?;
    let front = FrontLaunch {
        configuration: service.launch.directory.join(nginx::FOLDER),
        kotlin: beside,
    };
    let behind = service
        .clone()
        .renamed(&format!("{target}-behind-nginx"), "The same behind nginx")
        .behind(front);
    subjects.extend([(top, service.labelled("A service in Rust")), (top, behind)]);
    let asked = |(tier, subject): (u8, Subject)| (tier, subject.first_asked(FIRST_CODE.to_owned()));
    Ok(subjects.into_iter().map(asked).collect())
}

/// What a reader of the table must know.
fn notes() -> [String; 5] {
    [
        "all tiers up to the library are the Kotlin service on the same JVM; they differ in who draws the code, and the crates are those of the references".to_owned(),
        "the service in Rust has this one route, and is asked directly; its row behind nginx counts nginx, and a Kotlin service that has the other routes and is asked for none".to_owned(),
        "the start of the row behind nginx is that of the service in Rust alone".to_owned(),
        "the shared rate comes from the slowest tier; for the others it is light work".to_owned(),
        "memory is that of all processes of a tier together; on a JVM it is what the policy of the default heap takes, not what the tier needs".to_owned(),
    ]
}
