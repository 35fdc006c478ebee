//! litmus, which asks a server about WebDAV itself: conditions, properties, copies, locks. It begins by making a collection, and this
//! address book makes none, so a stand-in between them does as if, and leads to Ada's book.

use std::collections::BTreeSet;
use std::io;
use std::net::SocketAddr;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use workshop_base::peer;
use workshop_base::target::Target;
use workshop_carddav::book::BOOK;

use super::USER;
use super::site::Site;

/// Below this folder, litmus makes its collection.
const FOLDER: &str = "/addressbooks/ada/_/";
/// The collection that it makes. Its path is as long as the book's, so that one can take the place of the other in an answer.
const MADE: &str = "/addressbooks/ada/_/litmus/";

const NO_CARD: &str = "it puts what isn't a card";
const NO_MKCOL: &str = "there is one book, and no folders in it";
const NO_PROPERTIES: &str = "properties of a client's own aren't kept";
const NO_LOCKS: &str = "there are no locks";
const AFTER_ANOTHER: &str = "it builds on one that isn't so";

/// Its programs, with the tests that don't pass here, or pass with a warning, and why. Whatever else doesn't pass is a fault, and so is
/// one of these that does.
const PROGRAMS: [(&str, &[(&str, &str)]); 5] = [
    (
        "basic",
        &[
            ("options", NO_LOCKS),
            ("put_get", NO_CARD),
            ("put_get_utf8_segment", NO_CARD),
            (
                "put_no_parent",
                "404 where RFC 4918 asks for 409: what isn't a book's has no parent here, and no client makes one",
            ),
            ("mkcol_over_plain", AFTER_ANOTHER),
            ("delete", AFTER_ANOTHER),
            ("delete_fragment", NO_MKCOL),
            ("mkcol", NO_MKCOL),
            ("mkcol_again", AFTER_ANOTHER),
            ("delete_coll", AFTER_ANOTHER),
            ("mkcol_no_parent", NO_MKCOL),
            ("mkcol_with_body", NO_MKCOL),
        ],
    ),
    (
        "copymove",
        &[
            ("copy_init", NO_CARD),
            ("copy_simple", AFTER_ANOTHER),
            ("copy_overwrite", AFTER_ANOTHER),
            ("copy_nodestcoll", AFTER_ANOTHER),
            ("copy_coll", NO_MKCOL),
            ("copy_shallow", NO_MKCOL),
            ("move", NO_CARD),
            ("move_coll", NO_MKCOL),
        ],
    ),
    (
        "props",
        &[
            ("propinit", NO_CARD),
            ("propset", AFTER_ANOTHER),
            ("propget", AFTER_ANOTHER),
            ("propmove", AFTER_ANOTHER),
            ("propdeletes", AFTER_ANOTHER),
            ("propreplace", AFTER_ANOTHER),
            ("propnullns", AFTER_ANOTHER),
            ("prophighunicode", AFTER_ANOTHER),
            ("propremoveset", AFTER_ANOTHER),
            ("propsetremove", AFTER_ANOTHER),
            ("propvalnspace", AFTER_ANOTHER),
            ("propmanyns", NO_PROPERTIES),
        ],
    ),
    ("locks", &[("options", NO_LOCKS), ("precond", NO_LOCKS)]),
    ("http", &[]),
];

#[tokio::test]
#[ignore = "needs litmus: CI asks for it where it checks the services beside the port"]
async fn the_reference_keeps_to_web_dav() {
    keeps_to_web_dav(Target::Solution(22)).await;
}

#[tokio::test]
#[ignore = "builds a service beside the port: CI asks for it where it checks those"]
async fn the_kotlin_service_keeps_to_web_dav() {
    if let Some((name, ..)) = peer::named("kotlin-contacts") {
        keeps_to_web_dav(Target::Peer(name)).await;
    }
}

