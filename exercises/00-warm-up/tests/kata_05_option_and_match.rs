//! Kata 5, `Option` and `match`: a value that may be absent.

#[derive(Debug)]
struct Record {
    value: String,
    visited: bool,
}

/// The API key of a request, from the header, or from the query if the header is missing.
fn key(header: Option<String>, query: Option<String>) -> Option<String> {
    todo!("choose between {header:?} and {query:?}")
}

/// The label that the app shows: `Trail 7`, `Trail 7 (visited)`, or `unknown tag`.
fn shown(record: Option<&Record>) -> String {
    todo!("match {record:?}")
}

#[test]
fn the_header_goes_before_the_query() {
    let some = |key: &str| Some(key.to_owned());
    assert_eq!(key(some("a"), some("b")), some("a"));
    assert_eq!(key(None, some("b")), some("b"));
}

#[test]
fn each_kind_of_tag_is_shown() {
    for (visited, expected) in [(false, "Trail 7"), (true, "Trail 7 (visited)")] {
        let value = "Trail 7".to_owned();
        assert_eq!(shown(Some(&Record { value, visited })), expected);
    }
    assert_eq!(shown(None), "unknown tag");
}
