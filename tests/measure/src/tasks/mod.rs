//! The measurements: one file per task.

pub mod article;
pub mod calibration;
pub mod calls;
pub mod cold_start;
pub mod export;
pub mod guard;
pub mod heap;
pub mod kotlin_rows;
pub mod ladder;
pub mod library;
pub mod load;
pub mod module;
pub mod paging;
pub mod pool;
pub mod program;
pub mod qrcode;
pub mod stall;
pub mod start_helper;
