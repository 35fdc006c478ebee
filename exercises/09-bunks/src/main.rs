//! Bunks: who sleeps where in the huts. All data is in memory, and all code is in this file.

use std::collections::HashMap;
use std::env;
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use rocket::http::Status;
use rocket::serde::json::{Json, Value, json};
use rocket::{State, delete, get, post, routes};

/// The duration of a hold, in seconds.
const HOLD_SECONDS: u64 = 900;

#[derive(Clone)]
struct Hut {
    name: String,
    bunks: u32,
}

#[derive(Clone)]
struct Booking {
    code: String,
    hut: String,
    night: String,
    bunk: u32,
    guest: String,
    state: String,
    held_until: u64,
}

type Huts = Arc<Mutex<HashMap<String, Arc<Mutex<Hut>>>>>;
type Bookings = Arc<Mutex<HashMap<String, Arc<Mutex<Booking>>>>>;
type Answer = (Status, Json<Value>);

#[derive(Clone)]
struct BunkService {
    huts: Huts,
    bookings: Bookings,
    last_code: Arc<Mutex<u64>>,
}

impl BunkService {
    fn new() -> BunkService {
        let mut huts = HashMap::new();
        for (name, bunks) in [("larch", 4), ("marmot", 12), ("summit", 2)] {
            let hut = Hut {
                name: name.to_string(),
                bunks,
            };
            huts.insert(name.to_string(), Arc::new(Mutex::new(hut)));
        }
        BunkService {
            huts: Arc::new(Mutex::new(huts)),
            bookings: Arc::new(Mutex::new(HashMap::new())),
            last_code: Arc::new(Mutex::new(0)),
        }
    }

    fn find_hut(&self, name: String) -> Result<Hut, Box<dyn Error>> {
        let huts = self.huts.lock().unwrap().clone();
        match huts.get(&name) {
            Some(hut) => Ok(hut.lock().unwrap().clone()),
            None => Err(format!("hut {name} not found").into()),
        }
    }

    fn find_booking(&self, code: String) -> Result<Arc<Mutex<Booking>>, Box<dyn Error>> {
        // A code is `B-` followed by a number.
        let number: u64 = code[2..].parse().unwrap_or(0);
        let bookings = self.bookings.lock().unwrap().clone();
        match bookings.get(&format!("B-{number}")) {
            Some(booking) => Ok(booking.clone()),
            None => Err(format!("booking {code} not found").into()),
        }
    }

    fn state_of_bunk(&self, hut: String, night: String, bunk: u32) -> String {
        let bookings = self.bookings.lock().unwrap().clone();
        for booking in bookings.values() {
            let booking = booking.lock().unwrap().clone();
            if booking.hut == hut && booking.night == night && booking.bunk == bunk {
                if booking.state == "confirmed" {
                    return "confirmed".to_string();
                }
                if booking.state == "held" && booking.held_until > now() {
                    return "held".to_string();
                }
            }
        }
        "free".to_string()
    }

    fn confirm(&self, code: String) -> Result<Booking, Box<dyn Error>> {
        let booking = self.find_booking(code)?;
        let mut booking = booking.lock().unwrap();
        if booking.state == "canceled" {
            return Err("the booking is canceled".into());
        }
        if booking.state == "held" && booking.held_until <= now() {
            return Err("the hold has expired".into());
        }
        booking.state = "confirmed".to_string();
        Ok(booking.clone())
    }

