//! `GET /qrcode?text=`: the text as a QR code, without a key.

use std::time::Duration;

use rocket::{get, http::ContentType};

use crate::{error::Error, qr, text::Text};

/// The maximum time that a request waits for its image.
pub const TIMEOUT: Duration = Duration::from_secs(1);

// ANCHOR: qrcode
/// Answers the code as an image. 400 for an invalid text, 503 if there is no image in
/// time.
#[get("/qrcode")]
pub async fn qrcode(text: Result<Text, Error>) -> Result<(ContentType, Vec<u8>), Error> {
    let Text(text) = text?;
    // Right for one request; wrong for two hundred.
    let image = qr::png(&text).map_err(|error| Error::Unavailable(error.into()))?;
    Ok((ContentType::PNG, image))
}
// ANCHOR_END: qrcode