async fn keeps_to_web_dav(target: Target) {
    let site = Site::start(target).await;
    let service = site.address;
    let stand_in = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = stand_in.local_addr().unwrap();
    let asked = async {
        for (program, not_so) in PROGRAMS {
            let said = run(program, address).await;
            let expected: BTreeSet<&str> = not_so.iter().map(|(test, _)| *test).collect();
            let found = not_passed(&said);
            assert!(said.contains(" tests run: "), "{program}: {said}");
            assert_eq!(found, expected, "what doesn't pass in {program}: {said}");
        }
    };
    tokio::select! {
        () = asked => {}
        error = stand_in_for(stand_in, service) => panic!("the stand-in: {error}"),
    }
    site.stop().await;
}

/// What one of the programs says.
async fn run(program: &str, address: SocketAddr) -> String {
    let folder = tempfile::tempdir().unwrap();
    let ran = Command::new("litmus")
        .arg("--keep-going")
        .arg(format!("http://{address}{FOLDER}"))
        .args([USER.0, USER.1])
        .env("TESTS", program)
        // It leaves its logs where it is.
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .expect("litmus, a package of Debian's");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// The tests that didn't pass, or that passed with a warning. A line that is written over another one begins with a carriage return.
fn not_passed(said: &str) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut test = "";
    for line in said.split(['\n', '\r']) {
        if let Some((_, named)) = line.split_once(". ") {
            test = named.split_once("..").map_or(test, |(name, _)| name);
        }
        if ["FAIL", "SKIPPED", "WARNING"]
            .iter()
            .any(|word| line.contains(word))
        {
            found.insert(test);
        }
    }
    found
}

/// Stands in between, until it is dropped. Only what ends it comes back.
async fn stand_in_for(stand_in: TcpListener, service: SocketAddr) -> io::Error {
    let mut connections = JoinSet::new();
    loop {
        match stand_in.accept().await {
            // litmus hangs up when it is done, and says itself what it misses.
            Ok((client, _)) => drop(connections.spawn(between(client, service))),
            Err(error) => return error,
        }
    }
}

/// Hands on one connection, request by request: the collection is made and removed here, and everything in it is in the book.
async fn between(client: TcpStream, service: SocketAddr) -> io::Result<()> {
    let service = TcpStream::connect(service).await?;
    let (mut answers, mut service) = service.into_split();
    let (requests, client) = client.into_split();
    let client = Mutex::new(client);
    let mut requests = BufReader::new(requests);
    let asking = async {
        while let Some(head) = head(&mut requests).await? {
            let made = |method| head.starts_with(&format!("{method} {MADE} "));
            let status = match () {
                () if made("MKCOL") => "201 Created",
                () if made("DELETE") => "204 No Content",
                () => {
                    service
                        .write_all(head.replace(MADE, BOOK).as_bytes())
                        .await?;
                    let mut body = (&mut requests).take(length(&head));
                    tokio::io::copy(&mut body, &mut service).await?;
                    continue;
                }
            };
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            client.lock().await.write_all(answer.as_bytes()).await?;
        }
        service.shutdown().await
    };
    let answering = async {
        let mut bytes = [0; 16 << 10];
        loop {
            match answers.read(&mut bytes).await? {
                0 => return client.lock().await.shutdown().await,
                read => {
                    let bytes = &mut bytes[..read];
                    // A service writes a path in one go, and the answers here are short.
                    for at in 0..=bytes.len().saturating_sub(BOOK.len()) {
                        if bytes[at..].starts_with(BOOK.as_bytes()) {
                            bytes[at..at + BOOK.len()].copy_from_slice(MADE.as_bytes());
                        }
                    }
                    client.lock().await.write_all(bytes).await?;
                }
            }
        }
    };
    tokio::try_join!(asking, answering).map(|_| ())
}

/// The next request's head with its empty line, if there is one.
async fn head(requests: &mut (impl AsyncBufReadExt + Unpin)) -> io::Result<Option<String>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if requests.read_line(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(head))
}

/// How long the body after this head is.
fn length(head: &str) -> u64 {
    let mut fields = head.lines().filter_map(|line| line.split_once(": "));
    fields
        .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
        .map_or(0, |(_, value)| value.parse().unwrap())
}
