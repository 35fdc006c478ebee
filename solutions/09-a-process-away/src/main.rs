//! The program: a text on standard input, a PNG image with its QR code on standard output.

mod qr;

use std::io::{self, Read, Write};
use std::process::ExitCode;

// ANCHOR: main
/// Exits with 0 and the image, or with 1 and the reason on standard error.
fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let image = qr::png(&text)?;
    io::stdout().write_all(&image)?;
    Ok(())
}
// ANCHOR_END: main
