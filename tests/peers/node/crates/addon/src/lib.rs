//! The function of the ladder as an addon of Node: napi-rs takes the text and the image over the border.

// The same file, so the same function: what differs in measurements is the border alone.
#[path = "../../../../../../solutions/19-a-call-away/src/qr.rs"]
mod qr;

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

/// The QR code of `text` as a PNG image. What goes wrong is thrown.
#[napi]
pub fn png(text: String) -> napi::Result<Buffer> {
    let image = qr::png(&text).map_err(|error| napi::Error::from_reason(error.to_string()))?;
    Ok(image.into())
}
