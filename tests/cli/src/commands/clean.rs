//! `just clean`: removes what the course started and made outside the learner's own files. Exit 1 where some of it is still there.

use workshop_base::outcome::Outcome;
use workshop_base::scratch;
use workshop_base::workspace::Workspace;

pub async fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let cleaned = workshop_postgres::clean(workspace).await?;
    for line in &cleaned.removed {
        println!("removed {line}");
    }
    for line in &cleaned.left {
        println!("still there: {line}");
    }
    let mut swept = scratch::sweep();
    swept.extend(scratch::sweep_checkout(workspace));
    for folder in &swept {
        println!("removed {}", folder.display());
    }
    if cleaned.removed.is_empty() && cleaned.left.is_empty() && swept.is_empty() {
        println!("nothing to remove");
    }
    println!("your attempts, results and the tools are untouched");
    Ok(Outcome::of(cleaned.left.is_empty()))
}
