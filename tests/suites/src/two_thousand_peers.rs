//! Suite `two-thousand-peers` (exercise 13): peers send each other messages over WebSockets, and none of them can harm the others:
//! not by what it sends, not by reading nothing, and not by the way in which it leaves.

use std::time::Duration;

use futures_util::future::{join_all, try_join, try_join_all};
use serde_json::{Value, json};

use workshop_harness::contract::{
    Context, Failure, TestError, TestResult, contract_tests, expect, expect_eq, has_status,
    is_problem,
};
use workshop_harness::partings::Partings;
use workshop_harness::peers::PEERS;
use workshop_harness::socket::{Data, Event, Frame, Message, OpCode, Opened, Socket};

contract_tests! {
    peers: [
        a_message_arrives_at_the_peer_it_is_for,
        a_message_to_all_arrives_at_all_others,
        the_key_and_the_name_are_judged_before_the_upgrade,
        a_request_without_an_upgrade_answers_426,
        a_name_is_given_once,
        a_name_is_free_when_its_peer_has_left,
        a_peer_that_is_not_there_is_named_to_the_sender,
        what_is_no_message_is_answered_and_ends_nothing,
        a_text_arrives_as_it_was_sent,
        a_ping_is_answered,
        a_binary_message_closes_with_1003,
        a_message_that_is_too_large_closes_with_1009,
        a_text_that_is_not_utf8_closes_with_1007,
        a_peer_that_does_not_read_is_removed,
        a_quick_sender_removes_nobody_who_reads,
        a_broadcast_does_not_wait_for_a_peer_that_does_not_read,
        a_removed_peer_takes_nothing_from_its_successor,
        two_thousand_peers_connect_at_once,
    ],
    partings: [
        a_peer_that_answers_no_ping_is_let_go,
        a_peer_that_says_nothing_is_asked_again_and_again,
        a_sender_with_a_thousand_messages_under_way_is_not_let_go,
        memory_after_ten_rounds_of_peers_is_what_it_was_after_two,
        a_stop_closes_every_socket_with_1001,
        a_stop_waits_for_no_peer_that_confirms_nothing,
    ]
}

/// The maximum sizes of a message's text and of a message, in bytes.
const MAX_TEXT: usize = 1024;
const MAX_MESSAGE: usize = 8192;
/// The number of messages that are sent before their deliveries are awaited.
const WINDOW: usize = 16;
/// How many messages are sent in one go, and to how many peers that read them.
const IN_ONE_GO: usize = 1_000;
const QUICK_READERS: usize = 10;
/// The bytes that are sent to a peer that does not read: far more than its inbox and its connection hold.
const TOO_MUCH: usize = 8 << 20;
/// The maximum time that any of two thousand peers waits for its socket.
const ALL_AT_ONCE: Duration = Duration::from_secs(30);

/// A peer with its socket.
pub(crate) struct ConnectedPeer {
    name: String,
    pub(crate) socket: Socket,
}

impl ConnectedPeer {
    /// Opens a socket for the peer with this name.
    pub(crate) async fn enter(context: &Context, name: &str) -> Result<ConnectedPeer, Failure> {
        let socket = context.client.socket(&path(name)).await?;
        let name = name.to_owned();
        Ok(ConnectedPeer { name, socket })
    }

    /// Sends a text to the peer with this name.
    async fn tell(&mut self, to: &str, text: &str) -> Result<(), Failure> {
        self.socket.say(json!({"to": to, "text": text})).await
    }

    /// Sends a text to all others.
    async fn tell_all(&mut self, text: &str) -> Result<(), Failure> {
        self.socket.say(json!({"text": text})).await
    }

    /// Expects this text next, from the peer with this name.
    pub(crate) async fn hears(&mut self, from: &str, text: &str) -> TestResult {
        self.socket.expect_text(delivered(from, text)).await
    }

    /// Expects an error about its own message next.
    pub(crate) async fn hears_error(&mut self, error: &str) -> TestResult {
        self.socket.expect_text(json!({"error": error})).await
    }

    /// Sends a message to itself, and expects it next: the peer is there, and nothing else has come before.
    pub(crate) async fn hears_itself(&mut self, text: &str) -> TestResult {
        let name = self.name.clone();
        self.tell(&name, text).await?;
        self.hears(&name, text).await
    }
}

fn path(name: &str) -> String {
    format!("/peers/{name}")
}

/// The delivered form of a message.
fn delivered(from: &str, text: &str) -> Value {
    json!({"from": from, "text": text})
}

