//! The book: the macros of its pages, the preprocessor that expands them, and the checks that keep it whole.

mod board;
pub mod check;
pub mod commands;
pub mod difference;
pub mod expand;
pub mod fault;
mod given;
pub mod green;
mod guess;
pub mod html;
mod kata;
pub mod macros;
pub mod panes;
pub mod picture;
pub mod plans;
pub mod preprocessor;
pub mod question;
pub mod render;
pub mod results;
pub mod schedule;
mod sheet;
pub mod site;
pub mod source;
pub mod tests_list;
mod typed;
pub mod way;
