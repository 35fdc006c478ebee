//! Suite `two-thousand-peers` (exercise 15): peers send each other messages over WebSockets, and none of them can harm the others:
//! not by what it sends, not by reading nothing, and not by the way in which it leaves.

use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use reqwest::Method;
use serde_json::{Value, json};

use workshop_harness::contract::{
    Context, Failure, TestError, TestResult, contract_tests, expect, is_problem,
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
        a_broadcast_does_not_wait_for_a_peer_that_does_not_read,
        a_removed_peer_takes_nothing_from_its_successor,
        two_thousand_peers_connect_at_once,
    ],
    partings: [
        a_peer_that_answers_no_ping_is_let_go,
        memory_after_ten_rounds_of_peers_is_what_it_was_after_two,
        a_stop_closes_every_socket_with_1001,
        a_stop_waits_for_no_peer_that_confirms_nothing,
    ]
}

/// The longest text of a message and the longest message, in bytes.
const MAX_TEXT: usize = 1024;
const MAX_MESSAGE: usize = 8192;
/// How many messages are sent before those are awaited that come of them.
const WINDOW: usize = 16;
/// How much is sent to a peer that does not read, in bytes: the system's own buffers take some millions.
const TOO_MUCH: usize = 24 << 20;
/// The longest that any of two thousand peers waits for its socket.
const ALL_AT_ONCE: Duration = Duration::from_secs(30);

/// Opens a socket for the peer with this name.
async fn enter(context: &Context, name: &str) -> Result<Socket, Failure> {
    context.client.socket(&format!("/peers/{name}")).await
}

/// What arrives of a message.
fn delivered(from: &str, text: &str) -> Value {
    json!({"from": from, "text": text})
}

/// What a sender is told when there is no such peer.
fn nobody(name: &str) -> Value {
    json!({"error": format!("there is no peer with the name {name}")})
}

async fn a_message_arrives_at_the_peer_it_is_for(context: &Context) -> TestResult {
    let mut ada = enter(context, "ada").await?;
    let mut ben = enter(context, "ben").await?;
    let mut cleo = enter(context, "cleo").await?;
    ada.say(json!({"to": "ben", "text": "for Ben"})).await?;
    ben.expect_text(delivered("ada", "for Ben")).await?;
    ben.say(json!({"to": "cleo", "text": "for Cleo", "ignored": 1}))
        .await?;
    // What was for Ben has not come before.
    cleo.expect_text(delivered("ben", "for Cleo")).await?;
    cleo.say(json!({"to": "cleo", "text": "for myself"}))
        .await?;
    cleo.expect_text(delivered("cleo", "for myself")).await
}

async fn a_message_to_all_arrives_at_all_others(context: &Context) -> TestResult {
    let mut speaker = enter(context, "speaker").await?;
    let names = (0..20).map(|listener| format!("listener-{listener}"));
    let names: Vec<String> = names.collect();
    let mut listeners = try_join_all(names.iter().map(|name| enter(context, name))).await?;
    for text in ["one", "two"] {
        speaker.say(json!({"text": text})).await?;
    }
    for listener in &mut listeners {
        listener.expect_text(delivered("speaker", "one")).await?;
        listener.expect_text(delivered("speaker", "two")).await?;
    }
    // Its own messages have not come back before.
    speaker
        .say(json!({"to": "speaker", "text": "last"}))
        .await?;
    speaker.expect_text(delivered("speaker", "last")).await
}

async fn the_key_and_the_name_are_judged_before_the_upgrade(context: &Context) -> TestResult {
    let sockets = context.client.for_sockets();
    for client in [sockets.without_key(), sockets.with_key("wrong_key")] {
        client.get("/peers/dora").await?.expect_status(401)?;
        client.get("/peers/no%20name").await?.expect_status(401)?;
    }
    let too_long = "x".repeat(33);
    let names = ["no%20name", "a.b", "%C3%A4", "%FF", "a%2Fb", &too_long];
    let paths = names.map(|name| format!("/peers/{name}"));
    let no_name = "name must be 1 to 32 letters, digits, hyphens and underscores";
    sockets.each(paths, is_problem(400, no_name)).await?;
    let posted = sockets.send(Method::POST, "/peers/dora").await?;
    posted
        .expect_status(405)?
        .expect_header("Allow", "GET, HEAD")?;
    for name in ["x".repeat(32), "A-b_9".to_owned()] {
        enter(context, &name).await?;
    }
    // A browser cannot set headers for a WebSocket: there the key is in the query.
    let without_header = context.client.without_key();
    without_header
        .socket("/peers/dora?api_key=valid_key")
        .await?;
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
        needs_one(&answer)?.expect_header("Upgrade", "websocket")?;
    }
    let head = context.client.head("/peers/emil").await?;
    head.expect_status(426)?;
    // None of them has taken the name.
    enter(context, "emil").await?;
    Ok(())
}

