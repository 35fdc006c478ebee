//! What any service has around its work: it starts and stops, logs, and says how it is.

pub mod health;
pub mod health_check;
pub mod logging;
pub mod ready;
pub mod request_id;
pub mod start;
pub mod tasks;
