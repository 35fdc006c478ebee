//! Tests: a contact is read as it was written.

use crate::book::path;
use crate::cards::{card, with};
use crate::client::{AddressBook, etag};
use workshop_harness::contract::{Context, TestResult};

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
        // The tag is the text's: put again, it is the same.
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

pub async fn a_contact_needs_a_usable_name(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let unusable = [
        "a%20b.vcf",
        "a%2Fb.vcf",
        "%C3%A4.vcf",
        "a:b",
        "a%00b",
        "%FF",
    ];
    for name in unusable.into_iter().chain([&*"x".repeat(201)]) {
        let put = ada.put(name, &card("unusable", "No Name")).await?;
        put.expect_status(400)?;
        ada.expect(400, name).await?;
    }
    let usable = ["a", "Az0._~@+-.vcf", &"x".repeat(200)];
    for (number, name) in usable.into_iter().enumerate() {
        let card = card(&format!("usable-{number}"), "Name");
        let put = ada.put(name, &card).await?;
        etag(put.expect_status(201)?)?;
        ada.expect(200, name).await?;
    }
    // The same name, encoded.
    ada.expect(200, "%41z0._~%40%2B-.vcf").await
}
