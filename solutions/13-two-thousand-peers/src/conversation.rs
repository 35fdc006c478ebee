//! The conversation with one peer, from the upgrade to the close.

use std::{sync::Arc, time::Duration};

use rocket::{
    Shutdown,
    futures::{
        SinkExt, StreamExt,
        stream::{SplitSink, SplitStream},
    },
    tokio::{
        select,
        sync::mpsc,
        time::{Instant, MissedTickBehavior, interval_at, sleep, timeout},
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

/// The two halves of a split WebSocket: `Incoming` receives, and `Outgoing` sends.
type Incoming = SplitStream<DuplexStream>;
type Outgoing = SplitSink<DuplexStream, Message>;

// ANCHOR: converse
/// Talks with a peer until the peer leaves, breaks a rule or is removed, or the service stops.
/// Returns the WebSocket close code, or `None` if the peer is gone.
pub async fn converse(
    mut peer: Peer<'_>,
    socket: DuplexStream,
    shutdown: Shutdown,
) -> Option<CloseCode> {
    let (mut outgoing, mut incoming) = socket.split();
    let Peer {
        room,
        name,
        inbox,
        removed,
    } = &mut peer;
    let code = select! {
        code = listen(&mut incoming, room, name) => code,
        () = speak(&mut outgoing, inbox, room.ping_period) => None,
        _ = removed => Some(CloseCode::Again),
        () = shutdown => Some(CloseCode::Away),
    };
    // Leaves the room, which frees the name before the socket is closed.
    drop(peer);
    if let Some(code) = code {
        let _ = timeout(CLOSE_LIMIT, close(outgoing, incoming, code)).await;
    }
    code
}

/// Receives the peer's messages and delivers them, at a rate that the recipients can handle.
/// Returns the code to close with, or `None` if the peer is gone.
async fn listen(incoming: &mut Incoming, room: &Room, name: &str) -> Option<CloseCode> {
    let mut pace = Pace::new(room.queue);
    loop {
        // A live peer answers pings, so silence for two periods means that it is gone.
        let in_time = timeout(2 * room.ping_period, incoming.next()).await;
        match in_time.ok()?? {
            Ok(Message::Text(text)) => pace.spend(pass_on(room, name, &text)).await,
            Ok(Message::Binary(_)) => return Some(CloseCode::Unsupported),
            // The library answers pings and close frames. A pong only shows that the peer is alive.
            Ok(_) => {}
            Err(error) => return close_code(&error),
        }
    }
}

/// Sends the peer the messages in its inbox, and regular pings, until sending fails.
async fn speak(outgoing: &mut Outgoing, inbox: &mut mpsc::Receiver<Arc<str>>, period: Duration) {
    let mut pings = interval_at(Instant::now() + period, period);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let message = select! {
            Some(text) = inbox.recv() => Message::text(&*text),
            _ = pings.tick() => Message::Ping(Vec::new()),
        };
        if outgoing.send(message).await.is_err() {
            return;
        }
    }
}
// ANCHOR_END: converse

// ANCHOR: pass-on
/// Delivers a message, or replies with an error. Returns how many inboxes to charge for.
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
/// The cost of a message per inbox, charged to the sender: at most 5,000 inboxes per second.
const COST: Duration = Duration::from_micros(200);

/// Limits the rate at which a peer sends, so that the recipients can keep up.
struct Pace {
    /// The time until which the peer's budget is used up.
    spent_until: Instant,
    /// How far ahead of the clock `spent_until` can be before the sender has to wait.
    ahead: Duration,
}

impl Pace {
    /// The rate limit of a new peer. It allows a burst that fills at most half of an inbox.
    fn new(queue: usize) -> Pace {
        Pace {
            spent_until: Instant::now(),
            ahead: cost_of(queue / 2),
        }
    }

    /// Charges for a message to this many inboxes, and waits until the peer may send the next one.
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
/// The close code for this error, or `None` if the peer can no longer receive one.
fn close_code(error: &Error) -> Option<CloseCode> {
    match error {
        Error::Utf8 => Some(CloseCode::Invalid),
        Error::Capacity(_) => Some(CloseCode::Size),
        Error::Protocol(_) => Some(CloseCode::Protocol),
        // The connection is broken, so a close frame would not arrive.
        _ => None,
    }
}

/// Sends a close frame, and waits until the peer has confirmed it.
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
