//! The book from outside: what `workshop book-check` finds in small books, what `workshop book` makes of them, what the preprocessor
//! gives to the program mdbook, and that the real book builds. None of it needs that program.

#![expect(
    clippy::expect_used,
    reason = "the helpers of a test may fail as the test itself may"
)]

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use workshop_base::workspace::Workspace;
use workshop_book::render::render;

use crate::folder::Folder;

/// A checkout in a temporary folder with a book of one exercise, which is whole until a test breaks it.
struct Checkout {
    folder: TempDir,
}

const EXERCISE: &str = "exercises/03-read-a-record.md";

impl Checkout {
    fn new() -> Self {
        let checkout = Checkout {
            folder: tempfile::tempdir().expect("a temporary folder"),
        };
        checkout.write("justfile", "");
        checkout.write("tests/tools.toml", "");
        checkout.write(
            "book.toml",
            "[book]\ntitle = \"Small\"\nsrc = \"book\"\n\
             [build]\nbuild-dir = \"book-html\"\ncreate-missing = false\nuse-default-preprocessors = false\n\
             [preprocessor.workshop]\ncommand = \"false\"\nrenderers = [\"html\"]\n\
             [output.html.playground]\nrunnable = false\n",
        );
        checkout.write(
            "solutions/03-read-a-record/exercise.toml",
            "number = 3\nslug = \"read-a-record\"\ntitle = \"Read a <record>\"\nsuites = [\"read-a-record\"]\n\
             edit = [\"src/read.rs\"]\nred = [\"a_known_id_answers_its_record\"]\n\
             [minutes]\nreading = 1\ndoing = 25\nreviewing = 9\n[measure]\ntask = \"reads\"\n",
        );
        checkout.write(
            "solutions/03-read-a-record/Cargo.toml",
            "[package]\nname = \"solution-3\"\n",
        );
        checkout.write(
            "solutions/03-read-a-record/src/read.rs",
            "// ANCHOR: read\nfn read() -> Vec<u8> {\n    vec![1]\n}\n// ANCHOR_END: read\n// ANCHOR: empty\n// ANCHOR_END: empty\n",
        );
        checkout.write(
            "solutions/03-read-a-record/starter.patch",
            "--- a/src/read.rs\n+++ b/src/read.rs\n@@ -1,5 +1,5 @@\n // ANCHOR: read\n fn read() -> Vec<u8> {\n-    vec![1]\n+    todo!()\n }\n // ANCHOR_END: read\n",
        );
        checkout.write(
            "exercises/kotlin-service/Read.kt",
            "fun read(): List<Byte> = listOf(1)\n",
        );
        checkout.write(
            "book/SUMMARY.md",
            "# Summary\n\n[Start](start.md)\n\n# The port\n\n- [Read a record](exercises/03-read-a-record.md)\n",
        );
        checkout.write("book/start.md", "# Start\n\nGo to [the task](exercises/03-read-a-record.md#your-task).\n\n{{#plan one-day}}\n");
        checkout.write(
            "book/instructors/plans.toml",
            "[one-day]\ndays = 1\nexercises = [3]\nmeasured = [3]\n",
        );
        checkout.write(
            "tests/measure/src/plans.toml",
            "[base]\ntakes = [60, 200, 900]\n[plans.reads]\n",
        );
        checkout.page(
            "## Your task\n\n\
             {{#panes kotlin=exercises/kotlin-service/Read.kt rust=solutions/03-read-a-record/src/read.rs:read}}\n\n\
             {{#tests exercise-3}}\n\n\
             {{#instructor}}\n- **Ask** why\n{{#/instructor}}\n",
        );
        checkout
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    /// Writes the exercise's page: heading and minutes in the first three lines, an empty one, then this text from line 5,
    /// and at the end the difference, which no chapter may lack.
    fn page(&self, text: &str) {
        self.write(
            &format!("book/{EXERCISE}"),
            &format!("# Read a record\n\n{{{{#minutes exercise-3}}}}\n\n{text}\n{{{{#diff exercise-3}}}}\n"),
        );
    }

    fn workshop(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(crate::TOOL);
        command
            .env("WORKSHOP_ROOT", self.folder.path())
            .current_dir(self.folder.path())
            .args(arguments);
        command
    }

    fn check(&self) -> Output {
        self.workshop(&["book-check"])
            .output()
            .expect("the tool starts")
    }

    /// Asserts that the check fails with this fault in this line of the exercise's page.
    fn finds(&self, line: usize, what: &str) {
        self.finds_in(&format!("book/{EXERCISE}:{line}"), what);
    }

    fn finds_in(&self, place: &str, what: &str) {
        let output = self.check();
        let said = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}{errors}");
        let found = said
            .lines()
            .any(|fault| fault.starts_with(&format!("{place}: ")) && fault.contains(what));
        assert!(found, "no {place} … {what} in:\n{said}{errors}");
        assert!(said.contains("  next: "), "nothing to do next in:\n{said}");
        assert!(
            said.contains("1 fault in the book"),
            "more than the one fault:\n{said}"
        );
    }

