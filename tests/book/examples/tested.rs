//! For the page "Testing in Rust": `cargo test -p workshop-book --example tested`.

fn main() {
    println!("{:?}", next_page(&[1, 2, 3], 2));
}

// ANCHOR: tested
/// The id after which the next page begins, or nothing where no page follows.
fn next_page(ids: &[i32], limit: usize) -> Option<i32> {
    let last = limit.checked_sub(1)?;
    (ids.len() > limit).then(|| ids[last])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_last_page_has_no_next() {
        assert_eq!(next_page(&[1, 2], 2), None);
    }

    #[test]
    fn the_next_page_begins_after_the_last_id() {
        assert_eq!(next_page(&[1, 2, 3], 2), Some(2));
    }
}
// ANCHOR_END: tested
