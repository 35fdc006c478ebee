//! `GET /health`: the liveness check. It calls no other service, so no outage can make it fail.

// ANCHOR: health
// Write the handler here: a struct for the body that the contract specifies, and a function
// `health` that returns this struct as JSON. `ready.rs` shows what a handler looks like. Then
// mount `health` in `main.rs`.
// ANCHOR_END: health
