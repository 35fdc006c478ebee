//! The addresses that services are started on.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::{Mutex, PoisonError};

/// A port that was free a moment ago, and that nobody else in this process has been given lately: a service that is slow to
/// listen would find another one's there, and be taken for it.
pub fn free_address() -> std::io::Result<SocketAddr> {
    const REMEMBERED: usize = 1000;
    static GIVEN: Mutex<VecDeque<SocketAddr>> = Mutex::new(VecDeque::new());
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        if given.contains(&address) {
            continue;
        }
        given.push_back(address);
        if given.len() > REMEMBERED {
            given.pop_front();
        }
        return Ok(address);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_is_given_twice_in_a_row() {
        // Among so many, the system alone would give one of 28 000 twice nearly always.
        let mut given: Vec<SocketAddr> = (0..900).map(|_| free_address().unwrap()).collect();
        given.sort_unstable();
        given.dedup();
        assert_eq!(given.len(), 900);
    }
}
