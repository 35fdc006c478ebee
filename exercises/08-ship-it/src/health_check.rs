//! `service health`: checks whether the service on this machine is alive. An image that
//! contains only the program has no other tool for a health check.

#![expect(dead_code, reason = "delete this line once the service is asked")]

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    process::ExitCode,
    time::Duration,
};

use crate::settings::Settings;

const TIMEOUT: Duration = Duration::from_secs(2);

// ANCHOR: health-check
/// Returns exit code 0 if `GET /health` answers 200, else 1, with the reason on standard error.
pub fn run(settings: &Settings) -> ExitCode {
    match status_line(settings) {
        Ok(line) if line.contains(" 200 ") => ExitCode::SUCCESS,
        Ok(line) => refuse(&format!("/health answers {line:?}")),
        Err(error) => refuse(&format!("/health does not answer: {error}")),
    }
}
// ANCHOR_END: health-check

/// The status line of the response.
fn status_line(settings: &Settings) -> io::Result<String> {
    let port = settings.port;
    Err(io::Error::other(format!(
        "no one has asked port {port} yet"
    )))
}

/// The address to connect to: the loopback address if the service listens on all addresses.
fn reachable(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        address => address,
    }
}

fn refuse(reason: &str) -> ExitCode {
    eprintln!("{reason}");
    ExitCode::FAILURE
}
