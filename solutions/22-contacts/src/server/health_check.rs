//! `service health`: checks whether the service on this machine is alive. An image that
//! contains only the program has no other tool for a health check.

use std::{
    io::{self, Read, Write},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream},
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

fn status_line(settings: &Settings) -> io::Result<String> {
    let address = SocketAddr::new(reachable(settings.address), settings.port);
    let mut connection = TcpStream::connect_timeout(&address, TIMEOUT)?;
    connection.set_read_timeout(Some(TIMEOUT))?;
    connection.set_write_timeout(Some(TIMEOUT))?;
    connection.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;

    let mut answer = String::new();
    connection.take(1024).read_to_string(&mut answer)?;
    Ok(answer.lines().next().unwrap_or_default().to_owned())
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
