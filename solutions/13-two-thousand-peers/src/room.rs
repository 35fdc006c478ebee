//! The room: the connected peers, and the delivery of messages to one of them or to all others.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rocket::tokio::sync::{mpsc, oneshot};

use crate::settings::PeerSettings;

// ANCHOR: room
/// All connected peers, by name.
pub struct Room {
    seats: Mutex<HashMap<String, Seat>>,
    /// The maximum number of messages in a peer's inbox.
    pub queue: usize,
    /// The interval between the pings that check whether a peer is still connected.
    pub ping_period: Duration,
}

/// A peer as the room sees it: the sending halves of the peer's channels.
struct Seat {
    inbox: mpsc::Sender<Arc<str>>,
    /// Never used to send: the room drops the sender to resolve `Peer::removed`.
    _taken: oneshot::Sender<()>,
}

/// A peer in the room. Dropping this value makes the peer leave.
pub struct Peer<'r> {
    /// The room that the peer is in.
    pub room: &'r Room,
    /// The peer's name, unique within the room.
    pub name: String,
    /// The messages waiting to be sent to the peer.
    pub inbox: mpsc::Receiver<Arc<str>>,
    /// Resolves once the room has removed the peer.
    pub removed: oneshot::Receiver<()>,
}
// ANCHOR_END: room

// ANCHOR: deliver
impl Room {
    /// An empty room.
    pub fn new(settings: &PeerSettings) -> Room {
        Room {
            seats: Mutex::default(),
            queue: settings.queue.get() as usize,
            ping_period: settings.ping,
        }
    }

    /// Adds a peer to the room. Returns `None` if another peer in the room has this name.
    pub fn enter(&self, name: &str) -> Option<Peer<'_>> {
        let mut seats = self.seats();
        if seats.contains_key(name) {
            return None;
        }
        let (sender, inbox) = mpsc::channel(self.queue);
        let (taken, removed) = oneshot::channel();
        let seat = Seat {
            inbox: sender,
            _taken: taken,
        };
        seats.insert(name.to_owned(), seat);
        Some(Peer {
            room: self,
            name: name.to_owned(),
            inbox,
            removed,
        })
    }

    /// Puts a message into a peer's inbox, and returns whether that succeeded. Never
    /// waits: if the inbox is full, the peer isn't reading, so the room removes it.
    pub fn send(&self, to: &str, message: Arc<str>) -> bool {
        let mut seats = self.seats();
        let Some(seat) = seats.get(to) else {
            return false;
        };
        let sent = seat.inbox.try_send(message).is_ok();
        if !sent {
            seats.remove(to);
        }
        sent
    }

    /// Puts a message into the inboxes of all other peers. Returns the number of inboxes to charge
    /// for: one per peer in the room, including the sender, so that no message is free.
    pub fn broadcast(&self, from: &str, message: &Arc<str>) -> usize {
        let mut seats = self.seats();
        seats.retain(|name, seat| name == from || seat.inbox.try_send(Arc::clone(message)).is_ok());
        seats.len()
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<String, Seat>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Peer<'_> {
    fn drop(&mut self) {
        self.inbox.close();
        let mut seats = self.room.seats();
        // If the room removed this peer, its name may now belong to a new peer with an open inbox.
        if seats
            .get(&self.name)
            .is_some_and(|seat| seat.inbox.is_closed())
        {
            seats.remove(&self.name);
        }
    }
}
// ANCHOR_END: deliver
