//! What every part of the tool needs: the checkout, the exercises in it, files, processes, and errors for people.

pub mod calls;
pub mod container;
pub mod environment;
pub mod exercise;
pub mod files;
pub mod fix;
pub mod language;
pub mod lock;
pub mod mistakes;
pub mod open_files;
pub mod originals;
pub mod outcome;
pub mod patches;
pub mod peer;
pub mod probe;
pub mod process;
pub mod program;
pub mod scratch;
pub mod source;
pub mod target;
pub mod terminal;
pub mod version;
pub mod wait;
pub mod workspace;