/// The answer to a sender if there is no such peer.
fn nobody(name: &str) -> String {
    format!("there is no peer with the name {name}")
}

async fn a_message_arrives_at_the_peer_it_is_for(context: &Context) -> TestResult {
    let mut ada = ConnectedPeer::enter(context, "ada").await?;
    let mut ben = ConnectedPeer::enter(context, "ben").await?;
    let mut cleo = ConnectedPeer::enter(context, "cleo").await?;
    ada.tell("ben", "for Ben").await?;
    ben.hears("ada", "for Ben").await?;
    let with_more = json!({"to": "cleo", "text": "for Cleo", "ignored": 1});
    ben.socket.say(with_more).await?;
    // The message for Ben has not come before.
    cleo.hears("ben", "for Cleo").await?;
    cleo.hears_itself("for myself").await
}

async fn a_message_to_all_arrives_at_all_others(context: &Context) -> TestResult {
    let mut speaker = ConnectedPeer::enter(context, "speaker").await?;
    let listeners = (0..20).map(async |listener| {
        let name = format!("listener-{listener}");
        ConnectedPeer::enter(context, &name).await
    });
    let mut listeners = try_join_all(listeners).await?;
    for text in ["one", "two"] {
        speaker.tell_all(text).await?;
    }
    for listener in &mut listeners {
        listener.hears("speaker", "one").await?;
        listener.hears("speaker", "two").await?;
    }
    // Its own messages have not come back before.
    speaker.hears_itself("last").await
}

async fn the_key_and_the_name_are_judged_before_the_upgrade(context: &Context) -> TestResult {
    let sockets = context.client.for_sockets();
    for client in [sockets.without_key(), sockets.with_key("wrong_key")] {
        let paths = ["/peers/dora", "/peers/no%20name"];
        client.each(paths, has_status(401)).await?;
    }
    let too_long = "x".repeat(33);
    let names = ["no%20name", "a.b", "%C3%A4", "%FF", "a%2Fb", &too_long];
    let paths = names.map(path);
    let no_name = "name must be 1 to 32 letters, digits, hyphens and underscores";
    sockets.each(paths, is_problem(400, no_name)).await?;
    let posted = sockets.post("/peers/dora").await?;
    crate::expect_no_such_method(&posted)?;
    for name in [&*"x".repeat(32), "A-b_9"] {
        ConnectedPeer::enter(context, name).await?;
    }
    // A browser cannot set headers for a WebSocket: there the key is in the query.
    let without_header = context.client.without_key();
    let in_the_query = "/peers/dora?api_key=valid_key";
    without_header.socket(in_the_query).await?;
    Ok(())
}

async fn a_request_without_an_upgrade_answers_426(context: &Context) -> TestResult {
    let needs_one = is_problem(426, "this path needs a WebSocket of version 13");
    let sockets = context.client.for_sockets();
    for client in [
        context.client.clone(),
        sockets.with("Upgrade", Some("h2c")),
        sockets.with("Connection", None),
        sockets.with("Sec-WebSocket-Version", Some("8")),
        sockets.with("Sec-WebSocket-Key", None),
    ] {
        let answer = client.get("/peers/emil").await?;
        needs_one(&answer)?
            .expect_header("Upgrade", "websocket")?
            .expect_header("Sec-WebSocket-Version", "13")?;
    }
    // A HEAD isn't a GET, whatever else it asks for.
    for client in [&context.client, &sockets] {
        client.head("/peers/emil").await?.expect_status(426)?;
    }
    // None of them has taken the name.
    ConnectedPeer::enter(context, "emil").await?;
    Ok(())
}

async fn a_name_is_given_once(context: &Context) -> TestResult {
    let in_use = is_problem(409, "another peer has this name");
    let mut first = ConnectedPeer::enter(context, "fay").await?;
    for _ in 0..2 {
        in_use(&context.client.for_sockets().get("/peers/fay").await?)?;
    }
    first.hears_itself("still here").await?;

    let mut sockets = 0;
    for opened in join_all((0..20).map(|_| context.client.open("/peers/all-at-once"))).await {
        match opened? {
            Opened::Socket(_) => sockets += 1,
            Opened::Refused(answer) => drop(in_use(&answer)?),
        }
    }
    let what = "sockets for 20 peers that ask for the same name at the same time";
    expect_eq(what, sockets, 1)
}

