//! What the tool and `workshop-container`, which talks to the Docker engine, tell each other: JSON on the program's input and output.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The program, beside the tool.
pub const PROGRAM: &str = "workshop-container";

/// A container that shall run: it is reused, restarted, or made.
#[derive(Serialize, Deserialize)]
pub struct WantedContainer {
    /// The image, with its tag; it is pulled when the engine does not have it.
    pub image: String,
    pub name: String,
    pub labels: BTreeMap<String, String>,
    /// The environment of what runs in it.
    pub variables: BTreeMap<String, String>,
    pub command: Vec<String>,
    /// The TCP port in the container that is published; the engine chooses the one outside.
    pub port: u16,
    pub shared_memory: u64,
    /// Whether only this machine may reach the port.
    pub only_local: bool,
    /// How long it may take to start.
    pub patience: Duration,
}

/// What became of it.
#[derive(Serialize, Deserialize)]
pub enum ContainerAnswer {
    /// It runs, and is reached here.
    Runs { id: String, host: String, port: u16 },
    /// Its image is not here and cannot be pulled, for this reason.
    NoImage(String),
}