    fn build(&self) -> Output {
        self.workshop(&["book"]).output().expect("the tool starts")
    }

    fn html(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.path().join("book-html").join(path))
            .expect("a rendered page")
    }
}

/// The checkout that this test belongs to.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the checkout")
        .to_path_buf()
}

#[test]
fn a_whole_book_passes() {
    let output = Checkout::new().check();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(said.contains("the book is whole"), "{said}");
}

#[test]
fn a_missing_include_is_found() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\n{{#code rust=solutions/03-read-a-record/src/gone.rs}}\n");
    checkout.finds(7, "cannot include solutions/03-read-a-record/src/gone.rs");
}

#[test]
fn a_missing_anchor_is_found_and_those_that_exist_are_named() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\n{{#code rust=solutions/03-read-a-record/src/read.rs:raed}}\n");
    checkout.finds(7, "there is no anchor raed");
    let said = checkout.check().stdout;
    assert!(String::from_utf8_lossy(&said).contains("it has: read, empty"));
}

#[test]
fn an_empty_anchor_is_found() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\n{{#code rust=solutions/03-read-a-record/src/read.rs:empty}}\n");
    checkout.finds(7, "the anchor empty of");
}

#[test]
fn a_learners_file_is_no_source_for_the_book() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\n{{#code rust=exercises/03-read-a-record/src/read.rs:read}}\n");
    checkout.finds(7, "belongs to the learner");
}

#[test]
fn an_unknown_macro_is_found() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\n{{#shedule}}\n");
    checkout.finds(7, "there is no macro {{#shedule}}");
}

#[test]
fn an_exercise_that_does_not_exist_is_found() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\n{{#tests exercise-4}}\n");
    checkout.finds(7, "there is no exercise-4");
}

#[test]
fn a_dead_link_to_a_page_is_found() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\nSee [there](../gone.md).\n");
    checkout.finds(7, "../gone.md leads to no page");
}

#[test]
fn a_dead_link_to_a_heading_is_found() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\nSee [there](../start.md#middle) and [here](#your-task).\n");
    checkout.finds(7, "../start.md#middle leads to no heading");
}

#[test]
fn a_dead_link_to_a_file_is_found() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\n![A drawing](drawing.svg)\n");
    checkout.finds(7, "drawing.svg leads to no file");
}

#[test]
fn a_link_out_of_the_book_is_found() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\nSee [the service](../../exercises/kotlin-service/Read.kt).\n");
    checkout.finds(7, "leaves the book");
}

#[test]
fn a_link_without_its_definition_is_found() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\nSee [the manual][sqlx], and [word] is only a word.\n");
    checkout.finds(7, "the link [sqlx] is not defined");
}

#[test]
fn an_address_elsewhere_is_not_fetched() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\nSee [there](https://example.invalid/gone).\n");
    assert!(checkout.check().status.success());
}

#[test]
fn a_page_outside_the_table_of_contents_is_found() {
    let checkout = Checkout::new();
    checkout.write("book/lost.md", "# Lost\n");
    checkout.finds_in("book/lost.md", "not in the table of contents");
}

#[test]
fn a_file_that_a_page_includes_is_no_lost_page() {
    let checkout = Checkout::new();
    checkout.write("book/said/green.md", "All passed.\n");
    checkout.page("## Your task\n\n{{#include ../said/green.md}}\n");
    assert!(checkout.check().status.success());
}

#[test]
fn a_table_of_contents_that_names_a_missing_page_is_told() {
    let checkout = Checkout::new();
    checkout.write(
        "book/SUMMARY.md",
        "# Summary\n\n- [Start](start.md)\n- [Gone](gone.md)\n",
    );
    let output = checkout.check();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("book/SUMMARY.md:4: cannot read gone.md"),
        "{said}"
    );
}

#[test]
fn an_exercise_chapter_without_minutes_is_found() {
    let checkout = Checkout::new();
    checkout.write(
        &format!("book/{EXERCISE}"),
        "# Read a record\n\n## Your task\n\nRead.\n",
    );
    checkout.finds_in(&format!("book/{EXERCISE}"), "does not say its minutes");
}

#[test]
fn minutes_that_do_not_add_up_are_found() {
    let checkout = Checkout::new();
    let toml = "solutions/03-read-a-record/exercise.toml";
    let whole = std::fs::read_to_string(checkout.folder.path().join(toml)).expect("it is there");
    checkout.write(toml, &whole.replace("reading = 1", "reading = 8"));
    checkout.finds_in(toml, "8 minutes of reading are planned for");
    checkout.write(toml, &whole.replace("reviewing = 9", "reviewing = 7"));
    checkout.finds_in(toml, "the measurement leaves fewer than 5 to talk");
    checkout.write(toml, &whole.replace("doing = 25", "doing = 370"));
    checkout.finds_in(
        "book/start.md:5",
        "the plan one-day should take 1 days of seven hours",
    );
}

#[test]
fn an_exercise_chapter_without_its_difference_is_found() {
    let checkout = Checkout::new();
    checkout.write(
        &format!("book/{EXERCISE}"),
        "# Read a record\n\n{{#minutes exercise-3}}\n\n## Your task\n\nRead.\n",
    );
    checkout.finds_in(
        &format!("book/{EXERCISE}"),
        "does not show the difference between starter and reference",
    );
}

#[test]
fn an_image_without_a_text_is_found() {
    let checkout = Checkout::new();
    checkout.write("book/drawing.svg", "<svg/>");
    checkout.page("## Your task\n\n![](../drawing.svg)\n");
    checkout.finds(7, "an image without alternative text");
    checkout.page("## Your task\n\n<p><img src=\"../drawing.svg\" alt=\"\"></p>\n");
    checkout.finds(7, "an image without alternative text");
}

#[test]
fn typed_code_in_an_exercise_is_found() {
    let checkout = Checkout::new();
    for language in ["rust", "kotlin", "rust,ignore"] {
        checkout.page(&format!("## Your task\n\n```{language}\nlet x = 1;\n```\n"));
        checkout.finds(7, "code that was typed");
    }
}

#[test]
fn typed_code_with_a_reason_and_included_code_pass() {
    let checkout = Checkout::new();
    checkout.page(
        "## Your task\n\n<!-- typed: this must not compile -->\n\n```rust\nlet x: i32 = \"1\";\n```\n\n\
         ```rust\n{{#include ../../solutions/03-read-a-record/src/read.rs:read}}\n```\n\n```sh\njust check exercise-3\n```\n",
    );
    let output = checkout.check();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
}

#[test]
fn a_reason_excuses_one_block_only() {
    let checkout = Checkout::new();
    checkout.page(
        "## Your task\n\n<!-- typed: wrong on purpose -->\n\n```rust\na\n```\n\n```rust\nb\n```\n",
    );
    checkout.finds(13, "code that was typed");
}

#[test]
fn an_address_of_a_registry_is_found() {
    let checkout = Checkout::new();
    // In pieces, since this file must not hold it either.
    let address = ["https://registry", "npmjs", "org/x"].join(".");
    checkout.page(&format!("## Your task\n\nFetch `{address}`.\n"));
    checkout.finds(7, "the address of a package registry");
}

#[test]
fn a_path_of_the_authors_machine_is_found() {
    let checkout = Checkout::new();
    // In pieces as well.
    let path = ["", "root", "workshop"].join("/");
    checkout.page(&format!("## Your task\n\nLook into `{path}`.\n"));
    checkout.finds(7, "a path of some machine");
}

#[test]
fn figures_that_nobody_measured_are_found() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\n{{#results exercise-3}}\n");
    checkout.finds(7, "there are no committed figures for exercise-3");
}

#[test]
fn a_script_from_elsewhere_is_found_in_the_rendered_page() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\n<script src=\"https://cdn.example.org/x.js\"></script>\n");
    let output = checkout.check();
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("book-html/exercises/03-read-a-record.html:")
            && said.contains("loads https://cdn.example.org/x.js from elsewhere"),
        "{said}"
    );
}

