//! Kata 8, closures and iterators: which of the scanned ids don't exist?

/// The ids in `wanted` that aren't in `there`, in the order of `wanted`.
fn missing(wanted: &[i32], there: &[i32]) -> Vec<i32> {
    wanted
        .iter()
        .copied()
        .filter(|id| !there.contains(id))
        .collect()
}

/// The detail of the 404 response: `no record has the id 8, 9`.
fn detail(missing: &[i32]) -> String {
    let ids: Vec<String> = missing.iter().map(i32::to_string).collect();
    format!("no record has the id {}", ids.join(", "))
}

#[test]
fn only_what_is_not_there_is_missing() {
    assert_eq!(missing(&[9, 7, 8], &[5, 6, 7]), [9, 8]);
    assert_eq!(missing(&[5, 6], &[5, 6, 7]), []);
}

#[test]
fn the_detail_names_the_missing_ids() {
    assert_eq!(detail(&[8, 9]), "no record has the id 8, 9");
    assert_eq!(detail(&[8]), "no record has the id 8");
}
