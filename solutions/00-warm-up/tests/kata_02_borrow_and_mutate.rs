//! Kata 2, borrow and mutate: a phone sends the ids that it has scanned, and some are invalid.

/// Removes all ids below 1 from the list, and returns the number of removed ids.
fn remove_invalid(ids: &mut Vec<i32>) -> usize {
    let before = ids.len();
    ids.retain(|id| *id >= 1);
    before - ids.len()
}

/// Returns the valid ids, sorted. Takes ownership of the list, which `remove_invalid` borrows.
fn in_order(mut ids: Vec<i32>) -> Vec<i32> {
    remove_invalid(&mut ids);
    ids.sort_unstable();
    ids
}

#[test]
fn invalid_ids_are_removed_from_the_list_that_was_lent() {
    let mut ids = vec![7, 0, -1, 3];
    assert_eq!(remove_invalid(&mut ids), 2);
    assert_eq!(ids, [7, 3]);
}

#[test]
fn valid_ids_come_in_order() {
    assert_eq!(in_order(vec![7, 0, 3, -1, 5]), [3, 5, 7]);
}