async fn a_name_is_free_when_its_peer_has_left(context: &Context) -> TestResult {
    ConnectedPeer::enter(context, "gus").await?.socket.leave().await?;
    context.client.socket_again("/peers/gus").await?;
    let lost = ConnectedPeer::enter(context, "hal").await?;
    drop(lost);
    context.client.socket_again("/peers/hal").await?;
    Ok(())
}

async fn a_peer_that_is_not_there_is_named_to_the_sender(context: &Context) -> TestResult {
    let mut ida = ConnectedPeer::enter(context, "ida").await?;
    for name in ["jim", "no name", "", "\"ä\""] {
        ida.tell(name, "Are you there?").await?;
        ida.hears_error(&nobody(name)).await?;
    }
    ida.hears_itself("I am").await
}

async fn what_is_no_message_is_answered_and_ends_nothing(context: &Context) -> TestResult {
    let mut kim = ConnectedPeer::enter(context, "kim").await?;
    for text in [
        "",
        "hello",
        "{",
        "null",
        "[]",
        r#"["kim","hello"]"#,
        "{}",
        r#"{"to":"kim"}"#,
        r#"{"to":"kim","text":null}"#,
        r#"{"to":"kim","text":7}"#,
        r#"{"to":7,"text":"hello"}"#,
        r#"{"to":"kim","text":"hello"} and more"#,
    ] {
        kim.socket.say(text).await?;
        let no_message = "a message must be a JSON object with a text";
        kim.hears_error(no_message).await?;
    }
    let too_long = format!("text must not be longer than {MAX_TEXT} bytes");
    for text in ["x".repeat(MAX_TEXT + 1), "ä".repeat(MAX_TEXT / 2 + 1)] {
        kim.tell("kim", &text).await?;
        kim.hears_error(&too_long).await?;
    }
    for text in ["x".repeat(MAX_TEXT), "ä".repeat(MAX_TEXT / 2)] {
        kim.hears_itself(&text).await?;
    }
    Ok(())
}

async fn a_text_arrives_as_it_was_sent(context: &Context) -> TestResult {
    let mut lea = ConnectedPeer::enter(context, "lea").await?;
    let controls: String = (0..0x20_u8).map(char::from).collect();
    let texts = [
        "",
        "Grüße 🦀",
        "\"quoted\" \\ /",
        "\u{7f}\u{2028}\u{feff}",
        &controls,
    ];
    for text in texts {
        lea.tell("lea", text).await?;
        let (event, expected) = (lea.socket.next().await?, delivered("lea", text));
        // Implementations may escape a text differently.
        let arrived = match &event {
            Event::Text(json) => serde_json::from_str(json).ok(),
            _ => None,
        };
        if arrived.as_ref() != Some(&expected) {
            let failure = lea.socket.failure(expected.to_string(), event.to_string());
            return Err(failure.into());
        }
    }
    let whole = json!({"to": "lea", "text": "in three pieces"}).to_string();
    let (first, rest) = whole.as_bytes().split_at(10);
    let (second, third) = rest.split_at(10);
    for (bytes, kind, is_last) in [
        (first, Data::Text, false),
        (second, Data::Continue, false),
        (third, Data::Continue, true),
    ] {
        lea.socket.send(frame(bytes, kind, is_last)).await?;
    }
    lea.hears("lea", "in three pieces").await
}

fn frame(bytes: &[u8], kind: Data, is_last: bool) -> Message {
    Message::Frame(Frame::message(bytes.to_vec(), OpCode::Data(kind), is_last))
}

async fn a_ping_is_answered(context: &Context) -> TestResult {
    let mut max = ConnectedPeer::enter(context, "max").await?.socket;
    let payload = b"ping".to_vec();
    max.send(Message::Ping(payload.clone())).await?;
    max.expect(&Event::Pong(payload)).await
}

/// Expects that the socket of a new peer is then closed with this code, and that of another peer still works.
pub(crate) async fn closes_with(
    context: &Context,
    name: &str,
    code: u16,
    wrong: impl AsyncFnOnce(&mut Socket) -> Result<(), Failure>,
) -> TestResult {
    let mut witness = ConnectedPeer::enter(context, &format!("{name}-witness")).await?;
    let mut socket = ConnectedPeer::enter(context, name).await?.socket;
    wrong(&mut socket).await?;
    socket.expect(&Event::Close(Some(code))).await?;
    socket.end().await?;
    context.client.socket_again(&path(name)).await?;
    witness.hears_itself("still here").await
}

