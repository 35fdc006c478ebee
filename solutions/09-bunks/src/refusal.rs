//! The refusals, as one enum: a new variant compiles only when `routes.rs` gives it a status.

/// The reason for a refusal, as a sentence for the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("a night is written as in 2026-07-14")]
    NoNight,
    #[error("there is no such hut")]
    NoSuchHut,
    #[error("the hut has no such bunk")]
    NoSuchBunk,
    #[error("there is no such booking")]
    NoSuchBooking,
    #[error("a guest has a name of 1 to 40 characters")]
    NoName,
    #[error("the bunk is taken that night")]
    Taken,
    #[error("the hold has expired")]
    Expired,
    #[error("the booking is canceled")]
    Canceled,
}
