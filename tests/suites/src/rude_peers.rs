//! Suite `rude-peers` (exercise 13): what a client may put on a socket, frame by frame, and what it must not.

use workshop_harness::contract::{
    Context, Failure, TestError, TestResult, contract_tests, expect, expect_eq,
};
use workshop_harness::socket::{Event, Opened, Socket};

use crate::two_thousand_peers::{ConnectedPeer, closes_with};

contract_tests! {
    peers: [
        half_an_emoji_is_no_text,
        of_members_said_twice_the_last_one_counts,
        a_character_may_be_split_between_frames,
        half_a_character_closes_with_1007,
        a_ping_between_the_frames_of_a_message_is_answered,
        a_frame_that_breaks_the_protocol_closes_with_1002,
        frames_around_64_kilobytes_close_with_1009,
        a_close_is_confirmed,
        a_close_that_says_something_wrong_ends_the_connection,
        what_a_browser_offers_is_not_taken_up,
        the_origin_is_not_judged,
    ]
}

/// The last frame of a message.
const LAST: u8 = 0x80;
/// Bits that belong to extensions.
const RESERVED: [u8; 3] = [0x40, 0x20, 0x10];
/// The opcodes of frames.
const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
/// Undefined opcodes.
const UNKNOWN: [u8; 4] = [3, 7, 11, 15];
/// Every frame of a client is masked.
const MASKED: u8 = 0x80;
/// With this mask the bytes stay as they are.
const MASK: [u8; 4] = [0; 4];
/// The maximum payload of a ping or a close.
const MAX_CONTROL: usize = 125;
const MAX_MESSAGE: usize = 8192;

/// A frame as a client sends it.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    announced(first, payload.len(), payload)
}

/// A frame that announces this length.
fn announced(first: u8, length: usize, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match length {
        0..=125 => bytes.push(MASKED | length as u8),
        126..=0xffff => {
            bytes.push(MASKED | 126);
            bytes.extend((length as u16).to_be_bytes());
        }
        _ => {
            bytes.push(MASKED | 127);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    bytes.extend(MASK);
    bytes.extend(payload);
    bytes
}

fn unmasked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first, payload.len() as u8];
    bytes.extend(payload);
    bytes
}

