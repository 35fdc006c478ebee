//! Tests: a contact is read as it was written.

use crate::book::{BOOK, moved_by, path};
use crate::cards::{card, with};
use crate::client::{AddressBook, document, etag, expect_one_of, prop};
use crate::multistatus::{Multistatus, Response, expect_rule};
use workshop_harness::contract::{Context, TestResult};
use workshop_harness::http::Body;

pub async fn a_contact_comes_back_byte_for_byte(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let folded =
        "NOTE:a line that is\r\n  folded\\, with an escape\r\nX-UNKNOWN;A=\"b:c\":ä€😀\r\n";
    let cards = [
        with("bytes-1", "Ada Lovelace", folded),
        with("bytes-2", "Ada", folded).replace("\r\n", "\n"),
        card("bytes-3", "Ada").replace("4.0", "3.0"),
    ];
    for (number, card) in cards.iter().enumerate() {
        let name = format!("bytes-{number}.vcf");
        let tag = ada.keep(&name, card).await?;
        moved_by(context, &name, "-1 hour").await?;
        let answer = ada.get(&name).await?;
        let is_vcard =
            |kind: &str| kind.to_lowercase().replace(' ', "") == "text/vcard;charset=utf-8";
        answer
            .expect_status(200)?
            .expect_header("ETag", &tag)?
            .expect_header_that("Content-Type", "text/vcard; charset=utf-8", is_vcard)?
            .expect_header_that("Last-Modified", "a date", |date| date.ends_with(" GMT"))?
            .expect(
                answer.body() == card.as_bytes(),
                format!("body {card:?}"),
                format!("body {:?}", answer.text()),
            )?;
        let head = ada.client.head(&path(&name)).await?;
        head.expect_status(200)?
            .expect_header("ETag", &tag)?
            .expect(head.body().is_empty(), "no body", "a body")?;
        // The tag depends on the text alone: put again, it is the same.
        let again = ada.put(&name, card).await?;
        again.expect_status(204)?.expect_header("ETag", &tag)?;
    }
    Ok(())
}

