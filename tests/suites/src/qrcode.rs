//! Suite `qrcode` (exercises 9 to 12): a text goes in, its QR code comes out as a PNG image, whoever draws it.

use futures_util::future::try_join_all;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use workshop_harness::contract::{Context, TestResult};
use workshop_harness::contract_tests;
use workshop_harness::failure::Failure;
use workshop_harness::http::{Answer, Client};
use workshop_harness::qr::{self, QrCode};

contract_tests! {
    steady: [
        a_code_holds_the_text,
        letters_beyond_ascii_survive,
        no_character_is_special,
        the_longest_text_has_512_bytes,
        a_text_of_513_bytes_answers_400,
        a_missing_or_empty_text_answers_400,
        a_malformed_text_answers_400,
        the_code_is_the_smallest_at_level_l,
        the_image_is_at_least_200_pixels_wide,
        the_answer_says_what_it_is,
        no_key_is_needed,
        two_hundred_at_once_are_all_answered,
    ],
}

/// The path that asks for this text.
pub fn path(text: &str) -> String {
    let encoded = utf8_percent_encode(text, NON_ALPHANUMERIC);
    format!("/qrcode?text={encoded}")
}

/// Asks for a code and reads it back.
pub async fn expect_code(client: &Client, text: &str) -> Result<QrCode, Failure> {
    read_back(&client.get(&path(text)).await?, text)
}

fn read_back(answer: &Answer, text: &str) -> Result<QrCode, Failure> {
    let code = qr::code_of(answer)?;
    if code.text == text {
        return Ok(code);
    }
    let got = format!("a QR code that says {:?}", code.text);
    Err(answer.failure(format!("a QR code that says {text:?}"), got))
}

/// The contract's answer where no code can be drawn, from a service that goes on.
pub async fn expect_unavailable(client: &Client, text: &str) -> TestResult {
    let answer = client.get(&path(text)).await?;
    expect_refusal(&answer)?;
    let health = client.get("/health").await?;
    health.expect_status(200)?;
    Ok(())
}

fn expect_refusal(answer: &Answer) -> Result<(), Failure> {
    let detail = "QR codes cannot be made now";
    answer.expect_problem(503, "Service Unavailable", detail)?;
    Ok(())
}

async fn a_code_holds_the_text(context: &Context) -> TestResult {
    let texts = ["Hello, world!", "https://kotlinlang.org/?a=b&c=d#e", "x"];
    // Texts of digits, and of capitals and a few signs, are written in shorter ways.
    for text in texts
        .into_iter()
        .chain(["0123456789", "HELLO WORLD $%*+-./:"])
    {
        expect_code(&context.client, text).await?;
    }
    Ok(())
}

async fn letters_beyond_ascii_survive(context: &Context) -> TestResult {
    for text in [
        "Grüße aus Köln",
        "naïve café",
        "日本語",
        "🦀 and 👩‍👩‍👧",
        "Ωμέγα",
    ] {
        expect_code(&context.client, text).await?;
    }
    Ok(())
}

async fn no_character_is_special(context: &Context) -> TestResult {
    let texts = [
        "$(id) `id` ; id | id > id & id",
        "'single' \"double\" \\ *?[a-z] ~ # !",
        "--help",
        "-",
        "two\nlines\r\n",
        " a space on each side ",
        "a\0b",
        "%41",
    ];
    for text in texts {
        expect_code(&context.client, text).await?;
    }
    // In a query a plus stands for a space.
    read_back(&context.client.get("/qrcode?text=a+b%2Bc").await?, "a b+c")?;
    Ok(())
}

/// Of the longest length, in characters of one, two and four bytes.
const LONGEST: usize = 512;

async fn the_longest_text_has_512_bytes(context: &Context) -> TestResult {
    for text in [
        "a".repeat(LONGEST),
        "ü".repeat(LONGEST / 2),
        "🦀".repeat(LONGEST / 4),
    ] {
        expect_code(&context.client, &text).await?;
    }
    Ok(())
}

async fn a_text_of_513_bytes_answers_400(context: &Context) -> TestResult {
    // Characters do not count: 257 of two bytes are too many.
    for text in ["a".repeat(LONGEST + 1), "ü".repeat(LONGEST / 2 + 1)] {
        let detail = format!(
            "text must be at most {LONGEST} bytes of UTF-8, but has {}",
            text.len()
        );
        let answer = context.client.get(&path(&text)).await?;
        answer.expect_problem(400, "Bad Request", &detail)?;
    }
    Ok(())
}

