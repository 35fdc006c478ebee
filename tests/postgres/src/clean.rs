//! Taking everything away again: containers, the embedded server, its data, databases on the user's server.

use crate::docker;

use crate::Lock;
use crate::Provide;
use crate::Settings;
use crate::docker::Containers;
use crate::embedded::Embedded;
use crate::image;
use crate::url::Url;
use workshop_base::workspace::Workspace;

/// What `clean` did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// What is gone, one line each.
    pub removed: Vec<String>,
    /// What is of ours and still there, and how it goes; one line each.
    pub left: Vec<String>,
}

/// Stops and removes every server, container and database that this checkout started or made, with their data, and
/// whatever of it lies outside the checkout. What learners made (attempts, results) and the tools stay. The image of
/// `just image` goes when `with_image` says so: other checkouts may use it.
///
/// # Errors
/// When something of ours cannot be removed.
pub async fn clean(workspace: &Workspace, with_image: bool) -> anyhow::Result<Cleaned> {
    // A typing error in a variable must not keep anybody from cleaning.
    let settings = Settings::from_env().unwrap_or_default();
    let _turn = Lock::take(workspace, "postgres", "starts the database").await?;
    let mut cleaned = Cleaned::default();
    match docker::engine().await {
        Ok(engine) => {
            cleaned
                .removed
                .extend(Containers::new(&settings).clean(workspace).await?);
            for name in image::local(&engine).await {
                if with_image {
                    image::remove(&engine, &name).await?;
                    cleaned.removed.push(format!("the image {name}"));
                } else {
                    cleaned.left.push(format!(
                        "the image {name}, for all checkouts: just clean --image removes it"
                    ));
                }
            }
        }
        Err(unusable) if docker::note(workspace).exists() => {
            cleaned.left.push(format!(
                "a container, for {unusable}: start the engine, then just clean again"
            ));
        }
        Err(_) => {}
    }
    cleaned
        .removed
        .extend(Embedded::new(&settings).clean(workspace).await?);
    match (&settings.url, std::fs::read_to_string(Url::note(workspace))) {
        (Some(url), Ok(_)) => cleaned
            .removed
            .extend(Url::new(url).clean(workspace).await?),
        // Perhaps never used, perhaps its note is gone: what can be found is removed, no answer is no error.
        (Some(url), Err(_)) => cleaned
            .removed
            .extend(Url::new(url).clean(workspace).await.unwrap_or_default()),
        (None, Ok(place)) => cleaned.left.push(format!(
            "databases on {}: set WORKSHOP_DATABASE_URL to that server, then just clean again",
            place.trim()
        )),
        (None, Err(_)) => {}
    }
    if cleaned
        .left
        .iter()
        .all(|line| line.starts_with("the image"))
    {
        match std::fs::remove_dir_all(workspace.state().join("postgres")) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(cleaned)
}
