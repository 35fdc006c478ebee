//! `GET /health`: the process is alive. It asks no other service, so an outage elsewhere doesn't make it lie.

// ANCHOR: health
// Write the handler here: a struct for the body that the contract asks for, and a function
// `health` that answers it as JSON. `ready.rs` shows what a handler looks like. Then mount it
// in `main.rs`.
// ANCHOR_END: health
