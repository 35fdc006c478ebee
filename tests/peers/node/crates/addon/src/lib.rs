//! The QR code function as a Node addon: napi-rs passes the string in and the image back.

// All variants share this file, so measurements differ only in the cost of the boundary.
#[path = "../../../../../../solutions/19-a-call-away/src/qr.rs"]
mod qr;

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

/// The QR code of `text` as a PNG image. Errors are thrown as JavaScript exceptions.
#[napi]
pub fn png(text: String) -> napi::Result<Buffer> {
    let image = qr::png(&text).map_err(|error| napi::Error::from_reason(error.to_string()))?;
    Ok(image.into())
}
