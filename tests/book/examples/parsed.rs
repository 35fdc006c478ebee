//! For the page "What the port didn't need": `cargo run -p workshop-book --example parsed`.

#![expect(
    clippy::cast_possible_truncation,
    reason = "the page shows what a cast does"
)]

use std::{collections::HashMap, fmt, str::FromStr, sync::LazyLock};

// ANCHOR: newtype
/// A tag on the trail: a number from 1 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Tag(u16);

/// The text isn't a tag.
#[derive(Debug, PartialEq)]
struct NoTag;

impl FromStr for Tag {
    type Err = NoTag;

    fn from_str(text: &str) -> Result<Tag, NoTag> {
        match text.parse() {
            Ok(number @ 1..=9999) => Ok(Tag(number)),
            _ => Err(NoTag),
        }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}", self.0)
    }
}
// ANCHOR_END: newtype

// ANCHOR: extension
/// What Kotlin would write as `fun String.tags()`.
trait Tags {
    fn tags(&self) -> Vec<Tag>;
}

impl Tags for str {
    fn tags(&self) -> Vec<Tag> {
        self.split(',')
            .filter_map(|part| part.trim().parse().ok())
            .collect()
    }
}
// ANCHOR_END: extension

// ANCHOR: dyn
trait Notice {
    fn tell(&self, tag: Tag) -> String;
}

struct Mail;
struct Radio {
    channel: u8,
}

impl Notice for Mail {
    fn tell(&self, tag: Tag) -> String {
        format!("mail about {tag}")
    }
}

impl Notice for Radio {
    fn tell(&self, tag: Tag) -> String {
        format!("channel {}: {tag}", self.channel)
    }
}

/// One function per type that it's called with, chosen when you compile.
fn once(notice: &impl Notice, tag: Tag) -> String {
    notice.tell(tag)
}

/// One function for all, which looks up at run time what to call.
fn all(notices: &[Box<dyn Notice>], tag: Tag) -> Vec<String> {
    notices.iter().map(|notice| notice.tell(tag)).collect()
}
// ANCHOR_END: dyn

// ANCHOR: integers
/// How many tags lie ahead; `None` if `to` comes before `from`.
fn ahead(from: Tag, to: Tag) -> Option<u16> {
    to.0.checked_sub(from.0)
}

/// `as` never fails: it truncates. `try_from` tells you if the number doesn't fit.
fn as_a_byte(number: u16) -> (u8, Option<u8>) {
    (number as u8, u8::try_from(number).ok())
}
// ANCHOR_END: integers

// ANCHOR: lazy
/// Built once, when it's first used.
static HUTS: LazyLock<HashMap<u16, &str>> =
    LazyLock::new(|| HashMap::from([(7, "Hut 7"), (12, "Valley station")]));

/// `?` on an `Option` returns `None`.
fn hut_before(tag: Tag) -> Option<String> {
    let before = tag.0.checked_sub(1)?;
    let hut = HUTS.get(&before)?;
    Some(hut.to_uppercase())
}
// ANCHOR_END: lazy

// ANCHOR: into
struct Report {
    tag: Tag,
    text: String,
}

impl Report {
    /// Keeps a `String` as it is, and copies a `&str`.
    fn new(tag: Tag, text: impl Into<String>) -> Report {
        Report {
            tag,
            text: text.into(),
        }
    }
}

/// A slice parameter accepts a `Vec`, an array, or a part of either.
fn longest(reports: &[Report]) -> usize {
    reports
        .iter()
        .map(|report| report.text.len())
        .max()
        .unwrap_or(0)
}
// ANCHOR_END: into

fn main() -> Result<(), NoTag> {
    // ANCHOR: main
    let tag: Tag = "4711".parse()?;
    println!("{tag}, {:?}, {:?}", "0".parse::<Tag>(), "8, x, 13".tags());
    println!("{}", once(&Mail, tag));
    println!(
        "{:?}",
        all(&[Box::new(Mail), Box::new(Radio { channel: 3 })], tag)
    );
    println!("{:?}, {:?}", ahead(tag, Tag(4700)), as_a_byte(300));
    println!("{:?}, {:?}", hut_before(Tag(8)), hut_before(tag));
    let reports = [
        Report::new(tag, "a tree"),
        Report::new(tag, String::from("two trees")),
    ];
    println!("{} bytes, at {}", longest(&reports), reports[0].tag);
    // ANCHOR_END: main
    Ok(())
}
