//! Kata 11, `Arc` and `Mutex`: a counter that all threads share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::thread;

/// Counts visits per tag. Clones share one map.
#[derive(Clone, Default)]
struct Visits {
    by_tag: Arc<Mutex<HashMap<i32, u32>>>,
}

impl Visits {
    /// Counts one more visit to the tag.
    fn add(&self, tag: i32) {
        let mut by_tag = self.by_tag.lock().expect("no thread panics with the lock");
        *by_tag.entry(tag).or_default() += 1;
    }

    /// The number of visits to the tag.
    fn of(&self, tag: i32) -> u32 {
        let by_tag = self.by_tag.lock().expect("no thread panics with the lock");
        by_tag.get(&tag).copied().unwrap_or_default()
    }
}

#[test]
fn no_visit_is_lost_when_four_phones_scan_at_once() {
    let visits = Visits::default();
    let phones = [7, 7, 7, 9].map(|tag| {
        let visits = visits.clone();
        thread::spawn(move || (0..100_000).for_each(|_| visits.add(tag)))
    });
    for phone in phones {
        phone.join().expect("the phone has scanned");
    }
    assert_eq!((visits.of(7), visits.of(9)), (300_000, 100_000));
    assert_eq!(visits.of(8), 0);
}
