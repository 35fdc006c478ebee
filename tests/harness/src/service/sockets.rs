//! What the system knows about the connections to a port: whether somebody has read what came on them.

use std::fs;
use std::time::Duration;

use tokio::time::Instant;

/// The state of a connection that both sides have agreed to (`TCP_ESTABLISHED`, as proc_pid_net(5) writes it).
const ESTABLISHED: &str = "01";

/// How long a service may take to read its requests.
const READ_WITHIN: Duration = Duration::from_secs(1);
/// Between two looks at something that cannot be awaited.
const POLL: Duration = Duration::from_millis(5);

/// Waits until everything has been read that came on this many connections to the port, at most for [`READ_WITHIN`]. A connection
/// on which nothing has come yet has nothing to read: send first, then wait.
pub async fn wait_until_read(port: u16, connections: usize) {
    let deadline = Instant::now() + READ_WITHIN;
    while have_read_all(port, connections) == Some(false) && Instant::now() < deadline {
        tokio::time::sleep(POLL).await;
    }
}

/// Whether there are at least this many connections to the port, and everything that came on them has been read. `None` on a
/// system that does not tell (it has no `/proc/net`).
fn have_read_all(port: u16, connections: usize) -> Option<bool> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let tables: Vec<String> = tables
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .collect();
    if tables.is_empty() {
        return None;
    }
    let unread: Vec<u64> = tables
        .iter()
        .flat_map(|table| table.lines())
        .filter_map(|line| unread_on(line, port))
        .collect();
    Some(unread.len() >= connections && unread.iter().all(|bytes| *bytes == 0))
}

/// The bytes that wait to be read, from a line about a connection to this port: `0: 0100007F:1F90 0100007F:D431 01
/// 00000000:0000004E …`, the local address, the other one, the state, and what waits to be sent and to be read.
fn unread_on(line: &str, port: u16) -> Option<u64> {
    let mut fields = line.split_whitespace().skip(1);
    let (_, local_port) = fields.next()?.rsplit_once(':')?;
    let state = fields.nth(1)?;
    let (_, unread) = fields.next()?.split_once(':')?;
    if u16::from_str_radix(local_port, 16) != Ok(port) || state != ESTABLISHED {
        return None;
    }
    u64::from_str_radix(unread, 16).ok()
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::have_read_all;

    #[test]
    fn bytes_count_as_unread_until_somebody_reads_them() -> std::io::Result<()> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        assert_eq!(have_read_all(port, 1), Some(false));

        let mut client = TcpStream::connect(listener.local_addr()?)?;
        client.write_all(b"four")?;
        assert_eq!(have_read_all(port, 1), Some(false));

        let (mut taken, _) = listener.accept()?;
        taken.read_exact(&mut [0; 4])?;
        assert_eq!(have_read_all(port, 1), Some(true));
        assert_eq!(have_read_all(port, 2), Some(false));
        Ok(())
    }
}