async fn a_missing_or_empty_text_answers_400(context: &Context) -> TestResult {
    for path in [
        "/qrcode",
        "/qrcode?",
        "/qrcode?text=",
        "/qrcode?text",
        "/qrcode?Text=a",
        "/qrcode?text=&text=a",
    ] {
        let detail = "the query parameter text is missing or empty";
        let answer = context.client.get(path).await?;
        answer.expect_problem(400, "Bad Request", detail)?;
    }
    // The first one counts.
    read_back(&context.client.get("/qrcode?text=a&text=b").await?, "a")?;
    Ok(())
}

async fn a_malformed_text_answers_400(context: &Context) -> TestResult {
    // No UTF-8: a lone byte, a broken pair, half of a surrogate pair, an overlong zero. No percent-sequence: the others.
    for encoded in [
        "%ff",
        "a%c3%28",
        "%ed%a0%80",
        "%c0%80",
        "%",
        "%4",
        "%zz",
        "%+1",
        "a%-1b",
    ] {
        let answer = context
            .client
            .get(&format!("/qrcode?text={encoded}"))
            .await?;
        answer.expect_problem(400, "Bad Request", "the request is malformed")?;
    }
    Ok(())
}

async fn the_code_is_the_smallest_at_level_l(context: &Context) -> TestResult {
    // What fits into a version is in the standard's table of capacities.
    let smallest = [
        ("0".repeat(41), 1),
        ("A".repeat(25), 1),
        ("A".repeat(26), 2),
        // Bytes come with a header that says that they are UTF-8.
        ("a".repeat(31), 2),
        ("a".repeat(32), 3),
        ("a".repeat(LONGEST), 15),
    ];
    for (text, version) in smallest {
        let answer = context.client.get(&path(&text)).await?;
        let code = read_back(&answer, &text)?;
        if (code.version, code.level) != (version, 'L') {
            let expected = format!("version {version}, level L for {} bytes", text.len());
            let got = format!("version {}, level {}", code.version, code.level);
            return Err(answer.failure(expected, got).into());
        }
    }
    Ok(())
}

async fn the_image_is_at_least_200_pixels_wide(context: &Context) -> TestResult {
    // Modules with the quiet zone around them, as few whole pixels each as will do.
    for (text, width) in [("A".to_owned(), 29 * 7), ("a".repeat(LONGEST), 85 * 3)] {
        let answer = context.client.get(&path(&text)).await?;
        let code = read_back(&answer, &text)?;
        if (code.size, code.bits) != ((width, width), 1) {
            let expected = format!("{width} × {width} pixels of 1 bit");
            let got = format!(
                "{} × {} pixels of {} bits",
                code.size.0, code.size.1, code.bits
            );
            return Err(answer.failure(expected, got).into());
        }
    }
    Ok(())
}

async fn the_answer_says_what_it_is(context: &Context) -> TestResult {
    let answer = context.client.get("/qrcode?text=a").await?;
    let length = answer.body().len().to_string();
    answer
        .expect_status(200)?
        .expect_header("Content-Type", "image/png")?
        .expect_header("Content-Length", &length)?;
    let head = context.client.head("/qrcode?text=a").await?;
    head.expect_status(200)?
        .expect_header("Content-Type", "image/png")?
        .expect_header("Content-Length", &length)?;
    Ok(())
}

async fn no_key_is_needed(context: &Context) -> TestResult {
    for client in [
        context.client.without_key(),
        context.client.with_key("wrong"),
    ] {
        expect_code(&client, "for everybody").await?;
    }
    Ok(())
}

async fn two_hundred_at_once_are_all_answered(context: &Context) -> TestResult {
    let texts: Vec<String> = (0..200).map(|number| format!("number {number}")).collect();
    let paths: Vec<String> = texts.iter().map(|text| path(text)).collect();
    let answers = try_join_all(paths.iter().map(|path| context.client.get(path))).await?;
    let (drawn, refused): (Vec<_>, Vec<_>) = texts
        .iter()
        .zip(&answers)
        .partition(|(_, answer)| answer.status() == 200);
    for (text, answer) in drawn {
        read_back(answer, text)?;
    }
    // The contract allows that there is no time: a small machine does not draw so many at once.
    for (_, answer) in &refused {
        expect_refusal(answer)?;
    }
    expect_code(&context.client, "one more").await?;
    match refused.first() {
        Some((_, answer)) if refused.len() == texts.len() => {
            Err(answer.failure("codes for as many as there is time for", "none of 200"))?
        }
        _ => Ok(()),
    }
}
