//! The data sets: what they hold, how they are made, how a run gets its own copy.

mod build;
mod progress;
mod room;
mod run;
mod seed;
pub(crate) mod set;

pub use room::needed;
pub use run::RunDatabase;
pub use seed::{Seeded, forget_migrations, seed, seed_again, shared_url, shown_url};
pub use set::{DataSet, MANY_RECORDS};
