//! How a comparison is made, whatever is compared.

pub mod block;
pub mod builder;
pub mod duet;
pub mod experiment;
pub mod front;
pub mod gates;
pub mod ids;
pub mod lab;
pub mod load;
pub mod machine;
pub mod metrics;
pub mod neighbors;
pub mod notes;
pub mod plan;
pub mod progress;
pub mod rows;
pub mod session;
pub mod subject;
pub mod warmup;
