//! A service in which peers meet. The tests run one after the other on it, each with peers of its own.

use super::{Scenario, When, stage, steady};
use crate::service::Settings;
use workshop_base::open_files;

pub use super::asked as test;

/// The maximum number of peers at a time.
pub const PEERS: usize = 2000;
/// `PEER_QUEUE`: small, so that a peer that does not read is noticed soon.
const QUEUE: u32 = 64;

pub static SCENARIO: Scenario = Scenario::new("peers", When::Waiting, 4, |place, tests| {
    let settings = Settings {
        peer_queue: QUEUE,
        ..stage::settings(steady::TIMEOUT)
    };
    Box::pin(async move {
        open_files::allow_sockets(PEERS, &format!("{PEERS} peers"))?;
        place.stage_with(settings).await?.ask(tests).await
    })
});
