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
        time::{Instant, MissedTickBehavior, interval_at, timeout},
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
pub async fn converse(mut peer: Peer<'_>, socket: DuplexStream, shutdown: Shutdown) {
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
    // From here on the name is free.
    drop(peer);
    if let Some(code) = code {
        let _ = timeout(CLOSE_LIMIT, close(outgoing, incoming, code)).await;
    }
}

/// Passes on what the peer says. Ends with the code to close with, or without one when the peer is
/// gone.
async fn listen(incoming: &mut Incoming, room: &Room, name: &str) -> Option<CloseCode> {
    loop {
        // A peer that is there answers a ping.
        let in_time = timeout(2 * room.ping_period, incoming.next()).await;
        match in_time.ok()?? {
            Ok(Message::Text(text)) => pass_on(room, name, &text),
            Ok(Message::Binary(_)) => return Some(CloseCode::Unsupported),
            // The library answers pings and closes. A pong has shown that the peer is there.
            Ok(_) => {}
            Err(error) => return close_code(&error),
        }
    }
}

/// Sends the peer what is in its inbox, and a ping from time to time, until it takes no more.
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
/// Does what the peer with this name asks for, or tells it why not.
fn pass_on(room: &Room, name: &str, json: &str) {
    match message::read(json) {
        Ok(message::Message { to: None, text }) => room.broadcast(name, &delivered(name, &text)),
        Ok(message::Message { to: Some(to), text }) => {
            if !room.send(&to, delivered(name, &text)) {
                room.send(name, nobody(&to));
            }
        }
        Err(complaint) => {
            room.send(name, complaint);
        }
    }
}
// ANCHOR_END: pass-on

// ANCHOR: close
/// What an error is called in a close.
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