async fn a_name_is_given_once(context: &Context) -> TestResult {
    let in_use = is_problem(409, "another peer has this name");
    let mut first = enter(context, "fay").await?;
    for _ in 0..2 {
        in_use(&context.client.for_sockets().get("/peers/fay").await?)?;
    }
    first
        .say(json!({"to": "fay", "text": "still here"}))
        .await?;
    first.expect_text(delivered("fay", "still here")).await?;

    let at_once = join_all((0..20).map(|_| context.client.open("/peers/all-at-once"))).await;
    let mut sockets = 0;
    for opened in &at_once {
        match opened.as_ref().map_err(Clone::clone)? {
            Opened::Socket(_) => sockets += 1,
            Opened::Refused(answer) => drop(in_use(answer)?),
        }
    }
    expect(
        sockets == 1,
        "one socket for 20 peers that ask for the same name at the same time",
        format!("{sockets} sockets"),
    )
}

async fn a_name_is_free_when_its_peer_has_left(context: &Context) -> TestResult {
    let goodbye = enter(context, "gus").await?;
    goodbye.leave().await?;
    context.client.socket_again("/peers/gus").await?;
    let lost = enter(context, "hal").await?;
    drop(lost);
    context.client.socket_again("/peers/hal").await?;
    Ok(())
}

async fn a_peer_that_is_not_there_is_named_to_the_sender(context: &Context) -> TestResult {
    let mut ida = enter(context, "ida").await?;
    for name in ["jim", "no name", "", "\"ä\""] {
        ida.say(json!({"to": name, "text": "Are you there?"}))
            .await?;
        ida.expect_text(nobody(name)).await?;
    }
    ida.say(json!({"to": "ida", "text": "I am"})).await?;
    ida.expect_text(delivered("ida", "I am")).await
}

async fn what_is_no_message_is_answered_and_ends_nothing(context: &Context) -> TestResult {
    let mut kim = enter(context, "kim").await?;
    let no_message = json!({"error": "a message must be a JSON object with a text"});
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
        kim.say(text).await?;
        kim.expect_text(&no_message).await?;
    }
    let too_long = json!({"error": format!("text must not be longer than {MAX_TEXT} bytes")});
    for text in ["x".repeat(MAX_TEXT + 1), "ä".repeat(MAX_TEXT / 2 + 1)] {
        kim.say(json!({"to": "kim", "text": text})).await?;
        kim.expect_text(&too_long).await?;
    }
    for text in ["x".repeat(MAX_TEXT), "ä".repeat(MAX_TEXT / 2)] {
        kim.say(json!({"to": "kim", "text": text})).await?;
        kim.expect_text(delivered("kim", &text)).await?;
    }
    Ok(())
}

async fn a_text_arrives_as_it_was_sent(context: &Context) -> TestResult {
    let mut lea = enter(context, "lea").await?;
    let controls: String = (0..0x20_u8).map(char::from).collect();
    let texts = [
        "",
        "Grüße 🦀",
        "\"quoted\" \\ /",
        "\u{7f}\u{2028}\u{feff}",
        &controls,
    ];
    for text in texts {
        lea.say(json!({"to": "lea", "text": text})).await?;
        match lea.next().await? {
            // How a text is escaped is each implementation's own matter.
            Event::Text(json)
                if serde_json::from_str(&json).ok() == Some(delivered("lea", text)) => {}
            other => {
                let expected = delivered("lea", text).to_string();
                return Err(lea.failure(expected, other.to_string()).into());
            }
        }
    }
    let whole = json!({"to": "lea", "text": "in three pieces"}).to_string();
    let (first, rest) = whole.as_bytes().split_at(10);
    let (second, third) = rest.split_at(10);
    let pieces = [
        (first, Data::Text, false),
        (second, Data::Continue, false),
        (third, Data::Continue, true),
    ];
    for (bytes, kind, is_last) in pieces {
        lea.send(frame(bytes, kind, is_last)).await?;
    }
    lea.expect_text(delivered("lea", "in three pieces")).await
}

