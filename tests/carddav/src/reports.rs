//! Tests: the reports that find contacts, by path and by text.

use std::time::Duration;

use crate::book::{BOOK, path};
use crate::cards::{card, with};
use crate::client::{AddressBook, document, prop, sync_collection};
use crate::multistatus::{Multistatus, expect_rule};
use workshop_harness::contract::{Context, Failure, TestResult, expect, expect_eq};

/// The text as an XML parser normalizes it.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

pub async fn a_multiget_answers_every_path(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let more = "NOTE:<&>]]>\\, \"quoted\"\r\n";
    let text = with("multiget", "More & <more>", more);
    let tag = ada.keep("multi@get.vcf", &text).await?;
    let there = path("multi@get.vcf");
    let missing = [
        "/addressbooks/ada/contacts/never-was.vcf",
        "/addressbooks/grace/contacts/hers.vcf",
        "/addressbooks/ada/others/a.vcf",
        "/addressbooks/ada/contacts/",
        "nonsense",
    ];
    let asked = "D:getetag C:address-data D:displayname";
    let paths = [&[&*there], &missing[..]].concat();
    let answer = ada.multiget(asked, &paths).await?;
    let found = answer.at(&there)?;
    found
        .expect_text("D:getetag", &tag)?
        .expect_missing("D:displayname")?;
    let data = found.text("C:address-data")?;
    expect_eq("address-data", lines(data), lines(&text))?;
    for path in missing {
        answer.at(path)?.expect_status(404)?;
    }
    expect_eq("responses", answer.responses.len(), paths.len())?;

    // A path may be encoded, and be a whole URL.
    let encoded = there.replace('@', "%40");
    // kenn-io/msgvault #848: some name the port as well.
    let urls =
        ["http://example.org", "HTTPS://example.org:443"].map(|host| host.to_owned() + &there);
    for href in urls.into_iter().chain([encoded]) {
        let answer = ada.multiget("D:getetag", &[&href]).await?;
        for response in &answer.responses {
            response.text("D:getetag")?;
        }
    }
    Ok(())
}

/// The report that asks for this property of the contacts that a filter finds, with more elements after the filter.
fn query(property: &str, filter: &str, more: &str) -> String {
    let asked = prop(property);
    document("C:addressbook-query", &format!("{asked}{filter}{more}"))
}

