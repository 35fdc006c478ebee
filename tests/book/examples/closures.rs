//! For the page "Closures and iterators": `cargo run -p workshop-book --example closures`.

// ANCHOR: judge
fn judge(header: Option<&str>, keys: &[String]) -> &'static str {
    let Some(key) = header else {
        return "missing";
    };
    match key {
        "" => "empty",
        key if keys.iter().any(|accepted| accepted == key) => "accepted",
        _ => "wrong",
    }
}
// ANCHOR_END: judge

fn main() {
    // ANCHOR: lazy
    let ids = [12, 7, 3];
    let mut looked_at = 0;
    let mut odd = ids.iter().filter(|id| {
        looked_at += 1;
        *id % 2 == 1
    });
    let first = odd.next();
    println!("{first:?}, after looking at {looked_at} of {}", ids.len());
    // ANCHOR_END: lazy

    // ANCHOR: fold
    let keys = vec!["spring-key".to_owned(), "autumn-key".to_owned()];
    let known = |key: &str| {
        keys.iter()
            .map(|accepted| accepted == key)
            .fold(false, |found, equal| found | equal)
    };
    println!("{} {}", known("autumn-key"), known("summer-key"));
    // ANCHOR_END: fold

    for header in [None, Some(""), Some("spring-key"), Some("valid")] {
        println!("{header:?} is {}", judge(header, &keys));
    }
}
