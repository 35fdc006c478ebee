//! The function of the ladder as a WebAssembly module, with JavaScript by wasm-bindgen around it.

// The same file, so the same function: what differs in measurements is the border alone.
#[path = "../../../../../../solutions/19-a-call-away/src/qr.rs"]
mod qr;

use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

/// The QR code of `text` as a PNG image. What goes wrong is thrown.
#[wasm_bindgen]
pub fn png(text: &str) -> Result<Vec<u8>, JsError> {
    Ok(qr::png(text)?)
}