async fn half_an_emoji_is_no_text(context: &Context) -> TestResult {
    let mut una = ConnectedPeer::enter(context, "una").await?;
    let no_message = "a message must be a JSON object with a text";
    for text in [r"x\ud83d", r"\ude00x", r"\ud83dx", r"\ud83d\ud83d"] {
        for message in [
            format!(r#"{{"to":"una","text":"{text}"}}"#),
            format!(r#"{{"to":"{text}","text":"hello"}}"#),
        ] {
            una.socket.say(message).await?;
            una.hears_error(no_message).await?;
        }
    }
    let whole = r#"{"to":"una","t\u0065xt":"\ud83D\ude00\u0000"}"#;
    una.socket.say(whole).await?;
    una.hears("una", "😀\u{0}").await
}

async fn of_members_said_twice_the_last_one_counts(context: &Context) -> TestResult {
    let mut vic = ConnectedPeer::enter(context, "vic").await?;
    for message in [
        r#"{"to":"vic","text":"one","text":"two"}"#,
        r#"{"to":"vic","text":7,"text":"two"}"#,
        r#"{"to":"nobody","text":"two","to":"vic"}"#,
        r#"{"to":null,"text":"two","t\u006f":"vic"}"#,
    ] {
        vic.socket.say(message).await?;
        vic.hears("vic", "two").await?;
    }
    vic.socket.say(r#"{"to":"vic","text":"two","text":7}"#).await?;
    vic.hears_error("a message must be a JSON object with a text").await
}

async fn a_character_may_be_split_between_frames(context: &Context) -> TestResult {
    let mut wim = ConnectedPeer::enter(context, "wim").await?;
    let message = r#"{"to":"wim","text":"é😀"}"#.as_bytes();
    for pieces in 2..=message.len() {
        let length = message.len().div_ceil(pieces);
        let mut kind = TEXT;
        for piece in message.chunks(length) {
            wim.socket.send_raw(&frame(kind, piece)).await?;
            kind = CONTINUATION;
        }
        wim.socket.send_raw(&frame(LAST | CONTINUATION, b"")).await?;
        wim.hears("wim", "é😀").await?;
    }
    Ok(())
}

async fn half_a_character_closes_with_1007(context: &Context) -> TestResult {
    let wrong: [(&str, &[&[u8]]); 5] = [
        ("half-a-character", &[b"{\"text\":\"\xf0\x9f"]),
        ("half-in-pieces", &[b"{\"text\":\"\xf0", b"\x9f"]),
        ("half-in-the-middle", &[b"{\"text\":\"\xf0\x9f", b"\"}"]),
        ("surrogates", &[b"{\"text\":\"\xed\xa0\xbd\xed\xb8\x80\"}"]),
        ("two-bytes-for-nul", &[b"{\"text\":\"\xc0\x80\"}"]),
    ];
    for (name, pieces) in wrong {
        let wrong = async |peer: &mut Socket| {
            let mut bytes = Vec::new();
            for (index, piece) in pieces.iter().enumerate() {
                let kind = if index == 0 { TEXT } else { CONTINUATION };
                let last = if index + 1 == pieces.len() { LAST } else { 0 };
                bytes.extend(frame(last | kind, piece));
            }
            peer.send_raw(&bytes).await
        };
        closes_with(context, name, 1007, wrong).await?;
    }
    Ok(())
}

async fn a_ping_between_the_frames_of_a_message_is_answered(context: &Context) -> TestResult {
    let mut xenia = ConnectedPeer::enter(context, "xenia").await?;
    let message = br#"{"to":"xenia","text":"in pieces"}"#;
    let (first, last) = message.split_at(10);
    let longest = [b'x'; MAX_CONTROL];
    for payload in [&b"in between"[..], b"", &longest] {
        let xenia = &mut xenia.socket;
        xenia.send_raw(&frame(TEXT, first)).await?;
        xenia.send_raw(&frame(LAST | PONG, b"not asked for")).await?;
        xenia.send_raw(&frame(LAST | PING, payload)).await?;
        // It does not wait for the end of the message.
        xenia.expect(&Event::Pong(payload.to_vec())).await?;
        xenia.send_raw(&frame(LAST | CONTINUATION, last)).await?;
        let whole = serde_json::json!({"from": "xenia", "text": "in pieces"});
        xenia.expect_text(whole).await?;
    }
    Ok(())
}

async fn a_frame_that_breaks_the_protocol_closes_with_1002(context: &Context) -> TestResult {
    let mut wrong = vec![
        ("unmasked-text".to_owned(), unmasked(LAST | TEXT, b"{}")),
        ("unmasked-ping".to_owned(), unmasked(LAST | PING, b"x")),
        ("long-ping".to_owned(), frame(LAST | PING, &[b'x'; MAX_CONTROL + 1])),
        ("ping-in-pieces".to_owned(), frame(PING, b"x")),
        ("no-beginning".to_owned(), frame(LAST | CONTINUATION, b"{}")),
        (
            "two-beginnings".to_owned(),
            [frame(TEXT, b"{"), frame(LAST | TEXT, b"{}")].concat(),
        ),
    ];
    for bit in RESERVED {
        wrong.push((format!("reserved-{bit}"), frame(LAST | bit | TEXT, b"{}")));
        wrong.push((format!("reserved-ping-{bit}"), frame(LAST | bit | PING, b"")));
    }
    for kind in UNKNOWN {
        wrong.push((format!("unknown-{kind}"), frame(LAST | kind, b"")));
    }
    for (name, bytes) in wrong {
        let wrong = async |peer: &mut Socket| peer.send_raw(&bytes).await;
        closes_with(context, &name, 1002, wrong).await?;
    }
    Ok(())
}

async fn frames_around_64_kilobytes_close_with_1009(context: &Context) -> TestResult {
    let mut yara = ConnectedPeer::enter(context, "yara").await?;
    let mut longest = br#"{"to":"yara","text":"all of it"}"#.to_vec();
    longest.resize(MAX_MESSAGE, b' ');
    yara.socket.send_raw(&frame(LAST | TEXT, &longest)).await?;
    yara.hears("yara", "all of it").await?;
    for (name, length) in [
        ("almost-64-kilobytes", 0xffff),
        ("64-kilobytes", 0x1_0000),
        ("one-byte-more", 0x1_0001),
        ("all-there-is", usize::MAX >> 1),
    ] {
        let wrong = async |peer: &mut Socket| {
            peer.send_raw(&announced(LAST | TEXT, length, b"")).await
        };
        closes_with(context, name, 1009, wrong).await?;
    }
    Ok(())
}

/// The service's close after this one.
async fn confirmed(
    context: &Context,
    name: &str,
    payload: &[u8],
) -> Result<Option<u16>, TestError> {
    let path = format!("/peers/{name}");
    let mut socket = context.client.socket(&path).await?;
    socket.send_raw(&frame(LAST | CLOSE, payload)).await?;
    let code = socket.end().await?;
    context.client.socket_again(&path).await?.leave().await?;
    Ok(code)
}

fn close(code: u16, reason: &[u8]) -> Vec<u8> {
    [&code.to_be_bytes()[..], reason].concat()
}

async fn a_close_is_confirmed(context: &Context) -> TestResult {
    let code = confirmed(context, "without-a-code", b"").await?;
    let got = format!("{code:?}");
    let expected = "a close without a code, or with 1000, after a close without one";
    expect(code.is_none_or(|code| code == 1000), expected, got)?;
    for code in [1000, 1001, 3000, 4999] {
        let name = format!("leaves-with-{code}");
        let confirmed = confirmed(context, &name, &close(code, b"bye")).await?;
        expect_eq("the code that confirms a close", confirmed, Some(code))?;
    }
    Ok(())
}

async fn a_close_that_says_something_wrong_ends_the_connection(context: &Context) -> TestResult {
    for (name, payload) in [
        ("half-a-code", vec![3]),
        ("code-999", close(999, b"")),
        ("code-1005", close(1005, b"")),
        ("code-1006", close(1006, b"")),
        ("code-2999", close(2999, b"")),
        ("no-reason", close(1000, b"\xff")),
    ] {
        let code = confirmed(context, name, &payload).await?;
        // These mean that there was no code, or no close: they must not be sent.
        let is_allowed = !matches!(code, Some(999 | 1005 | 1006 | 2999));
        let expected = format!("no close with a reserved code, after {name}");
        expect(is_allowed, expected, format!("{code:?}"))?;
    }
    Ok(())
}

async fn what_a_browser_offers_is_not_taken_up(context: &Context) -> TestResult {
    let offers = "permessage-deflate; client_max_window_bits, x-webkit-deflate-frame";
    let client = context.client.for_sockets();
    let client = client.with("Sec-WebSocket-Extensions", Some(offers));
    let client = client.with("Sec-WebSocket-Protocol", Some("chat"));
    let Opened::Socket(mut socket) = client.open("/peers/zoe").await? else {
        return Err(Failure::new("a WebSocket", "a refusal").of("/peers/zoe").into());
    };
    for header in ["Sec-WebSocket-Extensions", "Sec-WebSocket-Protocol"] {
        let taken_up = socket.answer().header(header);
        let got = format!("{taken_up:?}");
        expect(taken_up.is_none(), format!("no header {header}"), got)?;
    }
    // A message that is compressed all the same.
    socket.send_raw(&frame(LAST | RESERVED[0] | TEXT, b"\xaa\x05\x00")).await?;
    socket.expect(&Event::Close(Some(1002))).await
}

/// A browser names the page that opens a socket. Only the key matters: unlike a cookie, no browser adds it by itself.
async fn the_origin_is_not_judged(context: &Context) -> TestResult {
    for (name, origin) in [
        ("from-elsewhere", "https://elsewhere.example"),
        ("from-a-file", "null"),
    ] {
        let client = context.client.with("Origin", Some(origin));
        client.socket(&format!("/peers/{name}")).await?;
        let without_key = client.without_key().for_sockets();
        without_key.get("/peers/from-nobody").await?.expect_status(401)?;
    }
    Ok(())
}
