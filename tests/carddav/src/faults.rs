//! Tests: the database goes away, a later release changes it, the service is killed, and strangers connect.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::{join_all, try_join_all};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::book::{BOOK, path};
use crate::cards::card;
use crate::client::{AddressBook, expect_one_of, sync_collection};
use workshop_base::wait;
use workshop_harness::contacts_faults::Faults;
use workshop_harness::contract::{Answer, Failure, TestResult, expect, expect_eq};
use workshop_harness::outage::{PATIENCE, RECOVERY_LIMIT, expect_no_database, settled};

pub async fn without_a_database_it_answers_503(faults: &Faults) -> TestResult {
    let ada = AddressBook::of(&faults.client);
    ada.keep("outage.vcf", &card("outage", "Before")).await?;
    faults.cut().await;
    let text = card("outage", "During");
    let sync = sync_collection("", None);
    let (health, ready, get, put, delete, propfind, report) = tokio::join!(
        faults.client.get("/health"),
        faults.client.get("/ready"),
        ada.get("outage.vcf"),
        ada.put("outage.vcf", &text),
        ada.delete("outage.vcf"),
        ada.propfind(BOOK, "1", None),
        ada.report(&sync),
    );
    // A client without access learns nothing of the outage.
    let stranger = faults.client.without_key().get(&path("outage.vcf")).await;
    faults.restore().await;
    health?.expect_status(200)?;
    stranger?.expect_status(401)?;
    for answer in [ready?, get?, put?, delete?, propfind?, report?] {
        let (limit, took) = (format!("an answer within {PATIENCE:?}"), answer.took());
        expect_no_database(&answer)?.expect(took < PATIENCE, limit, format!("{took:?}"))?;
    }
    let works =
        |answer: &Result<Answer, Failure>| answer.as_ref().is_ok_and(|got| got.status() == 200);
    let get = async || ada.get("outage.vcf").await;
    let _ = wait::last_within(RECOVERY_LIMIT, get, works).await?;
    ada.expect_unchanged("outage.vcf", "Before").await?;
    ada.keep("outage.vcf", &card("outage", "After")).await?;
    Ok(())
}

pub async fn a_kill_loses_neither_contacts_nor_tokens(faults: &Faults) -> TestResult {
    let ada = AddressBook::of(&faults.client);
    ada.keep("killed-1.vcf", &card("killed-1", "1")).await?;
    let token = ada.token().await?;
    let tag = ada.keep("killed-2.vcf", &card("killed-2", "2")).await?;
    ada.delete("killed-1.vcf").await?.expect_status(204)?;
    faults.kill_and_start().await?;

    let kept = ada.get("killed-2.vcf").await?;
    kept.expect_status(200)?.expect_header("ETag", &tag)?;
    let changes = ada.sync(&token, None).await?;
    let changed = changes.contact("killed-2.vcf")?;
    changed.expect_text("D:getetag", &tag)?;
    changes.contact("killed-1.vcf")?.expect_status(404)?;
    let again = card("killed-2", "3");
    let later = ada.if_match(&tag).put("killed-2.vcf", &again).await?;
    later.expect_status(204)?;
    let later = ada.sync(&changes.token()?, None).await?;
    later.expect_contacts(&["killed-2.vcf"])
}

pub async fn a_later_release_does_no_harm(faults: &Faults) -> TestResult {
    let ada = AddressBook::of(&faults.client);
    let name = "released.vcf";
    let text = card("released", "Released");
    let reads = async || {
        let reads = (0..READERS).map(|_| ada.expect(200, name));
        try_join_all(reads).await
    };
    let tag = ada.keep(name, &text).await?;
    reads().await?;
    // Each connection has prepared its statements by now, and their result types change.
    faults
        .alter("ALTER TABLE contacts ADD COLUMN note text, ALTER COLUMN etag TYPE varchar(100); ALTER TABLE books ALTER COLUMN owner TYPE varchar(100)")
        .await?;
    reads().await?;
    let writes = (0..READERS).map(|_| ada.put(name, &text));
    for answer in try_join_all(writes).await? {
        expect_one_of(&answer, [204, 503])?;
    }
    let put = ada.if_match(&tag).put(name, &text).await?;
    put.expect_status(204)?;

    // The release before it can be started again, whatever the later one has run.
    faults
        .alter(
            "DO $$ BEGIN IF to_regclass('_sqlx_migrations') IS NOT NULL THEN \
             INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
             VALUES (9999, 'of a later release', true, '\\x00', 0); END IF; END $$",
        )
        .await?;
    faults.kill_and_start().await?;
    reads().await?;

    // This release queries its columns by name: it is not ready without one, and ready again once that is back.
    faults
        .alter("ALTER TABLE contacts RENAME COLUMN etag TO tag")
        .await?;
    faults.kill_and_begin().await?;
    let ready = async || faults.client.get("/ready").await;
    let says = |answer: &Result<Answer, Failure>| answer.as_ref().is_ok_and(is_behind);
    let behind = wait::last_within(RECOVERY_LIMIT, ready, says).await?;
    faults
        .alter("ALTER TABLE contacts RENAME COLUMN tag TO etag")
        .await?;
    behind.expect_problem(503, "the schema is not up to date yet")?;
    let is_ready =
        |answer: &Result<Answer, Failure>| answer.as_ref().is_ok_and(|got| got.status() == 200);
    let ready = wait::last_within(RECOVERY_LIMIT, ready, is_ready).await?;
    ready.expect_status(200)?;
    reads().await?;
    faults.alter("ALTER TABLE contacts DROP COLUMN note").await
}

