//! For the page "Who owns the settings?": `cargo run -p workshop-book --example office`.

// ANCHOR: office
struct Office {
    town: String,
    stamps: u32,
}

struct Postmark {
    town: String,
}

fn main() {
    let office = Office {
        town: "Ulm".to_owned(),
        stamps: 3,
    };
    let mark = postmark(&office);
    println!("{} stamps, marked {}", office.stamps, mark.town);
}

fn postmark(office: &Office) -> Postmark {
    Postmark {
        town: office.town.clone(),
    }
}
// ANCHOR_END: office
