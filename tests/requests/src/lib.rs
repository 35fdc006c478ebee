//! Requests, the answers to them, and what is said when an answer is not the contract's.

pub mod connection;
pub mod failure;
pub mod http;
pub mod qr;
pub mod socket;
