//! Kata 9, traits and derives: which tag was scanned twice?

/// A type whose values have a label that fits into a sentence.
trait Label {
    fn label(&self) -> String;
}

struct TagId(i32);

impl Label for TagId {
    fn label(&self) -> String {
        todo!("name the tag {}", self.0)
    }
}

/// The label of the first item that equals an earlier one. Works for any type with a label.
fn first_repeated<T: Label>(items: &[T]) -> Option<String> {
    todo!(
        "put the {} items into a HashSet, one after the other",
        items.len()
    )
}

#[test]
fn a_tag_has_a_label() {
    assert_eq!(TagId(7).label(), "tag 7");
}

#[test]
fn a_tag_that_was_scanned_twice_is_found() {
    let scans = [TagId(7), TagId(9), TagId(7), TagId(9)];
    assert_eq!(first_repeated(&scans).as_deref(), Some("tag 7"));
    assert_eq!(first_repeated(&scans[..2]), None);
}
