//! The behavior of `faulty_qr.rs` in the place of a crate's `src/qr.rs`: the text selects it.

use crate::qrcode::path;
use workshop_harness::contract::{Client, TestError, has_status};

/// The file that takes the place of `src/qr.rs`.
pub const DRAWING: &str = include_str!("../payloads/faulty_qr.rs");

/// The texts at which it panics, does not end, and takes 100 MB.
pub const PANIC: &str = "panic";
pub const HANG: &str = "hang";
pub const MUCH: &str = "much";
/// The texts for the number of calls since it was loaded, for the bytes that Rust holds, and for whether
/// no other call was in it.
pub const CALLS: &str = "calls";
pub const HELD: &str = "held";
pub const ALONE: &str = "alone";
/// The size of the image of every other text, in bytes.
pub const IMAGE: usize = 100_000;

/// How many images [`held_by_images`] asks for.
pub const IMAGES: usize = 20;

/// The additional bytes that are held after that many images of this text.
pub async fn held_by_images(client: &Client, text: &str) -> Result<i64, TestError> {
    let before = number(client, HELD).await?;
    let paths = vec![path(text); IMAGES];
    client.each(paths, has_status(200)).await?;
    Ok(number(client, HELD).await? - before)
}

/// A number that it answers instead of an image.
pub async fn number(client: &Client, text: &str) -> Result<i64, TestError> {
    let answer = client.get(&path(text)).await?;
    answer.expect_status(200)?;
    let number = answer.text().parse().ok();
    let failure = || answer.failure("what qr::png returned, byte for byte", "other bytes");
    Ok(number.ok_or_else(failure)?)
}
