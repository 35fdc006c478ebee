//! Taking everything away again: containers, the embedded server, its data, databases on the user's server.

use crate::settings::ProviderSettings;
use crate::{choice, docker, embedded, engine, url};
use workshop_base::files;
use workshop_base::workspace::Workspace;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// What is gone, one line each.
    pub removed: Vec<String>,
    /// What is of ours and still there, and how it goes; one line each.
    pub left: Vec<String>,
}

/// Stops and removes every server, container and database that this checkout started or made, with their data, and
/// whatever of it lies outside the checkout. What learners made (attempts, results) and the tools stay.
pub async fn clean(workspace: &Workspace) -> anyhow::Result<Cleaned> {
    // A typing error in a variable must not keep anybody from cleaning.
    let settings = ProviderSettings::from_env().unwrap_or_default();
    let _turn = choice::turn(workspace).await?;
    let Cleaned {
        mut removed,
        mut left,
    } = Cleaned::default();
    match engine::answers().await {
        Ok(_) => removed.extend(docker::clean(workspace).await?),
        Err(trouble) if docker::note(workspace).exists() => {
            let why = trouble.to_string();
            let why = why.lines().next().unwrap_or_default();
            left.push(format!(
                "a container, for {why}: start the engine, then just clean again"
            ));
        }
        Err(_) => {}
    }
    let [embedded, runs_elsewhere] = embedded::clean(workspace).await?;
    removed.extend(embedded);
    left.extend(runs_elsewhere);
    match (&settings.url, std::fs::read_to_string(url::note(workspace))) {
        (Some(url), Ok(_)) => removed.extend(url::clean(url, workspace).await?),
        // Perhaps never used, perhaps its note is gone: what can be found is removed, no answer is no error.
        (Some(url), Err(_)) => removed.extend(url::clean(url, workspace).await.unwrap_or_default()),
        (None, Ok(place)) => left.push(format!(
            "databases on {}: set WORKSHOP_DATABASE_URL to that server, then just clean again",
            place.trim()
        )),
        (None, Err(_)) => {}
    }
    if left.is_empty() {
        files::remove(&workspace.state().join("postgres"))?;
    }
    Ok(Cleaned { removed, left })
}