#[test]
fn the_book_shows_panes_a_plan_difference_and_notes() {
    let checkout = Checkout::new();
    let output = checkout.build();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let page = checkout.html("exercises/03-read-a-record.html");
    assert!(
        page.contains("About 35 minutes: 1 reading, 25 doing (an estimate), 9 reviewing."),
        "minutes in {page}"
    );
    assert!(
        page.contains("class=\"panes panes-two\""),
        "panes in {page}"
    );
    assert!(
        page.contains("fn read() -&gt; Vec&lt;u8&gt; {"),
        "escaped code in {page}"
    );
    assert!(
        page.contains("aria-label=\"Rust code: read in solutions/03-read-a-record/src/read.rs\""),
        "a name for the code in {page}"
    );
    assert!(
        page.contains("-    todo!()\n+    vec![1]"),
        "the difference in {page}"
    );
    assert!(
        page.contains("<li><strong>Ask</strong> why</li>"),
        "notes as Markdown in {page}"
    );
    assert!(
        page.contains("a_<wbr>known_<wbr>id_<wbr>answers_<wbr>its_<wbr>record"),
        "tests in {page}"
    );
    let start = checkout.html("start.html");
    // The talk, the reading, the doing, the measurement and the review; then the last half hour.
    let minutes = "<td>15</td><td>1</td><td>25</td><td>4</td><td>5</td>";
    assert!(
        start.contains("09:00–09:50") && start.contains(minutes) && start.contains("09:50–10:20"),
        "a timetable in {start}"
    );
    assert!(
        start.contains("<a href=\"exercises/03-read-a-record.html\">3. Read a &lt;record&gt;</a>"),
        "a link to the chapter in {start}"
    );
    assert!(start.contains("The port"), "the part in {start}");
}