pub async fn a_client_that_has_it_already_is_told_so(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let name = "known.vcf";
    let tag = ada.keep(name, &card("known", "Known")).await?;
    for known in [
        &*tag,
        "*",
        &format!(r#""other", {tag}"#),
        &format!("W/{tag}"),
    ] {
        let answer = ada.if_none_match(known).get(name).await?;
        answer.expect_status(304)?.expect_header("ETag", &tag)?;
        answer.expect(answer.body().is_empty(), "no body", "a body")?;
    }
    ada.if_none_match(r#""other""#).expect(200, name).await?;
    ada.if_none_match("no quotes").expect(400, name).await?;
    let changed = ada.keep(name, &card("known", "Changed")).await?;
    let answer = ada.if_none_match(&tag).get(name).await?;
    answer.expect_status(200)?.expect_header("ETag", &changed)?;
    Ok(())
}

pub async fn a_get_can_name_a_condition(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let name = "conditional-get.vcf";
    let tag = ada.keep(name, &card("conditional-get", "1")).await?;
    moved_by(context, name, "-1 hour").await?;
    let got = ada.get(name).await?;
    let changed = got.header("Last-Modified").unwrap_or_default().into_owned();
    let long_ago = "Sat, 29 Oct 1994 19:43:31 GMT";
    for (header, value, status) in [
        ("If-Match", &*tag, 200),
        ("If-Match", r#""other""#, 412),
        ("If-Modified-Since", &*changed, 304),
        ("If-Modified-Since", long_ago, 200),
        ("If-Modified-Since", "no date", 200),
        ("If-Unmodified-Since", &*changed, 200),
        ("If-Unmodified-Since", long_ago, 412),
    ] {
        ada.with(header, value).expect(status, name).await?;
    }
    // A tag is more exact than a date, which is ignored beside it.
    let both = ada.if_none_match(r#""other""#);
    both.with("If-Modified-Since", &changed)
        .expect(200, name)
        .await
}

/// Cards as programs write them, each with the reason why other servers have refused it.
fn as_programs_write() -> Vec<(&'static str, String)> {
    let more = |uid: &str, line: &str| with(uid, "Ada", &format!("{line}\r\n"));
    vec![
        // sabre-io/Baikal #696, sabre-io/dav #284.
        ("underscores", more("underscores", "X-ENTOURAGE_UUID:1")),
        // Kozea/Radicale #1492, sabre-io/vobject #111: inches.
        (
            "a lone quote",
            more("lone-quote", r#"ADR;LABEL=Pipe 12" wide:;;Main Street"#),
        ),
        // sabre-io/vobject #175.
        (
            "a byte order mark",
            format!("\u{FEFF}{}", card("mark", "Ada")),
        ),
        // Kozea/Radicale #1066.
        ("no FN", card("no-fn", "Ada").replace("FN:", "N:")),
        (
            "line ends of one kind",
            card("lf", "Ada").replace("\r\n", "\n"),
        ),
        (
            "line ends of another",
            card("cr", "Ada").replace("\r\n", "\r"),
        ),
        (
            "empty lines",
            card("empty", "Ada").replace("\r\n", "\r\n\r\n"),
        ),
        ("small letters", card("small", "Ada").to_lowercase()),
        (
            "a fold within a word",
            more("fold", "NOTE:a wo\r\n rd, a\r\n\t tab"),
        ),
        (
            "a note of two lines",
            more("two-lines", "NOTE:first\r\nsecond, without a colon"),
        ),
        (
            "groups",
            more(
                "groups",
                "item1.URL:http://a.example\r\nitem1.X-ABLabel:_$!<HomePage>!$_\r\nitem2.",
            ),
        ),
        (
            "a colon in a parameter",
            more("parameter", "X-ODD;X-PARAMETER=1:2"),
        ),
        (
            "dates",
            more(
                "dates",
                "BDAY:--0203\r\nANNIVERSARY;X-APPLE-OMIT-YEAR=1604:1604-02-03\r\nREV:20260101T000000Z",
            ),
        ),
        // jobisoft/DAV-4-TbSync #146, nextcloud/contacts #4158, sabre-io/dav #343.
        (
            "a version that is given twice",
            card("twice", "Ada").replace("VERSION:4.0\r\n", "VERSION:4.0\r\nVERSION: 4.0\r\n"),
        ),
        (
            "a space before its version",
            card("before", "Ada").replace("VERSION:", "VERSION: "),
        ),
        (
            "a space after its version",
            card("behind", "Ada").replace("4.0", "4.0 "),
        ),
        (
            "a UID that is given twice",
            card("uid-twice", "Ada").replace("FN:", "UID:uid-twice\r\nFN:"),
        ),
        (
            "a UID that is given twice, in two ways",
            card("uid-urn", "Ada").replace("FN:", "UID:urn:uuid:uid-urn\r\nFN:"),
        ),
        ("a delete character", more("delete", "NOTE:a\x7fb")),
        (
            "what version 2.1 has",
            more(
                "old",
                "TEL;HOME;VOICE:1\r\nNOTE;ENCODING=QUOTED-PRINTABLE:L=C3=B6we=\r\n=20und",
            ),
        ),
        // RFC 9554, and what programs have made up.
        (
            "new properties",
            more(
                "new",
                "CREATED:20260101T000000Z\r\nLANGUAGE:de\r\nPRONOUNS;LANG=en:she/her\r\nGRAMGENDER:feminine\r\n\
                 SOCIALPROFILE;SERVICE-TYPE=Mastodon:https://example.org/@ada\r\nX-ABShowAs:COMPANY",
            ),
        ),
        (
            "a photo elsewhere",
            more("photo-url", "PHOTO;VALUE=uri:https://example.org/ada.jpg"),
        ),
        (
            "a photo in a URI",
            more("photo-uri", "PHOTO:data:image/jpeg;base64\\,/9j/4AAQ"),
        ),
        // chatmail/core #6522, sockethub/sockethub #1202.
        (
            "lines of spaces around it",
            format!("\r\n \r\n{}\r\n\t \r\n", card("around", "Ada")),
        ),
        // nextcloud/contacts #561 and #129.
        (
            "REV and PRODID twice",
            more("rev-twice", "REV:1\r\nREV:2\r\nPRODID:a\r\nPRODID:b"),
        ),
        // nextcloud/server #26246, lucc/khard #9, ical4j/ical4j #252.
        (
            "a tag, a name with a slash, and an empty address",
            more(
                "odd-lines",
                "X-THUNDERBIRD-ETAG:\"03a0\"\r\nX-MESSAGING/XMPP-ALL:a@b\r\nADR;TYPE=WORK:;;;;;;;",
            ),
        ),
        // jhermsmeier/node-vcf #45.
        (
            "its version further down",
            card("further", "Ada")
                .replace("VERSION:4.0\r\n", "")
                .replace("END:", "VERSION:4.0\r\nEND:"),
        ),
        (
            "no line end at its end",
            card("no-end", "Ada").trim_end().to_owned(),
        ),
        // Kozea/Radicale #763, sabre-io/Baikal #897: a photo of 300 kB, as text.
        (
            "a photo",
            more(
                "photo",
                &format!(
                    "PHOTO;ENCODING=b;TYPE=JPEG:{}",
                    "/9j/4AAQ\r\n ".repeat(50_000)
                ),
            ),
        ),
    ]
}

pub async fn a_card_is_kept_as_programs_write_it(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    for (number, (what, text)) in as_programs_write().iter().enumerate() {
        for version in ["4.0", "3.0"] {
            let text = text.replace("4.0", version);
            let name = format!("program-{number}.vcf");
            let put = ada.put(&name, &text).await?;
            put.expect(
                [201, 204].contains(&put.status()),
                format!("a card with {what} to be kept"),
                format!("status {}, body {}", put.status(), put.text()),
            )?;
            let answer = ada.get(&name).await?;
            answer.expect(
                answer.body() == text.as_bytes(),
                format!("the card with {what} as it was put"),
                format!("{} bytes of {}", answer.body().len(), text.len()),
            )?;
            // A client reads it from a report, and learns which version it is: 3.0 unless the report says another.
            let got = ada.multiget("C:address-data", &[&path(&name)]).await?;
            got.contact(&name)?.text("C:address-data")?;
        }
    }
    Ok(())
}

pub async fn a_contact_needs_a_usable_name(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let unusable = ["a%00b", "a%0Ab", "%FF"];
    for name in unusable.into_iter().chain([&*"x".repeat(256)]) {
        let put = ada.put(name, &card("unusable", "No Name")).await?;
        put.expect_status(400)?;
        ada.expect(400, name).await?;
    }
    let usable = [
        "a",
        "Az0._~@+-.vcf",
        &"x".repeat(255),
        // owncloud/contacts #1050, owncloud/core #20658, blind-coder/rcmcarddav: what clients make of a UID.
        "%7Ba1b2%7D.vcf",
        "a=b&c:d;e,f'(g)!.vcf",
        "a%20b.vcf",
        "a%2Fb.vcf",
        "%C3%A4%25.vcf",
        // It looks the same, and is another name: it comes back as it was sent.
        "a%CC%88%25.vcf",
        "a+b.vcf",
        "a%23b%3Fc.vcf",
        "%F0%9F%98%80.vcf",
        "%20a.vcf",
        "...vcf",
    ];
    for (number, name) in usable.into_iter().enumerate() {
        let uid = format!("usable-{number}");
        let put = ada.put(name, &card(&uid, "Name")).await?;
        let tag = etag(put.expect_status(201)?)?;
        ada.expect(200, name).await?;
        // The path in the answer leads to the contact, too.
        let told = ada.properties(BOOK, "1", "D:getetag").await?;
        let of_it = |response: &&Response| {
            let property = response.found.get("D:getetag");
            property.is_some_and(|property| property.text == tag)
        };
        let told = told.responses.iter().find(of_it);
        let told = told.map(|told| told.path.clone()).unwrap_or_default();
        let again = ada
            .multiget("D:getetag", &[&told.replace('&', "&amp;")])
            .await?;
        again.at(&told)?.expect_text("D:getetag", &tag)?;
        ada.client.get(&told).await?.expect_status(200)?;
    }
    // The same name, encoded.
    ada.expect(200, "%41z0._~%40%2B-.vcf").await
}

pub async fn a_line_may_be_folded_within_a_character(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    // Programs that count bytes fold there: each half of the character isn't text.
    let name = "halves.vcf";
    let whole = with("halves", "Zo\u{eb}", "NOTE:\u{20ac} and \u{1F600}\r\n");
    for fold in ["\r\n ", "\n\t"] {
        let mut halves = Vec::new();
        for byte in whole.bytes() {
            // In UTF-8, the bytes after the first one of a character begin with 10.
            if byte >> 6 == 0b10 {
                halves.extend_from_slice(fold.as_bytes());
            }
            halves.push(byte);
        }
        let put = ada.put_body(name, Body::new("text/vcard", &halves)).await?;
        expect_one_of(&put, [201, 204])?;
        // The stored card isn't the one that was sent. So the client gets no tag, and reads the card again (RFC 9110, section 9.3.4).
        let told = put.header("ETag");
        put.expect(told.is_none(), "no ETag", format!("{told:?}"))?;
        ada.expect_unchanged(name, &whole).await?;
        let got = ada.multiget("C:address-data", &[&path(name)]).await?;
        got.contact(name)?.text("C:address-data")?;
    }
    Ok(())
}

pub async fn a_body_is_what_it_is_whatever_it_is_called(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let (name, text) = ("called.vcf", card("called", "Called"));
    // Some programs don't say what they send (christian-putzke/CardDAV-PHP #23), and one made up a name
    // (nextcloud/integration_davc #83).
    for content_type in [
        None,
        Some("application/vcard"),
        Some("text/X-VCARD;charset=utf-8;"),
    ] {
        let put = ada.put_body(name, Body::new(content_type, &text)).await?;
        expect_one_of(&put, [201, 204])?;
        ada.expect_unchanged(name, &text).await?;
    }
    // Only the type would tell that this is something else.
    let nothing = ada.put_body(name, Body::new(None, "hello")).await?;
    expect_rule(&nothing, 403, "C:valid-address-data")?;
    // laurent22/joplin #3405, authpass/authpass #328; notroj/litmus #5, martinstoeckli/SilentNotes #338.
    let asked = document("D:propfind", &prop("D:displayname"));
    for content_type in [Some("text/plain"), Some("text/plain; charset=utf-8"), None] {
        let body = Some(Body::new(content_type, &asked));
        let answer = ada.send_xml("PROPFIND", BOOK, "0", body).await?;
        Multistatus::of(&answer)?.at(BOOK)?;
    }
    // It means that the body isn't encoded (vibe-d/vibe.d #789, WeBankFinTech/DataSphereStudio #167).
    for identity in ["identity", "Identity"] {
        let as_it_is = ada.with("Content-Encoding", identity);
        let put = as_it_is.put(name, &text).await?;
        put.expect_status(204)?;
        let answer = as_it_is.propfind(BOOK, "0", Some(&asked)).await?;
        Multistatus::of(&answer)?.at(BOOK)?;
    }
    Ok(())
}

pub async fn an_encoding_has_many_names(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let (name, zoe) = ("encoded.vcf", card("encoded", "Zo\u{eb}"));
    let plain = card("encoded", "Zoe");
    // sogo-connector #8, AndroidCaldavSyncAdapater #114.
    for (charset, text) in [
        ("utf8", &zoe),
        ("\"UTF-8\"", &zoe),
        ("'utf-8'", &zoe),
        ("unicode-1-1-utf-8", &zoe),
        // ASCII is a part of UTF-8.
        ("us-ascii", &zoe),
        ("ANSI_X3.4-1968", &plain),
        ("iso-8859-1", &plain),
        ("Windows-1252", &plain),
    ] {
        let content_type = format!("text/vcard; charset={charset}");
        let body = Body::new(Some(&*content_type), text);
        let put = ada.put_body(name, body).await?;
        put.expect(
            [201, 204].contains(&put.status()),
            format!("a card in {charset} to be kept"),
            format!("status {}, body {}", put.status(), put.text()),
        )?;
        ada.expect_unchanged(name, text).await?;
    }
    let asked = document("D:propfind", &prop("D:displayname"));
    for name in ["utf8", "UTF8", "us-ascii", "iso-8859-1"] {
        let content_type = format!("text/xml; charset={name}");
        let declared = asked.replace("\"utf-8\"", &format!("\"{name}\""));
        for (content_type, asked) in [(&*content_type, &asked), ("text/xml", &declared)] {
            let body = Some(Body::new(content_type, asked));
            let answer = ada.send_xml("PROPFIND", BOOK, "0", body).await?;
            Multistatus::of(&answer)?.at(BOOK)?;
        }
    }
    Ok(())
}
