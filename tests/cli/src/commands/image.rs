//! `just image TARGET`: the image of a service, which is tried out and removed again.

use workshop_base::outcome::{Outcome, Trouble, last_lines};
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::container::{Image, ImageTrial};

/// Runs the command.
pub async fn run(workspace: &Workspace, target: Target, keep: bool) -> anyhow::Result<Outcome> {
    let image = Image::build(workspace, target).await?;
    println!(
        "built {}: {} unpacked, {} packed",
        image.name,
        megabytes(image.unpacked),
        megabytes(image.packed)
    );
    let tried = image.try_out().await;
    if keep {
        println!("it is kept: docker image rm {} removes it", image.name);
    } else {
        image.remove().await?;
    }
    judge(target, &tried?)
}

fn judge(target: Target, trial: &ImageTrial) -> anyhow::Result<Outcome> {
    let status = trial
        .status
        .map_or("no answer".to_owned(), |status| format!("status {status}"));
    println!(
        "ran as user {}: {}, and {status} to GET /health from outside",
        trial.user, trial.health
    );
    if trial.user != 0 && trial.health == "healthy" && trial.status == Some(200) {
        return Ok(Outcome::Passed);
    }
    let log = last_lines(&trial.log);
    Trouble::new(format!(
        "the image of {target} does not work as a service{log}"
    ))
    .expected("a user other than 0, a health check that passes, and status 200")
    .next(format!("read the lines above, and {target}'s Dockerfile"))
    .failed()
    .err()
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
