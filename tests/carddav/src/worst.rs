//! Tests: no request costs more than the limit, and others are answered while one costs that much.

use std::iter;
use std::time::Duration;

use futures_util::future::try_join_all;

use crate::book::{BOOK, path};
use crate::cards::with;
use crate::client::{AddressBook, document, method};
use workshop_harness::contract::{Context, Failure, TestResult, expect_at_most};
use workshop_harness::http::{Body, Download};

/// How many contacts with long values there are, and how long those are, in bytes.
const LONG: usize = 6;
const LENGTH: usize = 500_000;
/// The maximum size of an answer in bytes, beyond the contents of the book.
const MAX_ANSWER: usize = 16 << 20;
/// The maximum time that an unoptimised service on a busy machine takes for one of the requests.
const MAX_TIME: Duration = Duration::from_secs(20);
/// The maximum time that `/health` waits behind these requests.
const MAX_WAIT: Duration = Duration::from_secs(3);

/// The number of concurrent slow readers: more than the JVM has threads for blocking work.
const SLOW_READERS: usize = 80;
/// The request with the longest answer.
const ALL_LONG: &str = "all long contacts";

/// A request that costs as much as possible for its kind.
pub struct Worst {
    /// What makes it expensive.
    pub kind: &'static str,
    method: &'static str,
    path: String,
    depth: &'static str,
    body: String,
}

impl Worst {
    /// Sends it, and returns the size of the answer.
    pub async fn send(&self, ada: &AddressBook) -> Result<usize, Failure> {
        let answer = self.begin(ada).await?;
        let rest = answer.rest().await;
        Ok(rest.map_err(|failure| self.in_time(failure))?.bytes)
    }

    /// Sends it, and waits for the beginning of the answer.
    async fn begin(&self, ada: &AddressBook) -> Result<Download, Failure> {
        let media_type = match self.method {
            "PUT" => "text/vcard",
            _ => "application/xml",
        };
        let client = ada.client.with("Depth", Some(self.depth)).within(MAX_TIME);
        let body = Some(Body::new(media_type, &self.body));
        let answer = client.begin(method(self.method), &self.path, body).await;
        let answer = answer.map_err(|failure| self.in_time(failure))?;
        let status = answer.status();
        if ![201, 204, 207].contains(&status) && !(400..500).contains(&status) {
            let expected = format!("an answer to the request with {}", self.kind);
            return Err(Failure::new(expected, format!("status {status}")));
        }
        Ok(answer)
    }

    fn in_time(&self, failure: Failure) -> Failure {
        Failure::new(
            format!("{} to the request with {}", failure.expected, self.kind),
            failure.actual,
        )
    }
}

/// Puts the contacts on which the requests are the worst: long values, full of what XML has to write in other words, of letters
/// that are not ASCII, and of one that stands for eighteen.
pub async fn prepare(ada: &AddressBook) -> TestResult {
    for number in 0..LONG {
        let letters = ["É", "&<", "ﷺ"][number % 3];
        let value = letters.repeat(LENGTH / letters.len());
        let uid = format!("long-{number}");
        let card = with(&uid, &value, &format!("NOTE:{value}\r\n"));
        ada.keep(&format!("{uid}.vcf"), &card).await?;
    }
    Ok(())
}

/// Removes them again.
pub async fn clear(ada: &AddressBook) -> TestResult {
    for number in 0..LONG {
        ada.delete(&format!("long-{number}.vcf")).await?;
    }
    Ok(())
}

