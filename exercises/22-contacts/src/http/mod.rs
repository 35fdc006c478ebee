//! A request in the terms of HTTP: its body, its conditions, its content type.

pub mod body;
pub mod conditions;
pub mod content_type;
