//! A station's clock, for the page "Alive and ready": one limit around two waits.

use std::{io, time::Duration};

use rocket::{
    State, get,
    http::Status,
    serde::json::Json,
    tokio::{io::AsyncReadExt, net::TcpStream, time::timeout},
    warn,
};
use serde::Serialize;

/// A weather station, and how long a request may wait for it.
pub struct Station {
    pub address: String,
    pub limit: Duration,
}

/// The body of the answer.
#[derive(Serialize)]
pub struct Clock {
    seconds: u32,
}

// ANCHOR: clock
/// Answers the station's time; 502 when it can't be asked, 504 when it takes too long.
#[get("/clock")]
pub async fn clock(station: &State<Station>) -> Result<Json<Clock>, Status> {
    match timeout(station.limit, ask(&station.address)).await {
        Ok(Ok(seconds)) => Ok(Json(Clock { seconds })),
        Ok(Err(error)) => {
            warn!("no time: {error}");
            Err(Status::BadGateway)
        }
        Err(_elapsed) => Err(Status::GatewayTimeout),
    }
}

/// Connects and reads: the limit is for both.
async fn ask(address: &str) -> io::Result<u32> {
    let mut station = TcpStream::connect(address).await?;
    station.read_u32().await
}
// ANCHOR_END: clock
