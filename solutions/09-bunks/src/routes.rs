//! The routes: they parse requests into types, apply the rules, and turn results into responses.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use rocket::http::Status;
use rocket::response::status;
use rocket::serde::json::{Json, Value, json};
use rocket::{Route, State, delete, get, post, routes};
use serde::{Deserialize, Serialize};

use crate::booking::{Guest, Seconds};
use crate::huts::Huts;
use crate::night::Night;
use crate::refusal::Refusal;

type Answer = status::Custom<Json<Value>>;

/// The body of a request to hold a bunk.
#[derive(Deserialize)]
struct Hold {
    guest: String,
}

/// All routes of the service.
pub fn all() -> Vec<Route> {
    routes![health, show, hold, booking, confirm, cancel]
}

#[get("/health")]
fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

#[get("/huts/<hut>/<night>")]
fn show(hut: &str, night: &str, huts: &State<Mutex<Huts>>) -> Answer {
    let night = Night::parse(night);
    let shown = night.and_then(|night| open(huts).occupancy(hut, night, now()));
    answer(Status::Ok, shown)
}

// ANCHOR: hold
#[post("/huts/<hut>/<night>/<bunk>", data = "<body>")]
fn hold(hut: &str, night: &str, bunk: u32, body: Json<Hold>, huts: &State<Mutex<Huts>>) -> Answer {
    let asked = Night::parse(night).and_then(|night| {
        let guest = Guest::named(body.into_inner().guest)?;
        Ok((night, guest))
    });
    let mut huts = open(huts);
    let held = asked.and_then(|(night, guest)| huts.hold((hut, night, bunk), guest, now()));
    answer(Status::Created, held)
}
// ANCHOR_END: hold

#[get("/bookings/<code>")]
fn booking(code: &str, huts: &State<Mutex<Huts>>) -> Answer {
    answer(Status::Ok, open(huts).booking(code))
}

#[post("/bookings/<code>/confirm")]
fn confirm(code: &str, huts: &State<Mutex<Huts>>) -> Answer {
    answer(Status::Ok, open(huts).confirm(code, now()))
}

#[delete("/bookings/<code>")]
fn cancel(code: &str, huts: &State<Mutex<Huts>>) -> Answer {
    answer(Status::Ok, open(huts).cancel(code))
}

// ANCHOR: open
/// Locks the huts. Ignores poisoning: a panic can't leave the huts only partly changed.
fn open(huts: &Mutex<Huts>) -> MutexGuard<'_, Huts> {
    huts.lock().unwrap_or_else(PoisonError::into_inner)
}
// ANCHOR_END: open

/// The current time. Only this function reads the clock.
fn now() -> Seconds {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    since_1970.unwrap_or_default().as_secs()
}

// ANCHOR: answer
/// The response: either the result with this status, or the refusal.
fn answer(status: Status, said: Result<impl Serialize, Refusal>) -> Answer {
    match said {
        Ok(said) => status::Custom(status, Json(json!(said))),
        Err(refusal) => {
            let error = json!({ "error": refusal.to_string() });
            status::Custom(status_of(refusal), Json(error))
        }
    }
}

fn status_of(refusal: Refusal) -> Status {
    match refusal {
        Refusal::NoNight => Status::BadRequest,
        Refusal::NoSuchHut | Refusal::NoSuchBunk | Refusal::NoSuchBooking => Status::NotFound,
        Refusal::NoName => Status::UnprocessableEntity,
        Refusal::Taken | Refusal::Expired | Refusal::Canceled => Status::Conflict,
    }
}
// ANCHOR_END: answer
