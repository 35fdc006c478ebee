//! What the tasks show that is not a table of sides by metrics.

pub mod article;
pub mod contacts;
pub mod endurance;
pub mod energy;
pub mod ladder;
pub mod pool;
