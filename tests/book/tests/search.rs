//! The search of the built book, asked as its pages ask it: what a Kotlin person types leads to the page that is about it.

#![expect(
    clippy::expect_used,
    reason = "the helpers of a test may fail as the test itself may"
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};

use walkdir::WalkDir;
use workshop_base::workspace::Workspace;
use workshop_book::render::render;

/// What is typed, and a page that has to be among the first results.
const TYPED: &str = "\
lateinit what-is-it-called.html#lateinit
lateinit_property_has_not_been_initialized what-is-it-called.html#lateinit
when what-is-it-called.html#when-is-match
let what-is-it-called.html#scope-functions
it what-is-it-called.html#implicit-parameters
this what-is-it-called.html#implicit-parameters
is what-is-it-called.html#smart-casts
in what-is-it-called.html#ranges
for what-is-it-called.html#control-flow
use what-is-it-called.html#use
apply what-is-it-called.html#scope-functions
?. what-is-it-called.html#safe-call
?.let what-is-it-called.html#s
?: what-is-it-called.html#elvis-operator
!! what-is-it-called.html#not-null-assertion
as? what-is-it-called.html#smart-casts
:: what-is-it-called.html#function-and-method-references
by_lazy what-is-it-called.html#by-lazy
null what-is-it-called.html#
data_class what-is-it-called.html#data-class
copy what-is-it-called.html#data-class
equals what-is-it-called.html#data-class
hashCode what-is-it-called.html#data-class
sealed_class what-is-it-called.html#sealed-class
companion_object what-is-it-called.html#object-companion-object
extension_function what-is-it-called.html#extension-functions
typealias what-is-it-called.html#value-class
reflection what-is-it-called.html#annotations
MutableList what-is-it-called.html#list-mutablelist
NullPointerException what-is-it-called.html#nullpointerexception
exception what-is-it-called.html#exceptions
try_catch what-is-it-called.html#exceptions
StatusPages the-port/
suspend what-is-it-called.html#suspend-async-await
async what-is-it-called.html#suspend-async-await
runBlocking what-is-it-called.html#runblocking
launch what-is-it-called.html#launch
Dispatchers.IO what-is-it-called.html#dispatchersio
withTimeout the-port/cancellation-is-drop.html
Flow what-is-it-called.html#flow
Channel cheat-sheet.html#channels
synchronized what-is-it-called.html#synchronized
ThreadLocal what-is-it-called.html#threadlocal
X-API-Key what-is-it-called.html#authentication
JSON what-is-it-called.html#json
Exposed what-is-it-called.html#exposed
HikariCP the-port/a-pool-in-managed-state.html
Flyway what-is-it-called.html#flyway
transaction the-port/a-transaction-is-a-value.html
SLF4J what-is-it-called.html#slf4j
MDC after-the-course/metrics-and-traces.html
MockK after-the-course/testing.html
runTest after-the-course/testing.html
Gradle what-is-it-called.html#packages
GraalVM what-is-it-called.html#graalvm
borrow_checker what-is-it-called.html#lifetimes
Pin what-is-it-called.html#pin
E0382 troubleshooting/error-codes.html#e0382
E0502 troubleshooting/error-codes.html#e0499-e0502
E0277 troubleshooting/error-codes.html#e0277";

/// How far down a reader looks.
const LOOKED_AT: usize = 5;

/// What a reader wants last: notes for the room, answers, differences, and figures.
const LATE: [&str; 5] = [
    "instructors/",
    "for-instructors.html",
    "updating.html",
    "#the-difference",
    "#measure-it",
];

fn checkout() -> Workspace {
    Workspace::at(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The addresses that the search of the book in this folder finds for each query, the best first; none where Node is missing.
fn found(book: &Path, queries: &[String]) -> Option<Vec<Vec<String>>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("browser/search.mjs");
    let mut node = Command::new("node");
    node.arg(script)
        .arg(book)
        .args(queries)
        .stderr(Stdio::inherit());
    let output = match node.output() {
        Ok(output) => output,
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "CI has Node: {error}");
            eprintln!("not judged here: the search, since node cannot be run: {error}");
            return None;
        }
    };
    assert!(output.status.success(), "{}", output.status);
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    let found = lines.lines().map(serde_json::from_str);
    Some(found.collect::<Result<_, _>>().expect("an array per query"))
}

#[test]
fn what_a_kotlin_person_types_leads_to_the_page_that_is_about_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    render(&checkout(), Some(folder.path())).expect("the book is built");
    let (queries, pages): (Vec<String>, Vec<&str>) = TYPED
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(query, page)| (query.replace('_', " "), page))
        .unzip();
    let Some(found) = found(folder.path(), &queries) else {
        return;
    };
    assert_eq!(found.len(), queries.len());
    let mut faults = Vec::new();
    for ((query, page), found) in queries.iter().zip(pages).zip(&found) {
        let is_late = |address: &&String| LATE.iter().any(|late| address.contains(late));
        let first = &found[..found.len().min(LOOKED_AT)];
        if !first.iter().any(|address| address.starts_with(page)) {
            faults.push(format!("{query}: {page} isn't among {first:?}"));
        }
        if !found
            .iter()
            .skip_while(|one| !is_late(one))
            .all(|one| is_late(&one))
        {
            faults.push(format!(
                "{query}: notes or differences aren't last in {found:?}"
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// The codes in these texts.
fn codes(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter(|word| {
        word.strip_prefix('E').is_some_and(|digits| {
            digits.len() == 4 && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}

#[test]
fn each_error_code_that_the_course_provokes_has_a_heading() {
    let checkout = checkout();
    let read = |path: &Path| std::fs::read_to_string(path).expect("a text");
    let page = read(&checkout.book().join("troubleshooting/error-codes.md"));
    let headings: BTreeSet<&str> = page
        .lines()
        .filter(|line| line.starts_with("### "))
        .flat_map(codes)
        .collect();
    let mut provoked = BTreeSet::new();
    for folder in ["solutions", "exercises", "book/transcripts"] {
        let files = WalkDir::new(checkout.root().join(folder)).into_iter();
        let files = files.filter_entry(|entry| entry.file_name() != "target");
        for entry in files.filter_map(Result::ok) {
            // The heads of mistakes, the headings of hints, and what the compiler says on pages.
            let wanted = match entry
                .path()
                .extension()
                .and_then(|extension| extension.to_str())
            {
                Some("patch") => "Caught-by:",
                Some("md") if folder == "exercises" => "## ",
                Some("txt") if folder == "book/transcripts" => "",
                _ => continue,
            };
            let text = read(entry.path());
            let lines = text.lines().filter(|line| line.starts_with(wanted));
            provoked.extend(lines.flat_map(codes).map(ToOwned::to_owned));
        }
    }
    assert!(provoked.len() > 40, "{provoked:?}");
    let missing: Vec<&String> = provoked
        .iter()
        .filter(|code| !headings.contains(code.as_str()))
        .collect();
    assert!(missing.is_empty(), "no heading for {missing:?}");
}