async fn a_binary_message_closes_with_1003(context: &Context) -> TestResult {
    let wrong = async |peer: &mut Socket| peer.send(Message::Binary(b"{}".to_vec())).await;
    closes_with(context, "binary", 1003, wrong).await
}

async fn a_message_that_is_too_large_closes_with_1009(context: &Context) -> TestResult {
    // The head of a frame announces its length. A service that waits for all of it has to buffer all of it.
    let announced = async |peer: &mut Socket| {
        let (text, masked) = (0x81, 0x80);
        let mut head = vec![text, masked | 126];
        head.extend(u16::to_be_bytes(MAX_MESSAGE as u16 + 1));
        head.extend([0; 4]);
        peer.send_raw(&head).await
    };
    closes_with(context, "too-large-announced", 1009, announced).await?;
    let in_pieces = async |peer: &mut Socket| {
        let half = vec![b' '; MAX_MESSAGE / 2 + 1];
        peer.send(frame(&half, Data::Text, false)).await?;
        peer.send(frame(&half, Data::Continue, true)).await
    };
    closes_with(context, "too-large-in-pieces", 1009, in_pieces).await
}

async fn a_text_that_is_not_utf8_closes_with_1007(context: &Context) -> TestResult {
    let wrong = async |peer: &mut Socket| {
        let bytes = b"{\"text\":\"\xff\"}";
        peer.send(frame(bytes, Data::Text, true)).await
    };
    closes_with(context, "not-utf8", 1007, wrong).await
}

/// Whether the service tells this peer that the other one is not there, in answer to a message.
async fn misses(peer: &mut ConnectedPeer, other: &str) -> Result<bool, Failure> {
    let name = peer.name.clone();
    peer.tell(other, "").await?;
    peer.tell(&name, "go on").await?;
    let go_on = delivered(&name, "go on").to_string();
    let gone = json!({"error": nobody(other)}).to_string();
    let mut misses_it = false;
    loop {
        match peer.socket.next().await? {
            Event::Text(text) if text == go_on => return Ok(misses_it),
            Event::Text(text) if text == gone => misses_it = true,
            other => return Err(peer.socket.failure(go_on, other.to_string())),
        }
    }
}

/// Sends windows of messages until another peer is gone, which is checked after each of them.
async fn until_removed(
    sender: &mut ConnectedPeer,
    mut window_removed_it: impl AsyncFnMut(&mut ConnectedPeer) -> Result<bool, TestError>,
) -> TestResult {
    for _ in 0..TOO_MUCH / (WINDOW * MAX_TEXT) {
        if window_removed_it(sender).await? {
            return Ok(());
        }
    }
    let expected = "a peer that does not read, removed when its inbox is full";
    let much = TOO_MUCH >> 20;
    let got = format!("it is still there, with {much} MB of messages that it has not read");
    Err(sender.socket.failure(expected, got).into())
}

/// Sends windows of messages to that peer alone until it is gone.
async fn fill_inbox(sender: &mut ConnectedPeer, idle: &str) -> TestResult {
    let text = "x".repeat(MAX_TEXT);
    until_removed(sender, async |sender| {
        for _ in 0..WINDOW {
            sender.tell(idle, &text).await?;
        }
        Ok(misses(sender, idle).await?)
    })
    .await
}

/// Whether there is a peer with this name. A message to it would show that as well, but would take up room in its inbox.
async fn is_there(context: &Context, name: &str) -> Result<bool, Failure> {
    let opened = context.client.open(&path(name)).await?;
    Ok(matches!(opened, Opened::Refused(answer) if answer.status() == 409))
}

async fn a_peer_that_does_not_read_is_removed(context: &Context) -> TestResult {
    let mut idle = ConnectedPeer::enter(context, "idle").await?;
    let mut nora = ConnectedPeer::enter(context, "nora").await?;
    fill_inbox(&mut nora, "idle").await?;
    // It may read what was on its way, and then the close, if that could still be sent.
    let code = idle.socket.end().await?;
    expect(
        code.is_none_or(|code| code == 1013),
        "a close with code 1013, or the end of the connection",
        format!("a close with code {}", code.unwrap_or_default()),
    )
}

