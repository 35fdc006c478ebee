//! Suite `qrcode` (exercises 17 to 20): a text goes in, its QR code comes out as a PNG image, whoever draws it.

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use workshop_harness::contract::{Answer, Client, Context, Failure, TestResult, contract_tests};
use workshop_harness::qr::{self, QrCode};

contract_tests! {
    steady: [
        a_code_holds_the_text,
        letters_beyond_ascii_survive,
        no_character_is_special,
        the_longest_text_has_512_bytes,
        a_text_of_513_bytes_answers_400,
        a_missing_or_empty_text_answers_400,
        a_broken_percent_encoding_is_refused,
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

/// Asks for these codes, one after the other, and reads them back.
pub async fn expect_codes(
    client: &Client,
    texts: impl IntoIterator<Item: AsRef<str>>,
) -> TestResult {
    for text in texts {
        expect_code(client, text.as_ref()).await?;
    }
    Ok(())
}

fn read_back(answer: &Answer, text: &str) -> Result<QrCode, Failure> {
    let code = qr::code_of(answer)?;
    let (expected, got) = (format!("a QR code that says {text:?}"), &code.text);
    answer.expect(
        got == text,
        expected,
        format!("a QR code that says {got:?}"),
    )?;
    Ok(code)
}

/// Expects the contract's answer if no code can be drawn, from a service that keeps running.
pub async fn expect_unavailable(client: &Client, text: &str) -> TestResult {
    expect_refusal(&client.get(&path(text)).await?)?;
    client.get("/health").await?.expect_status(200)?;
    Ok(())
}

fn expect_refusal(answer: &Answer) -> Result<&Answer, Failure> {
    answer.expect_problem(503, "QR codes cannot be made now")
}

async fn a_code_holds_the_text(context: &Context) -> TestResult {
    let texts = ["Hello, world!", "https://kotlinlang.org/?a=b&c=d#e", "x"];
    expect_codes(&context.client, texts).await?;
    // Texts of digits, and of capitals and a few signs, are written in shorter ways.
    expect_codes(&context.client, ["0123456789", "HELLO WORLD $%*+-./:"]).await
}

async fn letters_beyond_ascii_survive(context: &Context) -> TestResult {
    let european = ["Grüße aus Köln", "naïve café", "Ωμέγα"];
    expect_codes(&context.client, european).await?;
    expect_codes(&context.client, ["日本語", "🦀 and 👩‍👩‍👧"]).await
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
    expect_codes(&context.client, texts).await?;
    // In a query a plus stands for a space.
    read_back(&context.client.get("/qrcode?text=a+b%2Bc").await?, "a b+c")?;
    Ok(())
}

/// Of the longest length, in characters of one, two and four bytes.
const LONGEST: usize = 512;

async fn the_longest_text_has_512_bytes(context: &Context) -> TestResult {
    let texts = [("a", 1), ("ü", 2), ("🦀", 4)];
    let texts = texts.map(|(character, bytes)| character.repeat(LONGEST / bytes));
    expect_codes(&context.client, texts).await
}

async fn a_text_of_513_bytes_answers_400(context: &Context) -> TestResult {
    // Bytes are counted, not characters: 257 characters of two bytes are too many.
    for text in ["a".repeat(LONGEST + 1), "ü".repeat(LONGEST / 2 + 1)] {
        let length = text.len();
        let detail = format!("text must be at most {LONGEST} bytes of UTF-8, but has {length}");
        let answer = context.client.get(&path(&text)).await?;
        answer.expect_problem(400, &detail)?;
    }
    Ok(())
}

/// The contract's answer to a request without a text.
pub fn expect_missing(answer: &Answer) -> Result<&Answer, Failure> {
    answer.expect_problem(400, "the query parameter text is missing or empty")
}

/// The contract's answer to a text that cannot be decoded. The framework decides which of them.
pub fn expect_undecodable(answer: &Answer) -> Result<&Answer, Failure> {
    crate::expect_a_refusal(answer, &[400, 404, 422])
}

async fn a_missing_or_empty_text_answers_400(context: &Context) -> TestResult {
    let queries = ["", "?", "?text=", "?text", "?text=&text=a"];
    let paths = queries.map(|query| format!("/qrcode{query}"));
    context.client.each(paths, expect_missing).await?;
    // The first one applies.
    read_back(&context.client.get("/qrcode?text=a&text=b").await?, "a")?;
    Ok(())
}

async fn a_broken_percent_encoding_is_refused(context: &Context) -> TestResult {
    let broken = ["%", "%4", "%zz", "%+1", "a%-1b"];
    let paths = broken.map(|encoded| format!("/qrcode?text={encoded}"));
    context.client.each(paths, expect_undecodable).await
}

async fn the_code_is_the_smallest_at_level_l(context: &Context) -> TestResult {
    // What fits into a version is in the standard's table of capacities.
    let smallest = [
        ("0".repeat(41), 1),
        ("A".repeat(25), 1),
        ("A".repeat(26), 2),
        // Bytes of UTF-8, without a header that would name the character set.
        ("a".repeat(32), 2),
        ("ü".repeat(16), 2),
        ("a".repeat(33), 3),
        ("a".repeat(LONGEST), 15),
    ];
    for (text, version) in smallest {
        let answer = context.client.get(&path(&text)).await?;
        let code = read_back(&answer, &text)?;
        answer.expect(
            (code.version, code.level) == (version, 'L'),
            format!("version {version}, level L for {} bytes", text.len()),
            format!("version {}, level {}", code.version, code.level),
        )?;
    }
    Ok(())
}

async fn the_image_is_at_least_200_pixels_wide(context: &Context) -> TestResult {
    // Modules with the quiet zone around them, each as few whole pixels as possible.
    for (text, expected) in [("A".to_owned(), 29 * 7), ("a".repeat(LONGEST), 85 * 3)] {
        let answer = context.client.get(&path(&text)).await?;
        let code = read_back(&answer, &text)?;
        let (width, height) = code.size;
        answer.expect(
            (width, height, code.bits) == (expected, expected, 1),
            format!("{expected} × {expected} pixels of 1 bit"),
            format!("{width} × {height} pixels of {} bits", code.bits),
        )?;
    }
    Ok(())
}

async fn the_answer_says_what_it_is(context: &Context) -> TestResult {
    let answer = context.client.get("/qrcode?text=a").await?;
    let head = context.client.head("/qrcode?text=a").await?;
    let length = answer.body().len().to_string();
    for answer in [answer, head] {
        answer
            .expect_status(200)?
            .expect_header("Content-Type", "image/png")?
            .expect_header("Content-Length", &length)?;
    }
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

/// Paths of this many different codes.
pub fn paths(count: usize) -> Vec<String> {
    (0..count)
        .map(|number| path(&format!("number {number}")))
        .collect()
}

async fn two_hundred_at_once_are_all_answered(context: &Context) -> TestResult {
    let answers = context.client.get_all(&paths(200)).await;
    let mut refused = Vec::new();
    for (number, answer) in answers.into_iter().enumerate() {
        let answer = answer?;
        if answer.status() == 200 {
            read_back(&answer, &format!("number {number}"))?;
        } else {
            // The contract allows a refusal: a small machine does not draw so many at once.
            expect_refusal(&answer)?;
            refused.push(answer);
        }
    }
    expect_code(&context.client, "one more").await?;
    let [first, ..] = refused.as_slice() else {
        return Ok(());
    };
    let expected = "codes for as many as there is time for";
    first.expect(refused.len() < 200, expected, "none of 200")?;
    Ok(())
}
