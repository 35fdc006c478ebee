//! Docker: the engine as commands find it, and the image. The workshop works without.

use tokio::time::timeout;

use crate::doctor::report::{Finding, State};
use workshop_base::fix::Fix;
use workshop_base::probe::QUICK;
use workshop_postgres::{OFFICIAL_IMAGE, docker_engine, docker_image};

/// Whether containers can be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    /// It answers and has an image.
    Ready,
    /// It answers, and the image has to come from a registry first.
    WithoutImage,
    /// It does not, or there is none.
    No,
}

/// The engine, and the image that is asked for on it.
pub(super) async fn examine(asked: Option<&str>) -> (Vec<Finding>, Engine) {
    let engine = Finding::found("docker engine", docker_engine().await);
    if engine.state != State::Ok {
        return (vec![engine], Engine::No);
    }
    let (name, wanted) = ("docker image", asked.unwrap_or(OFFICIAL_IMAGE));
    if let Ok(Ok(Some(image))) = timeout(QUICK, docker_image(asked)).await {
        return (vec![engine, Finding::ok(name, image)], Engine::Ready);
    }
    let detail = format!("{wanted} is not here yet; it is pulled at first use");
    let pull = format!("docker pull {wanted}, or docker load where there is no registry");
    let image = Finding::fault("missing", name, detail, Fix::yourself(pull));
    (vec![engine, image], Engine::WithoutImage)
}
