//! Daylight, for the page "A guard is an argument": a type that only its guard can make.

use std::time::{Duration, SystemTime};

use rocket::{
    Request, get,
    http::Status,
    request::{FromRequest, Outcome},
};

/// When the sun goes down today.
pub struct Sunset(pub SystemTime);

/// Why no one may set out.
#[derive(Debug)]
pub enum Dark {
    /// The sun is down, or nearly so.
    Night,
    /// No one has said when it goes down.
    NoSunset,
}

// ANCHOR: daylight
/// Proof that there is an hour of light left.
pub struct Daylight(());

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Daylight {
    type Error = Dark;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Daylight, Dark> {
        let Some(Sunset(sunset)) = request.rocket().state() else {
            return Outcome::Error((Status::InternalServerError, Dark::NoSunset));
        };
        match sunset.duration_since(SystemTime::now()) {
            Ok(left) if left > Duration::from_secs(3600) => Outcome::Success(Daylight(())),
            _ => Outcome::Error((Status::Forbidden, Dark::Night)),
        }
    }
}

/// Opens the barrier, by day.
#[get("/barrier")]
pub fn barrier(_light: Daylight) -> &'static str {
    "open"
}
// ANCHOR_END: daylight
