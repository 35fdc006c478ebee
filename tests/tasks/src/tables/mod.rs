//! What the tasks show that is not a table of sides by metrics.

pub mod article;
mod by_step;
pub mod contacts;
pub mod endurance;
pub mod energy;
pub mod ladder;
pub mod peers;
pub mod pool;
pub mod stall;
pub mod waiting;
