//! What the system knows about the connections to a port: whether somebody has read what came on them, and closed them.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use workshop_base::{process, wait};

/// The state of a connection that both sides have agreed to (`TCP_ESTABLISHED`, as proc_pid_net(5) writes it).
const ESTABLISHED: &str = "01";
/// The state of one that the client has closed, and the service has not (`TCP_CLOSE_WAIT`).
const CLOSE_WAIT: &str = "08";

/// The state of a socket that accepts connections (`TCP_LISTEN`), and a line about one: no other has a peer without a port.
const LISTEN: &str = "0A";
const LISTENS: &str = ":0000 0A ";

/// The shortest time between two looks: for each, the kernel goes through a table that grows with the machine's memory, which takes
/// milliseconds of the processor.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// How long a service may take to read its requests.
const READ_WITHIN: Duration = Duration::from_secs(1);
/// How long it may take to see that its clients have gone.
const CLOSED_WITHIN: Duration = Duration::from_secs(1);

/// Waits until everything has been read that came on this many connections to the port, at most for [`READ_WITHIN`]. A connection
/// on which nothing has come yet has nothing to read: send first, then wait.
pub async fn wait_until_read(port: u16, connections: usize) {
    wait_for(port, READ_WITHIN, |open| have_read_all(open, connections)).await;
}

/// Waits until the service has let go of all connections that its clients have closed, at most for [`CLOSED_WITHIN`].
pub async fn wait_until_closed(port: u16) {
    wait_for(port, CLOSED_WITHIN, <[Connection]>::is_empty).await;
}

/// Waits until the service has let go of all connections, at most this long, and says whether it has. True on a system that does not
/// tell.
pub async fn are_closed_within(port: u16, limit: Duration) -> bool {
    wait_for(port, limit, <[Connection]>::is_empty).await;
    connections(port).is_none_or(|open| open.is_empty())
}

/// By a loop of its own: a service is stopped in a task, which the compiler does not let the closures of [`wait`] be in.
async fn wait_for(port: u16, limit: Duration, is_so: impl Fn(&[Connection]) -> bool) {
    let began = Instant::now();
    while connections(port).is_some_and(|open| !is_so(&open)) && began.elapsed() < limit {
        tokio::time::sleep(wait::pause(began).max(BETWEEN_LOOKS)).await;
    }
}

/// A connection as its service has it.
struct Connection {
    is_established: bool,
    /// The bytes that wait to be read.
    unread: u64,
}

/// Whether there are at least this many connections, and everything that came on them has been read.
fn have_read_all(open: &[Connection], connections: usize) -> bool {
    let mut established = open.iter().filter(|open| open.is_established);
    established.clone().count() >= connections && established.all(|open| open.unread == 0)
}

/// The connections to a port that the service has not closed. `None` on a system that does not tell (it has no `/proc/net`).
fn connections(port: u16) -> Option<Vec<Connection>> {
    let lines = lines_about(port)?;
    let open = lines.iter().filter_map(|line| connection(line, port));
    Some(open.collect())
}

/// What the kernel says about the sockets of a port, a line each.
fn lines_about(port: u16) -> Option<Vec<String>> {
    // As a local address ends: most lines are about other ports, and there are thousands of them.
    let its_port = format!(":{port:04X} ");
    let lines = |table| -> Option<Vec<String>> {
        let text = fs::read_to_string(table).ok()?;
        let lines = text.lines().filter(|line| line.contains(&its_port));
        Some(lines.map(str::to_owned).collect())
    };
    let listens = |line: &String| line.contains(LISTENS);
    let four = lines("/proc/net/tcp");
    // Who listens at an address of IPv4 has no connections in the other table. A JVM listens at one of IPv6, for both.
    if four.iter().flatten().any(listens) {
        return four;
    }
    let six = lines("/proc/net/tcp6");
    match (four, six) {
        (None, None) => None,
        (four, six) => Some(four.into_iter().chain(six).flatten().collect()),
    }
}

/// Whether somebody else listens on the port than a process or what it has started: another command may have been given the same
/// free port. Not known, and false then, on a system that does not tell, or of a process that may not be looked into.
pub fn is_anothers(port: u16, pid: u32) -> bool {
    let Some(lines) = lines_about(port) else {
        return false;
    };
    let listening: HashSet<PathBuf> = lines
        .iter()
        .filter_map(|line| listening(line, port))
        .map(|inode| format!("socket:[{inode}]").into())
        .collect();
    let listens = |pid: u32| {
        let open = fs::read_dir(format!("/proc/{pid}/fd")).ok()?.flatten();
        let mut open = open.flat_map(|file| fs::read_link(file.path()));
        Some(open.any(|file| listening.contains(&file)))
    };
    // Mostly it is the process itself, and no other has to be looked at.
    !listening.is_empty()
        && listens(pid) == Some(false)
        && process::tree(&[pid])
            .into_iter()
            .all(|pid| listens(pid) == Some(false))
}

/// The inode of a socket that listens on this port: the tenth field.
fn listening(line: &str, port: u16) -> Option<&str> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let (_, local_port) = fields.get(1)?.rsplit_once(':')?;
    let listens = u16::from_str_radix(local_port, 16) == Ok(port) && fields.get(3) == Some(&LISTEN);
    fields.get(9).copied().filter(|_| listens)
}

/// What a line says about a connection to this port: `0: 0100007F:1F90 0100007F:D431 01 00000000:0000004E …`, the local address,
/// the other one, the state, and what waits to be sent and to be read.
fn connection(line: &str, port: u16) -> Option<Connection> {
    let mut fields = line.split_whitespace().skip(1);
    let (_, local_port) = fields.next()?.rsplit_once(':')?;
    let state = fields.nth(1)?;
    let (_, unread) = fields.next()?.split_once(':')?;
    if u16::from_str_radix(local_port, 16) != Ok(port)
        || ![ESTABLISHED, CLOSE_WAIT].contains(&state)
    {
        return None;
    }
    Some(Connection {
        is_established: state == ESTABLISHED,
        unread: u64::from_str_radix(unread, 16).ok()?,
    })
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::{connections, have_read_all};

    #[test]
    fn bytes_count_as_unread_until_somebody_reads_them() -> std::io::Result<()> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let read = |count| connections(port).map(|open| have_read_all(&open, count));
        assert_eq!(read(1), Some(false));

        let mut client = TcpStream::connect(listener.local_addr()?)?;
        client.write_all(b"four")?;
        assert_eq!(read(1), Some(false));

        let (mut taken, _) = listener.accept()?;
        taken.read_exact(&mut [0; 4])?;
        assert_eq!(read(1), Some(true));
        assert_eq!(read(2), Some(false));
        Ok(())
    }

    #[test]
    fn a_connection_is_there_until_the_service_has_closed_it_as_well() -> std::io::Result<()> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let open = || connections(port).map(|open| open.len());
        let client = TcpStream::connect(listener.local_addr()?)?;
        let (mut taken, _) = listener.accept()?;
        drop(client);
        assert_eq!(taken.read(&mut [0; 4])?, 0);
        assert_eq!(open(), Some(1));
        drop(taken);
        assert_eq!(open(), Some(0));
        Ok(())
    }
}