    fn cancel(&self, code: String) -> Result<Booking, Box<dyn Error>> {
        let booking = self.find_booking(code)?;
        let mut booking = booking.lock().unwrap();
        if booking.state == "canceled" || booking.state == "cancelled" {
            return Err("the booking is canceled already".into());
        }
        if booking.state == "held" {
            booking.state = "canceled".to_string();
        } else {
            booking.state = "cancelled".to_string();
        }
        Ok(booking.clone())
    }
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

/// Whether the string is a night, such as 2026-07-14.
fn is_night(night: String) -> bool {
    if !night.contains('-') {
        return false;
    }
    let parts: Vec<String> = night.split('-').map(|part| part.to_string()).collect();
    let year: u32 = night[..4].parse().unwrap();
    let month: u32 = parts[1].parse().unwrap();
    let day: u32 = parts[2].parse().unwrap();
    year >= 2000 && (1..=12).contains(&month) && (1..=31).contains(&day)
}

fn refusal(status: Status, why: String) -> Answer {
    (status, Json(json!({ "error": why })))
}

fn refused(error: Box<dyn Error>) -> Answer {
    let why = error.to_string();
    if why.contains("not found") {
        refusal(Status::NotFound, why)
    } else {
        refusal(Status::Conflict, why)
    }
}

fn shown(booking: Booking) -> Json<Value> {
    let state = match booking.state.as_str() {
        "held" => "held",
        "confirmed" => "confirmed",
        _ => "canceled",
    };
    let mut shown = json!({
        "code": booking.code,
        "hut": booking.hut,
        "night": booking.night,
        "bunk": booking.bunk,
        "guest": booking.guest,
        "state": state,
    });
    if state == "held" {
        shown["held_until"] = json!(booking.held_until);
    }
    Json(shown)
}

#[get("/health")]
fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

#[get("/huts/<hut>/<night>")]
fn show(hut: String, night: String, service: &State<BunkService>) -> Answer {
    if !is_night(night.clone()) {
        return refusal(Status::BadRequest, format!("{night} is not a night"));
    }
    let service = service.inner().clone();
    match service.find_hut(hut.clone()) {
        Ok(hut) => {
            let mut bunks = Vec::new();
            for bunk in 1..=hut.bunks {
                let state = service.state_of_bunk(hut.name.clone(), night.clone(), bunk);
                bunks.push(json!({ "bunk": bunk, "state": state }));
            }
            let shown = json!({ "hut": hut.name, "night": night, "bunks": bunks });
            (Status::Ok, Json(shown))
        }
        Err(error) => refused(error),
    }
}

#[post("/huts/<hut>/<night>/<bunk>", data = "<body>")]
fn hold(
    hut: String,
    night: String,
    bunk: String,
    body: Json<Value>,
    service: &State<BunkService>,
) -> Answer {
    let service = service.inner().clone();
    if is_night(night.clone()) {
        match service.find_hut(hut.clone()) {
            Ok(hut) => match bunk.parse::<u32>() {
                Ok(bunk) => {
                    if bunk >= 1 && bunk <= hut.bunks {
                        let guest = body["guest"].as_str().unwrap().to_string();
                        if guest.trim().is_empty() {
                            refusal(
                                Status::UnprocessableEntity,
                                "a guest needs a name".to_string(),
                            )
                        } else if guest.len() > 40 {
                            refusal(
                                Status::UnprocessableEntity,
                                format!("{}… is too long", &guest[..40]),
                            )
                        } else {
                            let mut bookings = service.bookings.lock().unwrap();
                            let mut is_taken = false;
                            for booking in bookings.clone().values() {
                                let booking = booking.lock().unwrap().clone();
                                if booking.hut == hut.name
                                    && booking.night == night
                                    && booking.bunk == bunk
                                {
                                    match booking.state.as_str() {
                                        "confirmed" => is_taken = true,
                                        "held" => is_taken = is_taken || booking.held_until > now(),
                                        _ => {}
                                    }
                                }
                            }
                            if is_taken {
                                refusal(
                                    Status::Conflict,
                                    format!("bunk {bunk} is taken that night"),
                                )
                            } else {
                                let mut last_code = service.last_code.lock().unwrap();
                                *last_code += 1;
                                let code = format!("B-{}", *last_code);
                                let booking = Booking {
                                    code: code.clone(),
                                    hut: hut.name.clone(),
                                    night: night.clone(),
                                    bunk,
                                    guest: guest.clone(),
                                    state: "held".to_string(),
                                    held_until: now() + HOLD_SECONDS,
                                };
                                bookings
                                    .insert(code.clone(), Arc::new(Mutex::new(booking.clone())));
                                (Status::Created, shown(booking))
                            }
                        }
                    } else {
                        refusal(Status::NotFound, format!("bunk {bunk} not found"))
                    }
                }
                Err(_) => refusal(Status::NotFound, format!("bunk {bunk} not found")),
            },
            Err(error) => refused(error),
        }
    } else {
        refusal(Status::BadRequest, format!("{night} is not a night"))
    }
}

#[get("/bookings/<code>")]
fn booking(code: String, service: &State<BunkService>) -> Answer {
    match service.find_booking(code) {
        Ok(booking) => (Status::Ok, shown(booking.lock().unwrap().clone())),
        Err(error) => refused(error),
    }
}

#[post("/bookings/<code>/confirm")]
fn confirm(code: String, service: &State<BunkService>) -> Answer {
    match service.inner().clone().confirm(code.clone()) {
        Ok(booking) => (Status::Ok, shown(booking)),
        Err(error) => refused(error),
    }
}

#[delete("/bookings/<code>")]
fn cancel(code: String, service: &State<BunkService>) -> Answer {
    match service.inner().clone().cancel(code.clone()) {
        Ok(booking) => (Status::Ok, shown(booking)),
        Err(error) => refused(error),
    }
}

#[rocket::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = env::var("ADDRESS").unwrap_or("127.0.0.1".to_string());
    let port = env::var("PORT").unwrap_or("8080".to_string());
    let settings = rocket::Config::figment()
        .merge(("address", address))
        .merge(("port", port.parse::<u16>()?))
        .merge(("log_level", "critical"))
        .merge(("shutdown.grace", 1))
        .merge(("shutdown.mercy", 1));
    rocket::custom(settings)
        .manage(BunkService::new())
        .mount("/", routes![health, show, hold, booking, confirm, cancel])
        .launch()
        .await?;
    Ok(())
}
