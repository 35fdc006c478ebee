//! From spawn to the first 200: the clock of every start-up time.
//!
//! The polling is by blocking sockets: the runtime's timer ticks in whole milliseconds, which is the coarsest that is allowed.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The pause between two attempts.
const POLL: Duration = Duration::from_micros(500);
/// The longest that one attempt may take.
const ATTEMPT: Duration = Duration::from_secs(2);

/// Asks for a path until it answers 200, and tells how long that took since `spawned`. None after the limit, or as soon
/// as `alive` says that the service has ended.
///
/// This blocks the thread.
pub fn first_200(
    address: SocketAddr,
    path: &str,
    header: &str,
    spawned: Instant,
    limit: Duration,
    mut alive: impl FnMut() -> bool,
) -> Option<Duration> {
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{header}\r\nConnection: close\r\n\r\n");
    let mut looked = Instant::now();
    loop {
        if ask(address, &request).is_ok_and(|status| status == 200) {
            return Some(spawned.elapsed());
        }
        // Asking the kernel about the process costs more than a refused connection, so it is asked less often.
        if looked.elapsed() > Duration::from_millis(20) {
            looked = Instant::now();
            if spawned.elapsed() > limit || !alive() {
                return None;
            }
        }
        std::thread::sleep(POLL);
    }
}

/// The status of one request; the rest of the answer is read, so that the service is not cut off while it writes.
fn ask(address: SocketAddr, request: &str) -> std::io::Result<u16> {
    let mut stream = TcpStream::connect_timeout(&address, ATTEMPT)?;
    stream.set_read_timeout(Some(ATTEMPT))?;
    stream.set_nodelay(true)?;
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    stream.take(4096).read_to_end(&mut answer)?;
    Ok(status(&answer).unwrap_or(0))
}

fn status(answer: &[u8]) -> Option<u16> {
    let line = answer.split(|byte| *byte == b'\r').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let (version, rest) = line.split_once(' ')?;
    // A service that closes each connection may well speak HTTP/1.0.
    ["HTTP/1.1", "HTTP/1.0"]
        .contains(&version)
        .then(|| rest.get(..3)?.parse().ok())?
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_status_line_is_read() {
        assert_eq!(status(b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n{}"), Some(200));
        assert_eq!(status(b"HTTP/1.1 503 Service Unavailable\r\n"), Some(503));
        assert_eq!(status(b"HTTP/1.0 200 OK\r\n\r\n"), Some(200));
        assert_eq!(status(b"SSH-2.0-OpenSSH"), None);
        assert_eq!(status(b""), None);
    }

    #[test]
    fn refusals_and_503_are_waited_out() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let answers = [
            "HTTP/1.1 503 Service Unavailable\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
        ];
        let server = std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 1024];
                assert!(stream.read(&mut request).unwrap() > 0);
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        let took = first_200(
            address,
            "/ready",
            "X-API-Key: valid_key",
            Instant::now(),
            Duration::from_secs(10),
            || true,
        );
        assert!(took.is_some());
        server.join().unwrap();
    }

    #[test]
    fn a_process_that_is_gone_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        assert_eq!(
            first_200(
                address,
                "/ready",
                "X-API-Key: none",
                Instant::now(),
                Duration::from_secs(60),
                || false
            ),
            None
        );
    }
}