fn is_behind(answer: &Answer) -> bool {
    answer
        .expect_problem(503, "the schema is not up to date yet")
        .is_ok()
}

/// The number of concurrent readers or writers: more than there are connections.
const READERS: usize = 30;

/// The connections of a server that allows few, the number of clients, and the requests of each client.
const FEW: usize = 2;
const CLIENTS: usize = 12;
const TURNS: usize = 20;

pub async fn few_connections_serve_all_who_wait(faults: &Faults) -> TestResult {
    let ada = AddressBook::of(&faults.client);
    ada.keep("few.vcf", &card("few", "Few")).await?;
    let before = faults.refused().await;
    faults.give_only(FEW).await;
    let ready = settled(&faults.client, "/ready").await;
    let began = Instant::now();
    let clients = (0..CLIENTS).map(async |client| {
        let (name, text) = (
            format!("few-{client}.vcf"),
            card(&format!("few-{client}"), "Few"),
        );
        for _ in 0..TURNS {
            ada.expect(200, "few.vcf").await?;
            ada.keep(&name, &text).await?;
        }
        TestResult::Ok(())
    });
    let served = join_all(clients).await;
    let (seconds, refused) = (
        began.elapsed().as_secs() as usize,
        faults.refused().await - before,
    );
    faults.give_all().await;
    ready?.expect_status(200)?;
    served.into_iter().collect::<TestResult>()?;
    // Each slot of the pool may be refused a connection once, and then has to wait for a while.
    let most = faults.pool_size().await * (5 * seconds + 8);
    expect(
        refused <= most,
        format!(
            "at most {most} refused connections: a server that is full is not asked again for each request"
        ),
        format!("{refused} in {seconds} s"),
    )
}

/// The maximum time that a stranger may keep a connection, and what a slow machine adds.
const STRANGERS_LIMIT: Duration = Duration::from_secs(10 + 8);

pub async fn strangers_are_not_waited_for(faults: &Faults) -> TestResult {
    let address = faults.address().await;
    let half_a_body =
        "Host: localhost\r\nContent-Type: text/vcard\r\nContent-Length: 100\r\n\r\nBEGIN";
    let basic = STANDARD.encode("ada:secret");
    let begun = [
        String::new(),
        "PROPFIND / HTTP/1.1\r\nHost: localh".to_owned(),
        "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(),
        format!("PUT /addressbooks/ada/contacts/a.vcf HTTP/1.1\r\n{half_a_body}"),
        format!(
            "PUT /addressbooks/ada/contacts/a.vcf HTTP/1.1\r\nAuthorization: Basic {basic}\r\n{half_a_body}"
        ),
    ];
    let open = join_all(begun.iter().map(async |sent| {
        let closed = timeout(STRANGERS_LIMIT, async {
            let mut connection = TcpStream::connect(address).await?;
            connection.write_all(sent.as_bytes()).await?;
            // An answer may come before the end.
            connection.read_to_end(&mut Vec::new()).await
        });
        closed.await.is_err().then_some(sent)
    }));
    let open: Vec<&String> = open.await.into_iter().flatten().collect();
    expect_eq(
        "connections that are still open",
        open,
        Vec::<&String>::new(),
    )
}

/// The size of a refused upload, and how often it is sent: an answer is only lost now and then.
const UPLOAD: usize = 5_000_000;
const UPLOADS: usize = 20;

pub async fn a_refused_upload_gets_its_answer(faults: &Faults) -> TestResult {
    let ada = AddressBook::of(&faults.client);
    ada.keep("refused.vcf", &card("refused", "There")).await?;
    let basic = format!("Authorization: Basic {}\r\n", STANDARD.encode("ada:secret"));
    let vcard = "Content-Type: text/vcard\r\n";
    let address = faults.address().await;
    for (status, owner, headers) in [
        ("401", "ada", vcard.to_owned()),
        ("403", "grace", format!("{basic}{vcard}")),
        (
            "412",
            "ada",
            format!("{basic}{vcard}If-Unmodified-Since: Sat, 29 Oct 1994 19:43:31 GMT\r\n"),
        ),
        ("413", "ada", format!("{basic}{vcard}")),
        ("415", "ada", format!("{basic}Content-Type: text/plain\r\n")),
    ] {
        let head = format!(
            "PUT /addressbooks/{owner}/contacts/refused.vcf HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {UPLOAD}\r\n\r\n"
        );
        for _ in 0..UPLOADS {
            let answer = upload(address, &head).await;
            let expected =
                format!("HTTP/1.1 {status} in answer to each of {UPLOADS} uploads of 5 MB");
            expect(answer.contains(status), expected, answer)?;
        }
    }
    Ok(())
}

/// The beginning of the answer to a large body, sent as most clients do: the whole body first, then the answer is read.
async fn upload(address: SocketAddr, head: &str) -> String {
    let mut beginning = [0; 12];
    let answered = timeout(STRANGERS_LIMIT, async {
        let mut connection = TcpStream::connect(address).await?;
        connection.write_all(head.as_bytes()).await?;
        // The service may refuse before the end. Its answer must still arrive.
        let _ = connection.write_all(&vec![b' '; UPLOAD]).await;
        connection.read_exact(&mut beginning).await
    });
    match answered.await {
        Ok(Ok(_)) => String::from_utf8_lossy(&beginning).into_owned(),
        Ok(Err(error)) => error.to_string(),
        Err(_) => "no answer".to_owned(),
    }
}
