//! The HTTP side of a request: its body, preconditions and content type.

pub mod body;
pub mod conditions;
pub mod content_type;
