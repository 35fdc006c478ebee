//! The nginx of this machine, which exercise 20 puts in front of both services.

use std::path::Path;

use super::runtime::{self, Runtime};
use workshop_base::outcome::Trouble;

/// The folder of an exercise that holds the configuration.
pub const FOLDER: &str = "nginx";
/// The oldest nginx that can be told to write nowhere but in its folder.
const OLDEST: &str = "1.20";

/// The nginx of this machine, which something needs.
pub async fn needed() -> Result<Runtime, Trouble> {
    let found = runtime::find("nginx", OLDEST, Path::new("/")).await;
    found.map_err(|lack| {
        lack.led_by("no usable nginx was found")
            .expected("nginx, which runs in front of both services in exercise 20")
            .next("just doctor")
    })
}