fn text_match(property: &str, attributes: &str, text: &str) -> String {
    let text = format!("<C:text-match {attributes}>{text}</C:text-match>");
    prop_filter(&format!(r#"name="{property}""#), &text)
}

fn prop_filter(attributes: &str, content: &str) -> String {
    format!("<C:prop-filter {attributes}>{content}</C:prop-filter>")
}

/// The names of the contacts that a filter finds, among those whose names begin with `query-`.
async fn found(ada: &AddressBook, test: &str, filter: &str) -> Result<Vec<String>, Failure> {
    let filter = format!(r#"<C:filter test="{test}">{filter}</C:filter>"#);
    let answer = ada.report(&query("D:getetag", &filter, "")).await?;
    let answer = Multistatus::of(&answer)?;
    let names = answer.paths().filter_map(|path| path.strip_prefix(BOOK));
    let names = names.filter_map(|name| name.strip_prefix("query-"));
    let mut names: Vec<String> = names.map(|name| name.replace(".vcf", "")).collect();
    names.sort_unstable();
    Ok(names)
}

pub async fn a_query_finds_by_text(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let zoe = "N:Queried;Zoë;;;\r\nitem1.EMAIL;TYPE=home:zoe@example.org\r\nORG:Engine\\, Analytical\r\nTITLE:AC\\\\DC\\;C:\\\\n\r\n";
    // In the form that macOS has for it: a letter and its accent.
    let composed = "NICKNAME:Jose\u{301}\r\n";
    let yan = "EMAIL:yan@exam\r\n ple.com\r\nNICKNAME:Yanny\r\n";
    let two_addresses = "EMAIL:vic@work.net\r\nEMAIL:home@vic.edu\r\n";
    for (name, full_name, more) in [
        ("vic", "Vic Other", two_addresses),
        ("zoe", "Zoë Queried", zoe),
        ("yan", "Yan Queried", yan),
        ("xan", "Xan Queried", "TEL:+49 30 123\r\nX-SPOUSE:Zed\r\n"),
        ("won", "Won Other", composed),
    ] {
        let text = with(&format!("query-uid-{name}"), full_name, more);
        ada.keep(&format!("query-{name}.vcf"), &text).await?;
    }
    let all = ["xan", "yan", "zoe"];
    let equals = r#"match-type="equals""#;
    let starts = r#"match-type="starts-with""#;
    let ends = r#"match-type="ends-with""#;
    let not = r#"negate-condition="yes""#;
    let ascii = r#"collation="i;ascii-casemap""#;
    let unicode = r#"collation="i;unicode-casemap""#;
    let fn_has = |attributes: &str, text: &str| text_match("FN", attributes, text);
    let both = fn_has("", "queried") + &text_match("EMAIL", "", "example");
    let one_of = fn_has("", "xan") + &text_match("EMAIL", ends, ".COM");
    let within = |of: &str| format!("{}{of}", fn_has("", "queried"));
    let no_email = within(&prop_filter(r#"name="EMAIL""#, "<C:is-not-defined/>"));
    let has_tel = within(&prop_filter(r#"name="tel""#, ""));
    let two_texts = |test: &str| {
        let texts = "<C:text-match>queried</C:text-match><C:text-match>yan</C:text-match>";
        prop_filter(&format!(r#"name="FN" test="{test}""#), texts)
    };
    let one_address = "<C:text-match>vic@</C:text-match><C:text-match>.edu</C:text-match>";
    let one_address = prop_filter(r#"name="EMAIL" test="allof""#, one_address);
    let organization = text_match("ORG", "", "engine, analytical");
    let cases: Vec<(&str, String, &[&str])> = vec![
        ("anyof", fn_has("", "queried"), &all),
        ("anyof", fn_has(equals, "yan queried"), &["yan"]),
        ("anyof", fn_has(equals, "yan"), &[]),
        ("anyof", fn_has(starts, "YAN Q"), &["yan"]),
        ("anyof", fn_has(ends, "queried"), &all),
        ("anyof", fn_has(unicode, "ZOË"), &["zoe"]),
        ("anyof", fn_has(ascii, "ZOë"), &["zoe"]),
        ("anyof", fn_has(ascii, "ZOË"), &[]),
        ("allof", within(&fn_has(not, "zo")), &["xan", "yan"]),
        ("allof", both, &["yan", "zoe"]),
        ("anyof", one_of, &["xan", "yan"]),
        ("allof", no_email, &["xan"]),
        ("allof", has_tel, &["xan"]),
        ("anyof", text_match("N", "", "Queried;Zoë"), &["zoe"]),
        ("anyof", text_match("NICKNAME", "", "yanny"), &["yan"]),
        ("anyof", organization, &["zoe"]),
        (
            "anyof",
            text_match("TITLE", equals, r"AC\DC;C:\n"),
            &["zoe"],
        ),
        ("anyof", text_match("TEL", "", "30 123"), &["xan"]),
        ("anyof", text_match("UID", "", "query-uid-yan"), &["yan"]),
        ("anyof", text_match("X-SPOUSE", "", "zed"), &["xan"]),
        ("anyof", text_match("NICKNAME", "", "JOSÉ"), &["won"]),
        ("anyof", text_match("NICKNAME", not, "yan"), &["won"]),
        ("anyof", two_texts("allof"), &["yan"]),
        ("anyof", two_texts("anyof"), &all),
        // Of several addresses one has to match as a whole (sabre-io/dav's ValidateFilterTest, apple/ccs-caldavtester's reports).
        (
            "anyof",
            text_match("EMAIL", not, "work"),
            &["vic", "yan", "zoe"],
        ),
        ("anyof", one_address, &[]),
        ("anyof", String::new(), &["vic", "won", "xan", "yan", "zoe"]),
    ];
    for (test, filter, expected) in cases {
        let found = found(&ada, test, &filter).await?;
        expect_eq(&format!("contacts by {test} of {filter}"), found, expected)?;
    }
    let filter = format!("<C:filter>{}</C:filter>", fn_has(equals, "xan queried"));
    let answer = ada.report(&query("C:address-data", &filter, "")).await?;
    let answer = Multistatus::of(&answer)?;
    let data = answer.contact("query-xan.vcf")?.text("C:address-data")?;
    expect(data.contains("TEL:+49 30 123"), "the vCard", data)?;

    // Without properties, all are meant; without a filter, all contacts (Kozea/Radicale #1139).
    let bare = document("C:addressbook-query", &filter);
    let answer = Multistatus::of(&ada.report(&bare).await?)?;
    answer.contact("query-xan.vcf")?.text("D:getetag")?;
    let all = Multistatus::of(&ada.report(&query("D:getetag", "", "")).await?)?;
    all.contact("query-won.vcf")?;
    let there = path("query-xan.vcf");
    let bare = format!("<D:href>{there}</D:href>");
    let bare = document("C:addressbook-multiget", &bare);
    let answer = Multistatus::of(&ada.report(&bare).await?)?;
    answer.contact("query-xan.vcf")?.text("D:getetag")?;
    Ok(())
}

pub async fn a_contact_comes_in_its_own_version(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let name = "versions.vcf";
    let href = format!("<D:href>{}</D:href>", path(name));
    let multiget = |attributes: &str| {
        let asked = format!("<D:prop><D:getetag/><C:address-data {attributes}/></D:prop>");
        document("C:addressbook-multiget", &(asked + &href))
    };
    for version in ["3.0", "4.0"] {
        let text = card("versions", "Versions").replace("4.0", version);
        ada.keep(name, &text).await?;
        for asked_for in ["3.0", "4.0"] {
            let asked = format!(r#"content-type="text/vcard" version="{asked_for}""#);
            let answer = ada.report(&multiget(&asked)).await?;
            let answer = Multistatus::of(&answer)?;
            let contact = answer.contact(name)?;
            contact.text("D:getetag")?;
            // Every client has to read version 3.0 (RFC 6352, section 3). Only some read 4.0 as well.
            if (version, asked_for) == ("4.0", "3.0") {
                contact.expect_missing("C:address-data")?;
                continue;
            }
            let data = contact.property("C:address-data")?;
            let told = data.attributes.get("version").map_or("3.0", |told| told);
            expect_eq("the version in the answer", told, version)?;
            expect(
                data.text.contains(version),
                "the card as it was put",
                &data.text,
            )?;
        }
    }
    for other in [
        r#"version="2.1""#,
        r#"content-type="application/vcard+json""#,
    ] {
        let answer = ada.report(&multiget(other)).await?;
        expect_rule(&answer, 415, "C:supported-address-data")?;
    }
    // A client that requests a part of a card gets all of it.
    let part = multiget("").replace(
        "<C:address-data />",
        r#"<C:address-data><C:prop name="FN"/></C:address-data>"#,
    );
    let answer = Multistatus::of(&ada.report(&part).await?)?;
    let data = answer.contact(name)?.text("C:address-data")?;
    expect(data.contains("UID:versions"), "the card", data)
}

pub async fn a_whole_book_is_answered_at_once(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let mut database = context.database.lock().await;
    // As many as a large book has, inserted directly: this is about reading.
    sqlx::query(
        "INSERT INTO contacts (owner, name, uid, etag, revision, changed, vcard)
         SELECT 'ada', 'many-' || n || '.vcf', 'many-' || n, '\"' || n || '\"', 0, now(),
                E'BEGIN:VCARD\\r\\nVERSION:3.0\\r\\nUID:many-' || n || E'\\r\\nFN:Many\\r\\nEND:VCARD\\r\\n'
         FROM generate_series(1, $1) AS n",
    )
    .bind(MANY)
    .execute(&mut *database)
    .await?;
    let paths: Vec<String> = (1..=MANY).map(|n| path(&format!("many-{n}.vcf"))).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    // vdirsyncer asks for all of them in one request.
    let answer = ada.multiget("D:getetag C:address-data", &paths).await;
    sqlx::query("DELETE FROM contacts WHERE name LIKE 'many-%'")
        .execute(&mut *database)
        .await?;
    let answer = answer?;
    let with_data = answer.responses.iter().filter(|response| {
        let data = response.found.get("C:address-data");
        data.is_some_and(|data| data.text.contains("UID:many-"))
    });
    expect_eq("contacts of the whole book", with_data.count(), paths.len())
}

/// How many contacts a large book has.
const MANY: i32 = 5_000;

pub async fn a_large_book_is_listed_and_synced(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let token = ada.token().await?;
    let mut database = context.database.lock().await;
    sqlx::query(
        "WITH book AS (UPDATE books SET revision = revision + 1 WHERE owner = 'ada' RETURNING revision)
         INSERT INTO contacts (owner, name, uid, etag, revision, changed, vcard)
         SELECT 'ada', 'large-' || n || '.vcf', 'large-' || n, '\"' || n || '\"', revision, now(), 'BEGIN:VCARD'
         FROM book, generate_series(1, $1) AS n",
    )
    .bind(LARGE)
    .execute(&mut *database)
    .await?;
    let slow = AddressBook {
        client: ada.client.within(MAX_TIME),
        path: BOOK.to_owned(),
    };
    let listed = slow.properties(BOOK, "1", "D:getetag").await;
    let synced = slow.sync(&token, None).await;
    sqlx::query("DELETE FROM contacts WHERE name LIKE 'large-%'")
        .execute(&mut *database)
        .await?;
    for (how, answer) in [("listed", listed?), ("synced", synced?)] {
        let large = answer.paths().filter(|path| path.contains("/large-"));
        expect_eq(
            &format!("contacts that are {how}"),
            large.count(),
            LARGE as usize,
        )?;
    }
    Ok(())
}

/// The number of contacts of the largest known book, and how long an unoptimized service may take for all of them.
const LARGE: i32 = 20_000;
const MAX_TIME: Duration = Duration::from_secs(20);

pub async fn a_query_says_when_there_is_more(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    for number in 0..4 {
        let text = card(&format!("limited-{number}"), "Limited To Some");
        ada.keep(&format!("limited-{number}.vcf"), &text).await?;
    }
    let some = text_match("FN", "", "limited to");
    let filter = format!("<C:filter>{some}</C:filter>");
    for (limit, contacts, more) in [(3, 3, true), (4, 4, false), (9, 4, false)] {
        let limit = format!("<C:limit><C:nresults>{limit}</C:nresults></C:limit>");
        let answer = ada.report(&query("D:getetag", &filter, &limit)).await?;
        let answer = Multistatus::of(&answer)?;
        expect_eq(&format!("507 with {limit}"), answer.has_more(), more)?;
        let found = answer.paths().filter(|path| *path != BOOK).count();
        expect_eq(&format!("contacts with {limit}"), found, contacts)?;
    }
    Ok(())
}

pub async fn an_unknown_report_or_filter_is_refused(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    for report in [
        "D:expand-property",
        "D:addressbook-multiget",
        "C:sync-collection",
    ] {
        let answer = ada.report(&document(report, "")).await?;
        expect_rule(&answer, 403, "D:supported-report")?;
    }
    let (filters, collations) = ("C:supported-filter", "C:supported-collation");
    let of_a_type = r#"<C:param-filter name="TYPE"/>"#;
    for (filter, rule) in [
        (prop_filter(r#"name="EMAIL""#, of_a_type), filters),
        (prop_filter("", ""), filters),
        (
            text_match("FN", r#"match-type="sounds-like""#, "a"),
            filters,
        ),
        (
            text_match("FN", r#"negate-condition="maybe""#, "a"),
            filters,
        ),
        (text_match("FN", r#"collation="i;octet""#, "a"), collations),
    ] {
        let filter = format!("<C:filter>{filter}</C:filter>");
        let answer = ada.report(&query("D:getetag", &filter, "")).await?;
        expect_rule(&answer, 403, rule)?;
    }

    let level = sync_collection("", None).replace(">1<", ">infinite<");
    let answer = ada.report(&level).await?;
    expect_rule(&answer, 403, "D:sync-traversal-supported")?;
    let level = sync_collection("", None).replace(">1<", ">2<");
    let none = sync_collection("", Some(0));
    let endless = sync_collection("", Some(i64::MAX as usize));
    for body in [level, none, endless] {
        ada.report(&body).await?.expect_status(400)?;
    }
    Ok(())
}
