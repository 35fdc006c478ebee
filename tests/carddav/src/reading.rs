//! Tests: a contact is read as it was written.

use crate::cards::{card, with};
use crate::client::{AddressBook, etag, path};
use workshop_harness::contract::{Context, TestResult, has_status};

pub async fn a_contact_comes_back_byte_for_byte(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let folded =
        "NOTE:a line that is\r\n  folded\\, with an escape\r\nX-UNKNOWN;A=\"b:c\":ä€😀\r\n";
    let with_other_lines = with("bytes-2", "Ada", folded).replace("\r\n", "\n");
    let version_3 = card("bytes-3", "Ada").replace("4.0", "3.0");
    let cards = [
        with("bytes-1", "Ada Lovelace", folded),
        with_other_lines,
        version_3,
    ];
    for (number, card) in cards.iter().enumerate() {
        let name = format!("bytes-{number}.vcf");
        let tag = ada.keep(&name, card).await?;
        let answer = ada.get(&name).await?;
        answer
            .expect_status(200)?
            .expect_header("ETag", &tag)?
            .expect(
                answer.body() == card.as_bytes(),
                format!("body {card:?}"),
                format!("body {:?}", answer.text()),
            )?;
        let kind = answer
            .header("Content-Type")
            .unwrap_or_default()
            .to_lowercase();
        answer.expect(
            kind.replace(' ', "") == "text/vcard;charset=utf-8",
            "Content-Type: text/vcard; charset=utf-8",
            format!("Content-Type: {kind}"),
        )?;
        let modified = answer.header("Last-Modified").unwrap_or_default();
        answer.expect(
            modified.ends_with(" GMT"),
            "a Last-Modified",
            format!("Last-Modified: {modified}"),
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
    let tag = ada.keep("known.vcf", &card("known", "Known")).await?;
    for known in [
        tag.clone(),
        "*".to_owned(),
        format!(r#""other", {tag}"#),
        format!("W/{tag}"),
    ] {
        let answer = ada.with("If-None-Match", &known).get("known.vcf").await?;
        answer.expect_status(304)?.expect_header("ETag", &tag)?;
        answer.expect(answer.body().is_empty(), "no body", "a body")?;
    }
    let other = ada
        .with("If-None-Match", r#""other""#)
        .get("known.vcf")
        .await?;
    other.expect_status(200)?;
    let malformed = ada
        .with("If-None-Match", "no quotes")
        .get("known.vcf")
        .await?;
    malformed.expect_status(400)?;
    let changed = ada.keep("known.vcf", &card("known", "Changed")).await?;
    let answer = ada.with("If-None-Match", &tag).get("known.vcf").await?;
    answer.expect_status(200)?.expect_header("ETag", &changed)?;
    Ok(())
}

pub async fn a_contact_needs_a_usable_name(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let too_long = "x".repeat(201);
    for name in [
        "a%20b.vcf",
        "a%2Fb.vcf",
        "%C3%A4.vcf",
        "a:b",
        "a%00b",
        "%FF",
        &too_long,
    ] {
        has_status(400)(&ada.put(name, &card("unusable", "No Name")).await?)?;
        has_status(400)(&ada.get(name).await?)?;
    }
    let longest = "x".repeat(200);
    for (number, name) in ["a", "Az0._~@+-.vcf", &longest].iter().enumerate() {
        let put = ada
            .put(name, &card(&format!("usable-{number}"), "Name"))
            .await?;
        etag(put.expect_status(201)?)?;
        has_status(200)(&ada.get(name).await?)?;
    }
    // The same name, encoded.
    has_status(200)(&ada.get("%41z0._~%40%2B-.vcf").await?)?;
    Ok(())
}
