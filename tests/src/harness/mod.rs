//! The harness: services started and stopped, requests made, failures told.