/// Sends many times what an inbox holds, in one go, to each of a few peers that read all the time.
async fn a_quick_sender_removes_nobody_who_reads(context: &Context) -> TestResult {
    let mut hasty = ConnectedPeer::enter(context, "hasty").await?;
    let readers = (0..QUICK_READERS).map(async |reader| {
        let name = format!("quick-reader-{reader}");
        ConnectedPeer::enter(context, &name).await
    });
    let readers = try_join_all(readers).await?;
    let sending = async {
        for number in 0..IN_ONE_GO {
            hasty.tell_all(&number.to_string()).await?;
        }
        Ok(())
    };
    let reading = readers.into_iter().map(async |mut reader| {
        for number in 0..IN_ONE_GO {
            reader.hears("hasty", &number.to_string()).await?;
        }
        Ok(())
    });
    let all: Result<_, TestError> = try_join(sending, try_join_all(reading)).await;
    all.map(|_| ())
}

async fn a_broadcast_does_not_wait_for_a_peer_that_does_not_read(context: &Context) -> TestResult {
    let _idle = ConnectedPeer::enter(context, "idle-in-the-crowd").await?;
    let mut olaf = ConnectedPeer::enter(context, "olaf").await?;
    let mut reader = ConnectedPeer::enter(context, "reader").await?;
    let text = "x".repeat(MAX_TEXT);
    until_removed(&mut olaf, async |olaf| {
        for _ in 0..WINDOW {
            olaf.tell_all(&text).await?;
        }
        for _ in 0..WINDOW {
            reader.hears("olaf", &text).await?;
        }
        Ok(!is_there(context, "idle-in-the-crowd").await?)
    })
    .await
}

async fn a_removed_peer_takes_nothing_from_its_successor(context: &Context) -> TestResult {
    let mut removed = ConnectedPeer::enter(context, "successor").await?;
    let mut pia = ConnectedPeer::enter(context, "pia").await?;
    fill_inbox(&mut pia, "successor").await?;
    let mut successor = context.client.socket_again("/peers/successor").await?;
    removed.socket.end().await?;
    pia.tell("successor", "welcome").await?;
    successor.expect_text(delivered("pia", "welcome")).await
}

async fn two_thousand_peers_connect_at_once(context: &Context) -> TestResult {
    let client = context.client.within(ALL_AT_ONCE);
    let peers = (1..PEERS).map(|peer| path(&format!("peer-{peer}")));
    let peers = peers.map(async |path| client.socket(&path).await);
    let first = client.socket("/peers/peer-0");
    let (mut speaker, mut listeners) = try_join(first, try_join_all(peers)).await?;
    let text = "Hello, all of you.";
    speaker.say(json!({"text": text})).await?;
    for listener in &mut listeners {
        listener.expect_text(delivered("peer-0", text)).await?;
    }
    Ok(())
}

fn a_peer_that_answers_no_ping_is_let_go(seen: &Partings) -> TestResult {
    Ok(seen.silent.clone()?)
}

fn a_peer_that_says_nothing_is_asked_again_and_again(seen: &Partings) -> TestResult {
    Ok(seen.idle.clone()?)
}

fn a_sender_with_a_thousand_messages_under_way_is_not_let_go(seen: &Partings) -> TestResult {
    Ok(seen.busy.clone()?)
}

fn memory_after_ten_rounds_of_peers_is_what_it_was_after_two(seen: &Partings) -> TestResult {
    let Some((first, last)) = seen.memory.clone()? else {
        return Ok(());
    };
    let (growth, before) = (seen.growth >> 10, first >> 10);
    expect(
        last <= first + seen.growth,
        format!("at most {growth} MB more than the {before} MB after two rounds"),
        format!("{} MB after ten", last >> 10),
    )
}

fn a_stop_closes_every_socket_with_1001(seen: &Partings) -> TestResult {
    let stop = seen.stop.as_ref().map_err(Clone::clone)?;
    for code in &stop.codes {
        let code = code.clone()?;
        let got = match code {
            Some(code) => format!("a close with code {code}"),
            None => "the end of the connection, without a close".to_owned(),
        };
        let expected = "a close with code 1001 when the service stops";
        expect(code == Some(1001), expected, got)?;
    }
    Ok(())
}

fn a_stop_waits_for_no_peer_that_confirms_nothing(seen: &Partings) -> TestResult {
    let stop = seen.stop.as_ref().map_err(Clone::clone)?;
    let limit = stop.end.limit.as_secs();
    expect(
        stop.end.status.is_some_and(|status| status.success()),
        format!("the end of the service, with exit code 0, within {limit} s of SIGTERM"),
        match stop.end.status {
            Some(status) => status.to_string(),
            None => "it is still running".to_owned(),
        },
    )
}
