//! `just prepare`: the compiler checks a query beside a database, and later without one. On a course with the exercises copied and all
//! else linked, so that what it builds with is built already.

// A test that cannot set up its course has to fail.
#![allow(clippy::expect_used)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::checkout::{Checkout, databases};
use crate::folder::{assert_says, everything};
use workshop_base::files;

const EXERCISE: &str = "exercises/06-change-things";
const QUERY: &str = r#"
#[allow(dead_code)]
async fn visited(connection: &mut sqlx::PgConnection) -> sqlx::Result<Option<bool>> {
    sqlx::query_scalar!("SELECT visited FROM records WHERE id = $1", 1)
        .fetch_optional(connection)
        .await
}
"#;
/// Green in the starter.
const TEST: &str = "visits_mark_every_record_and_count_each_once";

struct Course {
    checkout: Checkout,
}

impl Course {
    fn new() -> Course {
        let course = Course {
            checkout: Checkout::new(),
        };
        let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for link in ["tests", "solutions", "datasets"] {
            symlink(real.join(link), course.path(link)).expect("a link");
        }
        for file in ["Cargo.toml", "Cargo.lock", "justfile"] {
            fs::copy(real.join(file), course.path(file)).expect("a copy");
        }
        let exercises = files::read_tree(&real.join("exercises")).expect("the exercises");
        for (path, bytes) in exercises {
            files::write(&course.path("exercises").join(path), &bytes).expect("a copy");
        }
        course
    }

    fn path(&self, path: &str) -> PathBuf {
        self.checkout.workspace.root().join(path)
    }

    /// Puts a query into the exercise that the compiler checks.
    fn write_query(&self, query: &str) {
        let reference = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../solutions/06-change-things/src/main.rs");
        let main = fs::read_to_string(reference).expect("the program");
        files::write(
            &self.path(EXERCISE).join("src/main.rs"),
            (main + query).as_bytes(),
        )
        .expect("a query");
    }

    /// Runs the tool where a variable names another database; its exit code, and what it printed.
    fn ends(&self, arguments: &[&str], code: i32) -> String {
        let real = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let target =
            std::env::var_os("CARGO_TARGET_DIR").map_or(real.join("target"), PathBuf::from);
        let output = Command::new(crate::TOOL)
            .args(arguments)
            .env("WORKSHOP_ROOT", self.checkout.workspace.root())
            .env("CARGO_TARGET_DIR", target)
            .env("DATABASE_URL", "postgres://nobody@127.0.0.1:1/nowhere")
            .stdin(Stdio::null())
            .output()
            .expect("the tool starts");
        let said = everything(&output);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        said
    }

    /// What is kept of the database's answers.
    fn kept(&self) -> files::Tree {
        files::read_tree(&self.path(EXERCISE).join(".sqlx")).expect("a folder that can be read")
    }
}

#[tokio::test]
async fn a_query_is_checked_beside_a_database_and_then_without_one() {
    let course = Course::new();
    let said = course.ends(&["prepare", "exercise-6"], 1);
    assert_says(&said, &["no query that the compiler checks"]);

    course.write_query(QUERY);
    let said = course.ends(&["check", "exercise-6", "--only", TEST], 1);
    assert_says(&said, &["run `cargo sqlx prepare`"]);
    course.ends(&["check", "exercise-6"], 1);
    let said = course.ends(&["hint", "exercise-6", "--level", "3"], 0);
    assert_says(&said, &["just prepare exercise-6"]);

    let said = course.ends(&["prepare", "exercise-6"], 0);
    assert_says(&said, &["1 query checked", "06-change-things/.sqlx"]);
    let kept = course.kept();
    assert_eq!(kept.len(), 1);
    course.ends(&["check", "exercise-6", "--only", TEST], 0);

    course.write_query(&QUERY.replace("SELECT visited", "SELECT visted"));
    let said = course.ends(&["prepare", "exercise-6"], 1);
    assert_says(&said, &["column \"visted\" does not exist"]);
    assert_eq!(course.kept(), kept);

    // One that has changed takes the place of the one before.
    course.write_query(&QUERY.replace("id = $1", "$1 = id"));
    course.ends(&["prepare", "exercise-6"], 0);
    let now = course.kept();
    assert!(now.len() == 1 && now != kept);

    let server = course.checkout.server().await;
    let mut connection = server
        .connect_for_maintenance()
        .await
        .expect("a connection");
    assert_eq!(
        databases(&mut connection, server.checkout()).await,
        Vec::<String>::new()
    );
}

#[test]
fn what_has_no_queries_for_the_compiler_is_refused() {
    let course = Course::new();
    for target in ["kotlin", "exercise-1", "exercise-24"] {
        let said = course.ends(&["prepare", target], 2);
        assert_says(&said, &[target, "no queries for the compiler"]);
    }
}
