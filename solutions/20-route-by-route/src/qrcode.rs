//! `GET /qrcode?text=`: draws the text as a QR code. Needs no key.

use std::{num::NonZero, sync::Arc, thread::available_parallelism, time::Duration};

use rocket::{
    State, get,
    http::ContentType,
    tokio::{sync::Semaphore, task::spawn_blocking, time::timeout},
};

use crate::{error::Error, qr, text::Text};

/// The maximum time that a request waits for its image.
pub const TIMEOUT: Duration = Duration::from_secs(1);

// ANCHOR: qrcode
/// Responds with the QR code as a PNG image. Answers 400 if
/// the text is invalid, and 503 if the image isn't ready in time.
#[get("/qrcode")]
pub async fn qrcode(
    text: Result<Text, Error>,
    drawings: &State<Drawings>,
) -> Result<(ContentType, Vec<u8>), Error> {
    let Text(text) = text?;
    match timeout(TIMEOUT, drawings.png(text)).await {
        Ok(image) => Ok((ContentType::PNG, image?)),
        Err(_elapsed) => {
            let reason = format!("no image within {TIMEOUT:?}");
            Err(Error::Unavailable(reason.into()))
        }
    }
}

/// Limits concurrent drawings to two per core. Drawing is CPU-bound, so with many more, all
/// would be slower, and none would finish earlier. With only one per core, a core would be
/// idle while a permit passes from one request to the next.
pub struct Drawings {
    places: Arc<Semaphore>,
}

impl Drawings {
    /// Starts with all permits free.
    pub fn new() -> Drawings {
        let cores = available_parallelism().map_or(1, NonZero::get);
        Drawings {
            places: Arc::new(Semaphore::new(2 * cores)),
        }
    }

    /// Draws on a thread of the blocking pool, so that the few async worker threads stay free to
    /// read requests.
    async fn png(&self, text: String) -> Result<Vec<u8>, Error> {
        let place = Arc::clone(&self.places).acquire_owned().await;
        let place = place.map_err(|closed| Error::Unavailable(closed.into()))?;
        let drawn = spawn_blocking(move || {
            // Held until the drawing ends, even if the request has timed out.
            let _place = place;
            qr::png(&text)
        });
        match drawn.await {
            Ok(Ok(image)) => Ok(image),
            Ok(Err(error)) => Err(Error::Unavailable(error.into())),
            Err(panic) => Err(Error::Unavailable(panic.into())),
        }
    }
}
// ANCHOR_END: qrcode
