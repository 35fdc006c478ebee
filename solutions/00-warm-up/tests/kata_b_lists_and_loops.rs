//! Kata B, lists and loops: the huts on a day's hike.

/// The total number of hours for all stages.
fn hours(stages: &[u32]) -> u32 {
    let mut sum = 0;
    for stage in stages {
        sum += stage;
    }
    sum
}

/// The names that begin with this letter, in their original order.
fn beginning_with(letter: char, huts: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for hut in huts {
        if hut.starts_with(letter) {
            found.push(hut.clone());
        }
    }
    found
}

#[test]
fn the_hours_of_a_day_are_added_up() {
    assert_eq!(hours(&[2, 3, 1]), 6);
    assert_eq!(hours(&[]), 0);
}

#[test]
fn huts_are_found_by_their_first_letter() {
    let huts = ["Bergseter", "Olavsbu", "Bitihorn"].map(str::to_owned);
    assert_eq!(beginning_with('B', &huts), ["Bergseter", "Bitihorn"]);
    assert!(beginning_with('X', &huts).is_empty());
}
