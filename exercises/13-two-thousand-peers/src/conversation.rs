//! The conversation with one peer, from the upgrade to the close.

#![expect(dead_code, reason = "delete this line once both sides talk")]

use std::{sync::Arc, time::Duration};

use rocket::{
    Shutdown,
    futures::{
        SinkExt, StreamExt,
        stream::{SplitSink, SplitStream},
    },
    tokio::{
        sync::mpsc,
        time::{Instant, sleep, timeout},
    },
};
use rocket_ws::{
    Message,
    frame::{CloseCode, CloseFrame},
    result::Error,
    stream::DuplexStream,
};

use crate::{
    message::{self, delivered, nobody},
    room::{Peer, Room},
};

/// How long a peer may take to confirm a close.
const CLOSE_LIMIT: Duration = Duration::from_secs(1);

/// The half of a socket that messages come from, and the half that they go to.
type Incoming = SplitStream<DuplexStream>;
type Outgoing = SplitSink<DuplexStream, Message>;

// ANCHOR: converse
/// Talks with a peer until it leaves, does something that it must not, or the service stops.
/// Returns the code that the socket was closed with, or none when the peer is gone.
pub async fn converse(
    peer: Peer<'_>,
    socket: DuplexStream,
    _shutdown: Shutdown,
) -> Option<CloseCode> {
    let (outgoing, mut incoming) = socket.split();
    // This is one of four things that may end the conversation.
    let code = listen(&mut incoming, peer.room, &peer.name).await;
    // From here on the name is free.
    drop(peer);
    if let Some(code) = code {
        let _ = timeout(CLOSE_LIMIT, close(outgoing, incoming, code)).await;
    }
    code
}

/// Passes on what the peer says, at a pace at which those who read empty their inboxes.
/// Ends with the code to close with, or without one when the peer is gone.
async fn listen(_incoming: &mut Incoming, room: &Room, name: &str) -> Option<CloseCode> {
    let (limit, _pace) = (2 * room.ping_period, Pace::new(room.queue));
    todo!("what {name} says, as long as it is there: after {limit:?} of silence it is not")
}

/// Sends the peer what is in its inbox, and a ping from time to time, until it takes no more.
async fn speak(_outgoing: &mut Outgoing, _inbox: &mut mpsc::Receiver<Arc<str>>, period: Duration) {
    todo!("what the peer is to hear, and a question every {period:?}")
}
// ANCHOR_END: converse

// ANCHOR: pass-on
/// Does what the peer with this name asks for, or tells it why not. Says how many inboxes that took.
fn pass_on(room: &Room, name: &str, json: &str) -> usize {
    match message::read(json) {
        Ok(message::Message { to: None, text }) => room.broadcast(name, &delivered(name, &text)),
        Ok(message::Message { to: Some(to), text }) => {
            if !room.send(&to, delivered(name, &text)) {
                room.send(name, nobody(&to));
            }
            1
        }
        Err(complaint) => {
            room.send(name, complaint);
            1
        }
    }
}
// ANCHOR_END: pass-on

// ANCHOR: pace
/// What a message costs its sender for each inbox that it goes to: 5 000 of them per second.
const COST: Duration = Duration::from_micros(200);

/// How fast a peer may send, so that those who read can keep up with it.
struct Pace {
    /// Until when it has spent the time that its messages cost.
    spent_until: Instant,
    /// How far ahead of the clock that may be.
    ahead: Duration,
}

impl Pace {
    /// The pace of a peer that has sent nothing. At once, it may fill half of an inbox.
    fn new(queue: usize) -> Pace {
        Pace {
            spent_until: Instant::now(),
            ahead: cost_of(queue / 2),
        }
    }

    /// Spends what a message costs that went to so many inboxes, and waits until the next one may be sent.
    async fn spend(&mut self, inboxes: usize) {
        let now = Instant::now();
        self.spent_until = self.spent_until.max(now) + cost_of(inboxes);
        let too_far = (self.spent_until - now).saturating_sub(self.ahead);
        sleep(too_far).await;
    }
}

fn cost_of(inboxes: usize) -> Duration {
    COST.saturating_mul(u32::try_from(inboxes).unwrap_or(u32::MAX))
}
// ANCHOR_END: pace

// ANCHOR: close
/// The close code of an error.
fn close_code(error: &Error) -> Option<CloseCode> {
    match error {
        Error::Utf8 => Some(CloseCode::Invalid),
        Error::Capacity(_) => Some(CloseCode::Size),
        Error::Protocol(_) => Some(CloseCode::Protocol),
        // The connection is broken.
        _ => None,
    }
}

/// Closes the socket, and waits until the peer has confirmed it.
async fn close(
    mut outgoing: Outgoing,
    mut incoming: Incoming,
    code: CloseCode,
) -> Result<(), Error> {
    let frame = CloseFrame {
        code,
        reason: "".into(),
    };
    outgoing.send(Message::Close(Some(frame))).await?;
    while let Some(Ok(_)) = incoming.next().await {}
    Ok(())
}
// ANCHOR_END: close
