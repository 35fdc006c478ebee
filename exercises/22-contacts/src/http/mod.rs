//! The HTTP side of a request: its body, its conditions, its content type.

pub mod body;
pub mod conditions;
pub mod content_type;
