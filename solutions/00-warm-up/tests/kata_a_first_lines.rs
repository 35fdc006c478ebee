//! Kata A, first lines: functions, strings, and `if` as an expression.

/// The label on a tag's pole: `tag 4711`.
fn label(tag: i32) -> String {
    format!("tag {tag}")
}

/// Whether a tag can have this number: tag numbers start at 1.
fn is_tag(number: i32) -> bool {
    number >= 1
}

/// The distance between two tags, which is the same in both directions.
fn distance(from: i32, to: i32) -> i32 {
    if from < to { to - from } else { from - to }
}

#[test]
fn a_label_has_the_number_in_it() {
    assert_eq!(label(4711), "tag 4711");
}

#[test]
fn tags_begin_at_1() {
    assert!(is_tag(1) && is_tag(4711));
    assert!(!is_tag(0) && !is_tag(-7));
}

#[test]
fn a_distance_is_the_same_both_ways() {
    assert_eq!(distance(3, 10), 7);
    assert_eq!(distance(10, 3), 7);
}
