//! The parts that every service needs: starting and stopping, the log, and the health checks.

pub mod health;
pub mod health_check;
pub mod logging;
pub mod ready;
pub mod request_id;
pub mod start;
pub mod tasks;
