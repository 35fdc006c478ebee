//! The ladder (exercise 12): `GET /qrcode` at every depth in one run, from the Kotlin service alone to a service in Rust.

use std::time::Duration;

use crate::protocol::experiment::Asked;
use crate::protocol::front::FrontLaunch;
use crate::protocol::lab::Lab;
use crate::protocol::subject::Subject;
use crate::tables::ladder::{self, Tier};
use crate::tasks::codes;
use workshop_base::exercise::Catalogue;
use workshop_base::target::Target;
use workshop_harness::nginx;
use workshop_results::file::ResultFile;

/// What ends the start of every tier alike: a service for one route has no records.
const FIRST_CODE: &str = "/qrcode?text=ladder";
/// What a reader of the table must know.
const NOTES: [&str; 5] = [
    "all tiers up to the library are the Kotlin service on the same JVM; they differ in who draws the code, and the crates are those of the references",
    "the service in Rust has this one route, and is asked directly; its row behind nginx counts nginx, and a Kotlin service that has the other routes and is asked for none",
    "the start of the row behind nginx is that of the service in Rust alone; a start ends with the first code",
    "the shared rate comes from the slowest tier; for the others it is light work",
    "memory is that of all processes of a tier together; on a JVM it is what the policy of the default heap takes, not what the tier needs",
];

/// Measures the tiers' answers to `/qrcode`: the Kotlin service alone, the references of the exercises before this one, and
/// the target.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let tiers = tiers(lab, asked).await?;
    let subjects: Vec<Subject> = tiers.iter().map(|(_, subject)| subject.clone()).collect();
    let nothing = async |_: &_| Ok(());
    let measured = codes::measure(lab, asked, &asked.task, subjects, Duration::ZERO, nothing);
    let (mut experiment, ()) = measured.await?;
    experiment.notes.extend(NOTES.map(str::to_owned));
    let mut result = experiment.finish().await;
    let tiers = tiers.into_iter().map(|(tier, subject)| Tier {
        tier,
        side: subject.id().to_owned(),
    });
    result.tables = ladder::tables(&result, &tiers.collect::<Vec<_>>());
    Ok(result)
}

/// The subjects with their tiers, from the ground up. The last tier has two: the target asked directly, and behind nginx.
async fn tiers(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<Vec<(u8, Subject)>> {
    let catalogue = Catalogue::read(lab.workspace)?;
    let part = &catalogue.get(asked.exercise)?.part;
    let kotlin = lab.subject(Target::Kotlin).await?;
    let beside = kotlin.launch.clone();
    let mut tiers = vec![(0, kotlin.labelled("Kotlin alone"))];
    let below = catalogue
        .iter()
        .filter(|step| step.part == *part && step.number < asked.exercise);
    for (step, tier) in below.zip(1..) {
        let reference = lab.subject(Target::Solution(step.number)).await?;
        tiers.push((tier, reference.labelled(&step.title)));
    }
    let top = tiers.len() as u8;
    let service = lab.subject(asked.target).await?;
    let front = FrontLaunch {
        configuration: service.launch.directory.join(nginx::FOLDER),
        kotlin: beside,
    };
    let mut behind = service.clone().renamed(
        &format!("{}-behind-nginx", asked.target),
        "The same behind nginx",
    );
    behind.front = Some(front);
    tiers.extend([(top, service.labelled("A service in Rust")), (top, behind)]);
    for (_, subject) in &mut tiers {
        subject.first_path = Some(FIRST_CODE.to_owned());
    }
    Ok(tiers)
}
