//! Siblings: code that a chapter shows instead of what the next exercise asks for. They use the same crates in the same way, and do
//! something else. What needs no crate but Tokio is an example in `tests/book/examples`, where readers can run it.

pub mod clock;
pub mod daylight;
pub mod huts;
pub mod labels;
pub mod lamps;
pub mod logs;
pub mod parcels;
pub mod visitor;
