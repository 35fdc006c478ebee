//! Tests: requests that are wrong, too large, or malicious.

use sqlx::Executor;

use crate::book::BOOK;
use crate::cards::{card, of_length};
use crate::client::{AddressBook, document, expect_one_of, prop};
use crate::multistatus::expect_rule;
use workshop_harness::contract::{Context, TestResult, expect_eq};
use workshop_harness::http::Body;

/// The maximum sizes of a vCard and of an XML body, in bytes.
const MAX_VCARD: usize = 1 << 20;
const MAX_XML: usize = 1 << 20;

pub async fn what_is_no_vcard_is_refused(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let good = card("not-a-card", "Ada Lovelace");
    let without = |line: &str| good.replace(line, "");
    let texts = [
        String::new(),
        "hello".to_owned(),
        good.repeat(2),
        without("UID:not-a-card\r\n"),
        without("not-a-card"),
        good.replace("not-a-card", &"x".repeat(3000)),
        without("VERSION:4.0\r\n"),
        without("END:VCARD\r\n"),
        without("BEGIN:VCARD\r\n"),
        good[..good.len() / 2].to_owned(),
        good.replace("Ada", "A\0da"),
        // XML can't contain this, so no report could.
        good.replace("Ada", "A\x0bda"),
        good.replace("FN:", "VERSION:3.0\r\nFN:"),
        good.replace("FN:", "UID:another\r\nFN:"),
    ];
    let binary: [&[u8]; 2] = [
        b"BEGIN:VCARD\r\nVERSION:4.0\r\nUID:not-a-card\r\nFN:\xff\xfe\r\nEND:VCARD\r\n",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01",
    ];
    for bytes in texts.iter().map(String::as_bytes).chain(binary) {
        let body = Body::new("text/vcard", bytes);
        let answer = ada.put_body("not-a-card.vcf", body).await?;
        expect_rule(&answer, 403, "C:valid-address-data")?;
    }
    // A phone of 2005 exports a vCard of a version that no server has to support. The refusal names the rule.
    let quoted = "VERSION:2.1\r\nN;ENCODING=QUOTED-PRINTABLE:L=C3=B6we";
    for old in ["VERSION:2.1", quoted] {
        let old = good.replace("VERSION:4.0", old);
        let answer = ada.put("not-a-card.vcf", &old).await?;
        expect_rule(&answer, 415, "C:supported-address-data")?;
    }
    ada.expect(404, "not-a-card.vcf").await
}

pub async fn another_type_than_a_vcard_answers_415(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let text = card("typed", "Typed");
    let latin = [text.as_bytes(), b"\xE9"].concat();
    for (content_type, text) in [
        (Some("application/json"), text.as_bytes()),
        (Some("text/plain"), text.as_bytes()),
        (Some("text/vcard; charset=iso-8859-1"), &latin),
        (Some("text/vcard; charset=utf-16"), text.as_bytes()),
        (Some("text/vcard; charset=nonsense"), text.as_bytes()),
    ] {
        let body = Body::new(content_type, text);
        let answer = ada.put_body("typed.vcf", body).await?;
        expect_rule(&answer, 415, "C:supported-address-data")?;
    }
    let packed = ada.with("Content-Encoding", "gzip");
    packed.put("typed.vcf", &text).await?.expect_status(415)?;
    ada.expect(404, "typed.vcf").await
}

pub async fn a_vcard_that_is_too_large_answers_413(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let small = card("large", "Small");
    for (name, text, status) in [
        ("large", of_length("large", MAX_VCARD), 201),
        ("larger", of_length("larger", MAX_VCARD + 1), 413),
        ("larger", of_length("larger", 10 << 20), 413),
        ("large", small, 204),
    ] {
        let answer = ada.put(&format!("{name}.vcf"), &text).await?;
        match status {
            413 => expect_rule(&answer, 413, "C:max-resource-size")?,
            status => answer.expect_status(status)?,
        };
    }
    ada.expect(404, "larger.vcf").await
}

