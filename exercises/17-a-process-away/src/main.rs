//! The program: reads text from an argument or from standard input,
//! and writes a QR code of the text to standard output as a PNG image.

mod qr;

use std::{io, process::ExitCode};

use qr::QrError;

// ANCHOR: error
/// The reason why there's no image.
#[expect(dead_code, reason = "delete this line once all of them are used")]
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("usage: {} [TEXT]; without TEXT, standard input is read", env!("CARGO_BIN_NAME"))]
    Usage,
    #[error("the text is empty")]
    Empty,
    #[error("the text is not UTF-8")]
    NotUtf8,
    #[error(transparent)]
    Qr(#[from] QrError),
    #[error("standard input cannot be read: {0}")]
    Input(#[source] io::Error),
    #[error("the image cannot be written: {0}")]
    Output(#[source] io::Error),
}

impl Error {
    /// 2 if the input is at fault, so that different input could work; otherwise 1.
    fn exit_code(&self) -> ExitCode {
        todo!("2 or 1 for {self:?}")
    }
}
// ANCHOR_END: error

// ANCHOR: main
/// Writes only the image to standard output: messages go to standard error.
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            error.exit_code()
        }
    }
}

fn run() -> Result<(), Error> {
    let image = qr::png("the text that was given")?;
    todo!(
        "write these {} bytes to standard output, once the text is the one that was given",
        image.len()
    )
}
// ANCHOR_END: main
