//! For the page "Closures and iterators": `cargo run -p workshop-book --example closures`.

// ANCHOR: toll
fn toll(plate: Option<&str>, residents: &[String]) -> &'static str {
    let Some(plate) = plate else {
        return "stop";
    };
    match plate {
        "" => "unreadable",
        plate if residents.iter().any(|resident| resident == plate) => "free",
        _ => "4 euros",
    }
}
// ANCHOR_END: toll

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
    let tolls = [4, 0, 12];
    let total = |cars: u32| tolls.iter().fold(0, |sum, toll| sum + toll * cars);
    println!("{} {}", total(1), total(2));
    // ANCHOR_END: fold

    let residents = ["UL-WM 7".to_owned(), "A-KB 31".to_owned()];
    for plate in [None, Some(""), Some("UL-WM 7"), Some("M-XY 12")] {
        println!("{plate:?}: {}", toll(plate, &residents));
    }
}