fn frame(bytes: &[u8], kind: Data, is_last: bool) -> Message {
    Message::Frame(Frame::message(bytes.to_vec(), OpCode::Data(kind), is_last))
}

async fn a_ping_is_answered(context: &Context) -> TestResult {
    let mut max = enter(context, "max").await?;
    let payload = b"ping".to_vec();
    max.send(Message::Ping(payload.clone())).await?;
    max.expect(&Event::Pong(payload)).await
}

/// After this, the socket of a peer of its own is closed with this code, and that of another peer works on.
async fn closes_with(
    context: &Context,
    name: &str,
    code: u16,
    wrong: impl AsyncFnOnce(&mut Socket) -> Result<(), Failure>,
) -> TestResult {
    let mut witness = enter(context, &format!("{name}-witness")).await?;
    let mut peer = enter(context, name).await?;
    wrong(&mut peer).await?;
    peer.expect(&Event::Close(Some(code))).await?;
    peer.end().await?;
    context
        .client
        .socket_again(&format!("/peers/{name}"))
        .await?;
    let itself = format!("{name}-witness");
    witness
        .say(json!({"to": itself, "text": "still here"}))
        .await?;
    witness.expect_text(delivered(&itself, "still here")).await
}

async fn a_binary_message_closes_with_1003(context: &Context) -> TestResult {
    let wrong = async |peer: &mut Socket| peer.send(Message::Binary(b"{}".to_vec())).await;
    closes_with(context, "binary", 1003, wrong).await
}