/// A document whose entities would expand to gigabytes.
fn billion_laughs() -> String {
    let mut entities = r#"<!ENTITY l0 "lol">"#.to_owned();
    for level in 1..10 {
        let below = format!("&l{};", level - 1).repeat(10);
        entities += &format!(r#"<!ENTITY l{level} "{below}">"#);
    }
    format!(
        r#"<?xml version="1.0"?><!DOCTYPE propfind [{entities}]><propfind xmlns="DAV:"><prop><displayname>&l9;</displayname></prop></propfind>"#
    )
}

fn nested(depth: usize) -> String {
    let inside = depth - 3;
    let tags = "<a>".repeat(inside) + &"</a>".repeat(inside);
    let asked = format!("<D:prop><D:displayname/><b>{tags}</b></D:prop>");
    document("D:propfind", &asked)
}

pub async fn xml_that_could_do_harm_is_refused(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let external = r#"<?xml version="1.0"?><!DOCTYPE p [<!ENTITY f SYSTEM "file:///etc/passwd">]><propfind xmlns="DAV:"><prop><displayname>&f;</displayname></prop></propfind>"#;
    let plain_dtd = r#"<!DOCTYPE propfind><propfind xmlns="DAV:"><allprop/></propfind>"#;
    let good = document("D:propfind", &prop("D:displayname"));
    let large = |length: usize| {
        let padding = " ".repeat(length - good.len());
        good.replace("<D:prop>", &format!("{padding}<D:prop>"))
    };
    for (document, status) in [
        (&*billion_laughs(), 400),
        (external, 400),
        (plain_dtd, 400),
        (&nested(33), 400),
        (&nested(32), 207),
        (&"<a>".repeat(20_000), 400),
        (&good[..good.len() - 5], 400),
        (r#"<E:propfind><E:allprop/></E:propfind>"#, 400),
        // litmus checks this: a prefix can't be undeclared.
        (
            r#"<D:propfind xmlns:D="DAV:"><D:prop><a:b xmlns:a=""/></D:prop></D:propfind>"#,
            400,
        ),
        ("no XML", 400),
        ("<a/>", 400),
        (&good.replace("D:displayname", "D:display\u{1}name"), 400),
        (&large(MAX_XML), 207),
        (&large(MAX_XML + 1), 413),
        (&large(10 << 20), 413),
    ] {
        let answer = ada.propfind(BOOK, "0", Some(document)).await?;
        answer.expect_status(status)?;
    }

    let utf_16: Vec<u8> = good.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let utf_16 = [&[0xFE, 0xFF], &*utf_16].concat();
    let good = good.replace("D:displayname", "D:displaynam\u{eb}");
    let latin = good.replace("utf-8", "iso-8859-1");
    for (content_type, bytes) in [
        ("application/xml", &*utf_16),
        ("application/xml", latin.as_bytes()),
        ("text/xml; charset=utf-16", good.as_bytes()),
        ("application/json", good.as_bytes()),
    ] {
        let body = Some(Body::new(content_type, bytes));
        let answer = ada.send_xml("PROPFIND", BOOK, "0", body).await?;
        answer.expect_status(415)?;
    }
    Ok(())
}

/// Makes the database report a full disk whenever a contact is written.
const FULL: &str = "
    CREATE FUNCTION disk_full() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER disk_full BEFORE INSERT OR UPDATE ON contacts
        FOR EACH ROW EXECUTE FUNCTION disk_full();";
const NOT_FULL: &str = "DROP TRIGGER disk_full ON contacts; DROP FUNCTION disk_full();";

pub async fn a_full_disk_answers_507(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    ada.keep("disk.vcf", &card("disk", "Before")).await?;
    let token = ada.token().await?;
    let mut database = context.database.lock().await;
    database.execute(FULL).await?;
    let (written, created) = (
        ada.put("disk.vcf", &card("disk", "Lost")).await,
        ada.put("disk-2.vcf", &card("disk-2", "Lost")).await,
    );
    database.execute(NOT_FULL).await?;
    for answer in [written?, created?] {
        expect_one_of(&answer, [507, 503])?;
    }
    ada.expect_unchanged("disk.vcf", "Before").await?;
    ada.expect(404, "disk-2.vcf").await?;
    // The book's count of changes contains nothing half written, either.
    expect_eq("the token", ada.token().await?, token)?;
    let after = ada.put("disk.vcf", &card("disk", "After")).await?;
    after.expect_status(204)?;
    Ok(())
}
