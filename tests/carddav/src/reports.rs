//! Tests: the reports that find contacts, by their paths and by their texts.

use crate::cards::{card, with};
use crate::client::{AddressBook, BOOK, card_element, element, path, prop, sync_collection};
use crate::multistatus::{CARDDAV, DAV, Multistatus, expect_rule};
use workshop_harness::contract::{Context, Failure, TestResult, expect};

/// What a parser of XML makes of a text.
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
    let asked = prop(&["D:getetag", "C:address-data", "D:displayname"]);
    let hrefs = [&[&*there], &missing[..]].concat();
    let hrefs: String = hrefs
        .iter()
        .map(|href| format!("<D:href>{href}</D:href>"))
        .collect();
    let body = card_element("addressbook-multiget", &format!("{asked}{hrefs}"));
    let answer = Multistatus::of(&ada.report(&body).await?)?;
    let found = answer.at(&there)?;
    let data = &found.property(CARDDAV, "address-data")?.text;
    expect(
        lines(data) == lines(&text),
        format!("address-data {text:?}"),
        format!("{data:?}"),
    )?;
    let etag = &found.property(DAV, "getetag")?.text;
    expect(*etag == tag, format!("getetag {tag}"), &**etag)?;
    expect(
        found.lacks(DAV, "displayname"),
        "404 for displayname",
        "another status",
    )?;
    for path in missing {
        let status = answer.at(path)?.status;
        expect(
            status == Some(404),
            format!("404 for {path}"),
            format!("{status:?}"),
        )?;
    }
    let count = answer.responses.len();
    expect(
        count == 6,
        "a response for each of the 6 paths",
        format!("{count}"),
    )?;

    // A path may be encoded, and be a whole URL.
    let encoded = there.replace('@', "%40");
    let url = format!("http://example.org{there}");
    for href in [encoded, url] {
        let body = format!("{}<D:href>{href}</D:href>", prop(&["D:getetag"]));
        let answer = ada
            .report(&card_element("addressbook-multiget", &body))
            .await?;
        let answer = Multistatus::of(&answer)?;
        answer
            .responses
            .iter()
            .try_for_each(|response| response.property(DAV, "getetag").map(drop))?;
    }
    Ok(())
}