async fn a_message_that_is_too_large_closes_with_1009(context: &Context) -> TestResult {
    // The head of a frame says how long it is. Whoever waits for all of it has to keep all of it.
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

/// A peer that sends, and asks meanwhile whether another one is still there.
struct Sender {
    name: &'static str,
    socket: Socket,
    /// The peer that does not read.
    idle: &'static str,
}

impl Sender {
    async fn enter(
        context: &Context,
        name: &'static str,
        idle: &'static str,
    ) -> Result<Sender, Failure> {
        let socket = enter(context, name).await?;
        Ok(Sender { name, socket, idle })
    }

    /// Whether the service says that the other one is not there.
    async fn misses_it(&mut self) -> Result<bool, Failure> {
        let Sender { name, socket, idle } = self;
        socket.say(json!({"to": idle, "text": ""})).await?;
        socket.say(json!({"to": name, "text": "go on"})).await?;
        let (go_on, gone) = (
            delivered(name, "go on").to_string(),
            nobody(idle).to_string(),
        );
        let mut misses_it = false;
        loop {
            match socket.next().await? {
                Event::Text(text) if text == go_on => return Ok(misses_it),
                Event::Text(text) if text == gone => misses_it = true,
                other => return Err(socket.failure(go_on, other.to_string())),
            }
        }
    }

    /// Has windows of messages sent until the other one is not there any more, which is asked after each of them.
    async fn until_removed(
        &mut self,
        mut window_removed_it: impl AsyncFnMut(&mut Sender) -> Result<bool, TestError>,
    ) -> TestResult {
        for _ in 0..TOO_MUCH / (WINDOW * MAX_TEXT) {
            if window_removed_it(self).await? {
                return Ok(());
            }
        }
        let expected = "a peer that does not read, removed when its inbox is full";
        let got = format!(
            "it is still there, with {} MB of messages that it has not read",
            TOO_MUCH >> 20
        );
        Err(self.socket.failure(expected, got).into())
    }

    /// The same with messages to that peer alone.
    async fn fill_its_inbox(&mut self) -> TestResult {
        let message = json!({"to": self.idle, "text": "x".repeat(MAX_TEXT)});
        self.until_removed(async |sender| {
            for _ in 0..WINDOW {
                sender.socket.say(&message).await?;
            }
            Ok(sender.misses_it().await?)
        })
        .await
    }
}

/// Whether there is a peer with this name. A message to it would say so as well, but would take a place in its inbox.
async fn is_there(context: &Context, name: &str) -> Result<bool, Failure> {
    let opened = context.client.open(&format!("/peers/{name}")).await?;
    Ok(matches!(opened, Opened::Refused(answer) if answer.status() == 409))
}

async fn a_peer_that_does_not_read_is_removed(context: &Context) -> TestResult {
    let mut idle = enter(context, "idle").await?;
    let mut nora = Sender::enter(context, "nora", "idle").await?;
    nora.fill_its_inbox().await?;
    // It may read what was on its way, and then that it is closed, if it can still be told.
    let code = idle.end().await?;
    expect(
        code.is_none_or(|code| code == 1013),
        "a close with code 1013, or the end of the connection",
        format!("a close with code {}", code.unwrap_or_default()),
    )
}

async fn a_broadcast_does_not_wait_for_a_peer_that_does_not_read(context: &Context) -> TestResult {
    let _idle = enter(context, "idle-in-the-crowd").await?;
    let mut olaf = Sender::enter(context, "olaf", "idle-in-the-crowd").await?;
    let mut reader = enter(context, "reader").await?;
    let text = "x".repeat(MAX_TEXT);
    let (message, expected) = (json!({"text": text}), delivered("olaf", &text));
    olaf.until_removed(async |olaf| {
        for _ in 0..WINDOW {
            olaf.socket.say(&message).await?;
        }
        for _ in 0..WINDOW {
            reader.expect_text(&expected).await?;
        }
        Ok(!is_there(context, olaf.idle).await?)
    })
    .await
}

async fn a_removed_peer_takes_nothing_from_its_successor(context: &Context) -> TestResult {
    let mut removed = enter(context, "successor").await?;
    let mut pia = Sender::enter(context, "pia", "successor").await?;
    pia.fill_its_inbox().await?;
    let mut successor = context.client.socket_again("/peers/successor").await?;
    removed.end().await?;
    let welcome = json!({"to": "successor", "text": "welcome"});
    pia.socket.say(welcome).await?;
    successor.expect_text(delivered("pia", "welcome")).await
}

async fn two_thousand_peers_connect_at_once(context: &Context) -> TestResult {
    let client = context.client.within(ALL_AT_ONCE);
    let paths = (0..PEERS).map(|peer| format!("/peers/peer-{peer}"));
    let sockets = paths.map(async |path| client.socket(&path).await);
    let mut sockets = try_join_all(sockets).await?;
    let (speaker, listeners) = sockets
        .split_first_mut()
        .ok_or_else(|| Failure::new(format!("{PEERS} sockets"), "none"))?;
    speaker.say(json!({"text": "Hello, all of you."})).await?;
    let hello = delivered("peer-0", "Hello, all of you.");
    for listener in listeners {
        listener.expect_text(&hello).await?;
    }
    Ok(())
}

fn a_peer_that_answers_no_ping_is_let_go(seen: &Partings) -> TestResult {
    Ok(seen.silent.clone()?)
}

fn memory_after_ten_rounds_of_peers_is_what_it_was_after_two(seen: &Partings) -> TestResult {
    let Some((first, last)) = seen.memory.clone()? else {
        return Ok(());
    };
    expect(
        last <= first + seen.growth,
        format!(
            "at most {} MB more than the {} MB after two rounds",
            seen.growth >> 10,
            first >> 10
        ),
        format!("{} MB after ten", last >> 10),
    )
}

fn a_stop_closes_every_socket_with_1001(seen: &Partings) -> TestResult {
    let stop = seen.stop.as_ref().map_err(Clone::clone)?;
    for code in &stop.codes {
        let got = match code.clone()? {
            Some(1001) => continue,
            Some(code) => format!("a close with code {code}"),
            None => "the end of the connection, without a close".to_owned(),
        };
        return Err(Failure::new("a close with code 1001 when the service stops", got).into());
    }
    Ok(())
}

fn a_stop_waits_for_no_peer_that_confirms_nothing(seen: &Partings) -> TestResult {
    let stop = seen.stop.as_ref().map_err(Clone::clone)?;
    let limit = stop.end.limit.as_secs();
    match stop.end.status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(Failure::new("an exit with code 0", status.to_string()).into()),
        None => {
            let expected = format!("the end of the service within {limit} s of SIGTERM");
            Err(Failure::new(expected, "it is still running").into())
        }
    }
}
