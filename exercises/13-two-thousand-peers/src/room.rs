//! The room: which peers are in it, and how a message gets to one of them or to all others.

#![expect(dead_code, reason = "delete this line once there are seats")]

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rocket::tokio::sync::{mpsc, oneshot};

use crate::settings::PeerSettings;

// ANCHOR: room
/// All peers that are connected.
pub struct Room {
    seats: Mutex<HashMap<String, Seat>>,
    /// How many messages may wait for a peer.
    pub queue: usize,
    /// How often a peer is asked whether it is still there.
    pub ping_period: Duration,
}

/// The room's side of a peer.
struct Seat {
    inbox: mpsc::Sender<Arc<str>>,
    /// Nothing is ever sent on it. The peer notices when it's dropped.
    _taken: oneshot::Sender<()>,
}

/// A peer in the room. Dropping it makes it leave.
pub struct Peer<'r> {
    /// The room that it is in.
    pub room: &'r Room,
    /// The name that no other peer in the room has.
    pub name: String,
    /// The messages that wait for it.
    pub inbox: mpsc::Receiver<Arc<str>>,
    /// Resolves once the room has removed it.
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

    /// Lets a peer in. `None` while another one has the name.
    pub fn enter(&self, name: &str) -> Option<Peer<'_>> {
        if self.seats().contains_key(name) {
            return None;
        }
        todo!("an inbox of {} messages, and a seat for {name}", self.queue)
    }

    /// Puts a message into the inbox of one peer, and returns whether there is such a peer. It never
    /// waits: a peer whose inbox is full does not read, and is removed.
    pub fn send(&self, to: &str, message: Arc<str>) -> bool {
        todo!("{message} for {to}, or no seat for {to} any more")
    }

    /// Puts a message into the inboxes of all peers but this one, and returns how many are in the room:
    /// the sender counts as well, so no message is free.
    pub fn broadcast(&self, from: &str, message: &Arc<str>) -> usize {
        todo!("{message} for everybody but {from}")
    }

    fn seats(&self) -> MutexGuard<'_, HashMap<String, Seat>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Peer<'_> {
    fn drop(&mut self) {
        self.inbox.close();
        let mut seats = self.room.seats();
        // If the room has removed this peer, another one may have its name by now, with an open inbox.
        if seats
            .get(&self.name)
            .is_some_and(|seat| seat.inbox.is_closed())
        {
            seats.remove(&self.name);
        }
    }
}
// ANCHOR_END: deliver
