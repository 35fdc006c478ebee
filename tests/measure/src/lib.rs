//! Measuring: the same work in both languages, gated, interleaved, with intervals.
//!
//! The tasks are [`load`] (exercises 1 and 3), [`cold_start`] (exercise 2), [`guard`] (exercise 4), [`stall`] (exercise 5),
//! [`pool`] (exercise 6), [`export`] (exercise 7), [`article`] (exercise 8), [`program`] (exercise 9), [`module`] (exercise 10),
//! [`library`] (exercise 11), [`ladder`] (exercise 12) and [`calibration`]. A task builds its [`subject`]s in a [`lab`], holds
//! them against the [`gates`], runs a [`session`] of [`block`]s after the [`protocol`], turns them into [`metrics`] and writes
//! [`results`].

pub mod article;
pub mod block;
pub mod calibration;
pub mod calls;
pub mod ceiling;
pub mod cold_start;
pub mod database;
pub mod export;
pub mod first_answer;
pub mod front;
pub mod gates;
pub mod guard;
pub mod heap;
pub mod hyperfine;
pub mod ids;
pub mod kotlin_rows;
pub mod lab;
pub mod ladder;
pub mod library;
pub mod load;
pub mod machine;
pub mod module;
pub mod oha;
pub mod paging;
pub mod pool;
pub mod program;
pub mod progress;
pub mod protocol;
pub mod qrcode;
pub mod recording;
pub mod session;
pub mod stall;
pub mod start_helper;
pub mod subject;
pub mod tools;
pub mod variant;
pub mod warmup;