/// The worst request of each kind.
pub fn requests() -> Vec<Worst> {
    let propfind = |kind, inside: String| Worst {
        kind,
        method: "PROPFIND",
        path: BOOK.to_owned(),
        depth: "1",
        body: document("D:propfind", &inside),
    };
    let report = |kind, body: String| Worst {
        kind,
        method: "REPORT",
        path: BOOK.to_owned(),
        depth: "0",
        body,
    };
    let query = |kind, filter: &str, asked: &str| {
        let filter =
            format!(r#"<D:prop><{asked}/></D:prop><C:filter test="allof">{filter}</C:filter>"#);
        report(kind, document("C:addressbook-query", &filter))
    };
    let text_match =
        |text: &str| format!(r#"<C:text-match negate-condition="yes">{text}</C:text-match>"#);
    let filters = |number: usize, text: &str| {
        let filter = |number| {
            let property = ["FN", "NOTE"][number % 2];
            let text = text_match(&format!("{text}{number}"));
            format!(r#"<C:prop-filter name="{property}" test="allof">{text}</C:prop-filter>"#)
        };
        (0..number).map(filter).collect::<String>()
    };
    let quotes = "&#34;".repeat(6_400);
    let unknown = "<y:a/>".repeat(5_400);
    let namespace = format!(r#"<D:prop xmlns:y="{quotes}">{unknown}</D:prop>"#);
    let own: String = (0..100)
        .map(|number| format!(r#"<p{number:0>70} xmlns="u{number}"/>"#))
        .collect();
    let names: String = (0..18_000)
        .map(|number| format!("<D:p{number}/>"))
        .collect();
    let data = "<D:prop><D:getetag/><C:address-data/></D:prop>";
    let href = |number: usize| format!("<D:href>{}</D:href>", path(&format!("long-{number}.vcf")));
    let (open, close) = ("<C:prop-filter name=\"FN\">", "</C:prop-filter>");
    let deep = open.repeat(20_000) + &close.repeat(20_000);
    let chain: String = (0..20_000)
        .map(|number| format!("<a xmlns:p{number}='u'>"))
        .collect();
    let prefixes: String = (0..100)
        .map(|number| format!(" xmlns:p{number}='u'"))
        .collect();
    let within = format!("<a{prefixes}>") + &"<a xmlns='u'>".repeat(9_000);
    let attributes: String = (0..100_000)
        .map(|number| format!(" a{number}=''"))
        .collect();
    vec![
        propfind("a long namespace", namespace),
        propfind(
            "a hundred properties of its own",
            format!("<D:prop>{own}</D:prop>"),
        ),
        propfind(
            "thousands of properties",
            format!("<D:prop>{names}</D:prop>"),
        ),
        propfind(
            "namespaces within namespaces",
            chain + &"</a>".repeat(20_000),
        ),
        propfind(
            "one namespace within another",
            within + &"</a>".repeat(9_001),
        ),
        propfind("thousands of attributes", format!("<a{attributes}/>")),
        propfind(
            "references",
            format!("<D:prop>{}</D:prop>", "&#65;".repeat(200_000)),
        ),
        report(
            "one path thousands of times",
            document(
                "C:addressbook-multiget",
                &(data.to_owned() + &href(1).repeat(6_000)),
            ),
        ),
        report(
            ALL_LONG,
            document(
                "C:addressbook-multiget",
                &(data.to_owned() + &(0..LONG).map(href).collect::<String>()),
            ),
        ),
        report(
            "thousands of paths to nothing",
            document(
                "C:addressbook-multiget",
                &(0..9_000)
                    .map(|n| format!("<D:href>/{n}{}</D:href>", "&lt;".repeat(20)))
                    .collect::<String>(),
            ),
        ),
        query("thousands of texts", &filters(5_000, "x"), "D:getetag"),
        query(
            "as many texts as there may be",
            &filters(50, &"é".repeat(90)),
            "C:address-data",
        ),
        query(
            "texts that nearly match",
            &filters(50, &"<![CDATA[&<]]>".repeat(20)),
            "D:getetag",
        ),
        query(
            "as many near matches as are looked for",
            &filters(3, &"<![CDATA[&<]]>".repeat(20)),
            "D:getetag",
        ),
        query("one text", &filters(1, "x"), "D:getetag"),
        query("filters within filters", &deep, "D:getetag"),
        query("no condition", "", "C:address-data"),
        Worst {
            kind: "a vCard of many lines",
            method: "PUT",
            path: path("lines.vcf"),
            depth: "0",
            body: with("lines", "Lines", &"A:\n".repeat(349_000)),
        },
        Worst {
            kind: "a vCard of one folded line",
            method: "PUT",
            path: path("lines.vcf"),
            depth: "0",
            body: with(
                "lines",
                "Lines",
                &format!("NOTE:{}\r\n", "\n x".repeat(349_000)),
            ),
        },
    ]
}

pub async fn no_request_costs_more_than_it_may(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    prepare(&ada).await?;
    let stored = 2 * LONG * LENGTH;
    for worst in requests() {
        let size = worst.send(&ada).await?;
        // Escaped for XML, a character grows fivefold.
        let most = MAX_ANSWER + 5 * stored;
        let what = format!("bytes that answer the request with {}", worst.kind);
        expect_at_most(most, &what, size)?;
    }
    clear(&ada).await?;
    ada.delete("lines.vcf").await?;
    Ok(())
}

pub async fn who_computes_silences_nobody(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    prepare(&ada).await?;
    let requests = requests();
    let searching = requests.iter().filter(|worst| worst.kind.contains("text"));
    let searching = searching.flat_map(|worst| [worst, worst, worst, worst]);
    let searches = try_join_all(searching.map(|worst| worst.send(&ada)));
    let asking = async {
        let mut longest = Duration::ZERO;
        for _ in 0..20 {
            let answer = context.client.within(MAX_TIME).get("/health").await?;
            answer.expect_status(200)?;
            longest = longest.max(answer.took());
        }
        Ok::<Duration, Failure>(longest)
    };
    let (searched, longest) = tokio::join!(searches, asking);
    searched?;
    let longest = longest?.as_secs_f64();
    clear(&ada).await?;
    expect_at_most(
        MAX_WAIT.as_secs_f64(),
        "seconds of waiting for /health",
        longest,
    )
}

pub async fn slow_readers_keep_nobody_waiting(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    prepare(&ada).await?;
    let requests = requests();
    let long = requests.iter().filter(|worst| worst.kind == ALL_LONG);
    // Each begins to read an answer that is far larger than a connection's buffers, and stops.
    let mut readers = Vec::new();
    for worst in long.flat_map(|worst| iter::repeat_n(worst, SLOW_READERS)) {
        readers.push(worst.begin(&ada).await?);
    }
    let asked = ada.client.within(MAX_WAIT);
    let ada = AddressBook {
        client: asked,
        ..ada
    };
    let answer = ada.multiget("D:getetag", &[&path("long-1.vcf")]).await?;
    answer.contact("long-1.vcf")?.text("D:getetag")?;
    drop(readers);
    clear(&ada).await
}
