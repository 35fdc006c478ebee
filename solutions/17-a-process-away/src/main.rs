//! The program: reads text from an argument or from standard input,
//! and writes a QR code of the text to standard output as a PNG image.

mod qr;

use std::{
    env,
    io::{self, Read, Write},
    process::ExitCode,
};

use qr::QrError;

// ANCHOR: error
/// The reason why there's no image.
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
        match self {
            Error::Usage | Error::Empty | Error::NotUtf8 | Error::Qr(QrError::TooLong(_)) => {
                ExitCode::from(2)
            }
            Error::Qr(QrError::Image(_)) | Error::Input(_) | Error::Output(_) => ExitCode::FAILURE,
        }
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
    let text = text()?;
    if text.is_empty() {
        return Err(Error::Empty);
    }
    let image = qr::png(&text)?;
    io::stdout().write_all(&image).map_err(Error::Output)
}

/// The argument, or else all of standard input.
fn text() -> Result<String, Error> {
    let mut arguments = env::args_os().skip(1);
    match (arguments.next(), arguments.next()) {
        (None, _) => {
            let mut bytes = Vec::new();
            io::stdin().read_to_end(&mut bytes).map_err(Error::Input)?;
            String::from_utf8(bytes).map_err(|_| Error::NotUtf8)
        }
        (Some(text), None) => text.into_string().map_err(|_| Error::NotUtf8),
        (Some(_), Some(_)) => Err(Error::Usage),
    }
}
// ANCHOR_END: main