#[test]
fn the_build_stops_at_a_fault_and_says_where() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\n{{#code rust=solutions/03-read-a-record/src/read.rs:gone}}\n");
    let output = checkout.build();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(
        said.contains(&format!("book/{EXERCISE}:7: ")) && said.contains("next: name an anchor"),
        "{said}"
    );
    assert!(!checkout.folder.path().join("book-html/index.html").exists());
}

#[test]
fn readers_results_of_an_older_version_do_not_stop_the_book() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\n{{#results exercise-3}}\n");
    for (text, sentence) in [
        (
            "{\"schema\": 0, \"target\": \"exercise-3\"}",
            "results/exercise-3.json was written by an older version",
        ),
        ("not JSON", "results/exercise-3.json is not a result file"),
    ] {
        checkout.write("results/exercise-3.json", text);
        let output = checkout.build();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let page = checkout.html("exercises/03-read-a-record.html");
        assert!(page.contains(sentence), "{sentence} in {page}");
        assert!(
            page.contains("<code>just measure exercise-3</code>"),
            "{page}"
        );
        let folder = checkout.folder.path().display().to_string();
        assert!(!page.contains(&folder), "the reader's own path in {page}");
    }
}

#[test]
fn a_broken_reference_file_stops_the_book() {
    let checkout = Checkout::new();
    checkout.page("## Your task\n\n{{#results exercise-3}}\n");
    checkout.write("book/reference-results/exercise-3.json", "{}");
    let output = checkout.build();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{said}");
    assert!(
        said.contains(&format!(
            "book/{EXERCISE}:7: the committed results cannot be shown"
        )),
        "{said}"
    );
}

#[test]
fn the_tool_supports_html_only() {
    let checkout = Checkout::new();
    let answer = |renderer: &str| {
        checkout
            .workshop(&["preprocess", "supports", renderer])
            .status()
            .expect("the tool starts")
    };
    assert!(answer("html").success());
    assert!(!answer("markdown").success());
}

#[test]
fn what_is_no_book_is_refused_without_output() {
    let checkout = Checkout::new();
    let mut child = checkout
        .workshop(&["preprocess"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the tool starts");
    let mut input = child.stdin.take().expect("an input");
    input.write_all(b"{}").expect("taken");
    drop(input);
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("run just serve"));
}

#[test]
fn the_book_of_this_checkout_builds_with_all_that_its_projector_view_needs() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    render(&Workspace::at(root()), Some(folder.path())).expect("it builds");
    assert!(folder.path().join("index.html").is_file());
    let page = folder.path().join("exercises/05-fail-the-same-way.html");
    let page = std::fs::read_to_string(page).expect("a page");
    for part in [
        "theme/projector",
        "<main>",
        "class=\"right-buttons\"",
        "id=\"mdbook-sidebar\"",
        "class=\"nav-chapters next\"",
        "<details class=\"instructor\">",
    ] {
        assert!(page.contains(part), "the projector view needs {part}");
    }
}

#[test]
fn a_command_that_only_reads_ends_at_the_first_signal() {
    let folder = Folder::new();
    let mut tool = folder.tool();
    // It waits for a book that does not come.
    let tool = tool.arg("preprocess").stdin(Stdio::piped());
    let mut tool = tool.spawn().expect("the tool starts");
    let mut book = tool.stdin.take().expect("a pipe");
    // More than a pipe holds, so the tool has begun to read when this is written.
    book.write_all(&[b' '; 256 * 1024]).expect("it reads");
    // Not Ctrl-C, which a shell has its jobs in the background ignore.
    kill(Pid::from_raw(tool.id().cast_signed()), Signal::SIGTERM).expect("it runs");
    assert_eq!(tool.wait().expect("its end").signal(), Some(15));
}