/// The names of the contacts that a filter finds, among those whose names begin with `query-`.
async fn found(ada: &AddressBook, test: &str, filter: &str) -> Result<Vec<String>, Failure> {
    let filter = format!(r#"<C:filter test="{test}">{filter}</C:filter>"#);
    let body = card_element(
        "addressbook-query",
        &format!("{}{filter}", prop(&["D:getetag"])),
    );
    let answer = Multistatus::of(&ada.report(&body).await?)?;
    let names = answer.paths().filter_map(|path| path.strip_prefix(BOOK));
    let names = names.filter_map(|name| name.strip_prefix("query-"));
    let mut names: Vec<String> = names.map(|name| name.replace(".vcf", "")).collect();
    names.sort_unstable();
    Ok(names)
}

fn text_match(property: &str, attributes: &str, text: &str) -> String {
    format!(
        r#"<C:prop-filter name="{property}"><C:text-match {attributes}>{text}</C:text-match></C:prop-filter>"#
    )
}

pub async fn a_query_finds_by_text(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    for (name, full_name, more) in [
        (
            "zoe",
            "Zoë Queried",
            "N:Queried;Zoë;;;\r\nitem1.EMAIL;TYPE=home:zoe@example.org\r\nORG:Engine\\, Analytical\r\n",
        ),
        (
            "yan",
            "Yan Queried",
            "EMAIL:yan@exam\r\n ple.com\r\nNICKNAME:Yanny\r\n",
        ),
        ("xan", "Xan Queried", "TEL:+49 30 123\r\n"),
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
    let not_defined =
        |name: &str| format!(r#"<C:prop-filter name="{name}"><C:is-not-defined/></C:prop-filter>"#);
    let uid = |text: &str| text_match("UID", "", text);
    let within = |of: &str| format!("{}{of}", fn_has("", "queried"));
    let two_texts = |test: &str| {
        format!(
            r#"<C:prop-filter name="FN" test="{test}"><C:text-match>queried</C:text-match><C:text-match>yan</C:text-match></C:prop-filter>"#
        )
    };
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
        ("allof", within(&not_defined("EMAIL")), &["xan"]),
        ("allof", within(r#"<C:prop-filter name="tel"/>"#), &["xan"]),
        ("anyof", text_match("N", "", "Queried;Zoë"), &["zoe"]),
        ("anyof", text_match("NICKNAME", "", "yanny"), &["yan"]),
        (
            "anyof",
            text_match("ORG", "", "engine, analytical"),
            &["zoe"],
        ),
        ("anyof", text_match("TEL", "", "30 123"), &["xan"]),
        ("anyof", uid("query-uid-yan"), &["yan"]),
        ("anyof", two_texts("allof"), &["yan"]),
        ("anyof", two_texts("anyof"), &all),
        ("anyof", String::new(), &all),
    ];
    for (test, filter, expected) in cases {
        let found = found(&ada, test, &filter).await?;
        expect(
            found == expected,
            format!("the contacts {expected:?} by {test} of {filter}"),
            format!("{found:?}"),
        )?;
    }
    let data = prop(&["C:address-data"]);
    let filter = format!("<C:filter>{}</C:filter>", fn_has(equals, "xan queried"));
    let answer = ada
        .report(&card_element(
            "addressbook-query",
            &format!("{data}{filter}"),
        ))
        .await?;
    let answer = Multistatus::of(&answer)?;
    let data = &answer
        .at(&path("query-xan.vcf"))?
        .property(CARDDAV, "address-data")?
        .text;
    expect(data.contains("TEL:+49 30 123"), "the vCard", &**data)
}

pub async fn a_query_says_when_there_is_more(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    for number in 0..4 {
        let text = card(&format!("limited-{number}"), "Limited To Some");
        ada.keep(&format!("limited-{number}.vcf"), &text).await?;
    }
    let filter = format!(
        "<C:filter>{}</C:filter>",
        text_match("FN", "", "limited to")
    );
    for (limit, contacts, more) in [(3, 3, true), (4, 4, false), (9, 4, false)] {
        let limit = format!("<C:limit><C:nresults>{limit}</C:nresults></C:limit>");
        let body = format!("{}{filter}{limit}", prop(&["D:getetag"]));
        let answer = ada
            .report(&card_element("addressbook-query", &body))
            .await?;
        let answer = Multistatus::of(&answer)?;
        let found = answer.paths().filter(|path| *path != BOOK).count();
        expect(
            found == contacts,
            format!("{contacts} contacts with {limit}"),
            format!("{found}"),
        )?;
        let told = answer.at(BOOK).is_ok_and(|book| book.status == Some(507));
        expect(
            told == more,
            format!("507 for {BOOK}: {more}"),
            format!("{told}"),
        )?;
    }
    Ok(())
}

pub async fn an_unknown_report_or_filter_is_refused(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    for body in [
        element("expand-property", ""),
        element("addressbook-multiget", ""),
        card_element("sync-collection", ""),
    ] {
        expect_rule(&ada.report(&body).await?, 403, DAV, "supported-report")?;
    }
    let query = |filter: &str| {
        let filter = format!("<C:filter>{filter}</C:filter>");
        card_element(
            "addressbook-query",
            &format!("{}{filter}", prop(&["D:getetag"])),
        )
    };
    let param = r#"<C:prop-filter name="EMAIL"><C:param-filter name="TYPE"/></C:prop-filter>"#;
    for filter in [
        param,
        r#"<C:prop-filter name="PHOTO"/>"#,
        "<C:prop-filter/>",
        &text_match("FN", r#"match-type="sounds-like""#, "a"),
    ] {
        let answer = ada.report(&query(filter)).await?;
        expect_rule(&answer, 403, CARDDAV, "supported-filter")?;
    }
    let collation = text_match("FN", r#"collation="i;octet""#, "a");
    let answer = ada.report(&query(&collation)).await?;
    expect_rule(&answer, 403, CARDDAV, "supported-collation")?;

    let without_filter = card_element("addressbook-query", &prop(&["D:getetag"]));
    let level = sync_collection("", None).replace(">1<", ">infinite<");
    let limit = sync_collection("", None).replace(
        "<D:prop>",
        "<D:limit><D:nresults>0</D:nresults></D:limit><D:prop>",
    );
    for body in [without_filter, level, limit] {
        ada.report(&body).await?.expect_status(400)?;
    }
    Ok(())
}
