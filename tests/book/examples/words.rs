//! For the page "What is it called?": `cargo run -p workshop-book --example words`.

use std::{
    borrow::Cow,
    cell::RefCell,
    marker::PhantomData,
    rc::{Rc, Weak},
};

// ANCHOR: iterator
/// The tags of a trail, every second one.
struct EverySecond {
    next: u32,
    last: u32,
}

impl Iterator for EverySecond {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.next > self.last {
            return None;
        }
        let tag = self.next;
        self.next += 2;
        Some(tag)
    }
}
// ANCHOR_END: iterator

// ANCHOR: chain
fn tag(header: Option<&str>) -> Option<u32> {
    if let Some(text) = header
        && let Ok(tag) = text.parse()
        && tag > 0
    {
        return Some(tag);
    }
    None
}
// ANCHOR_END: chain

// ANCHOR: cow
fn without_spaces(name: &str) -> Cow<'_, str> {
    if name.contains(' ') {
        Cow::Owned(name.replace(' ', "-"))
    } else {
        Cow::Borrowed(name)
    }
}
// ANCHOR_END: cow

// ANCHOR: weak
struct Hut {
    name: &'static str,
    // A hut knows its trail, but doesn't keep it alive.
    trail: Weak<Trail>,
}

struct Trail {
    huts: RefCell<Vec<Rc<Hut>>>,
}
// ANCHOR_END: weak

// ANCHOR: phantom
/// The id of a `T`: an id of a hut isn't one of a trail.
struct Id<T> {
    number: u32,
    of: PhantomData<T>,
}
// ANCHOR_END: phantom

// ANCHOR: macro
macro_rules! largest {
    ($only:expr) => { $only };
    ($first:expr, $($rest:expr),+) => { $first.max(largest!($($rest),+)) };
}
// ANCHOR_END: macro

fn main() {
    let tags: Vec<u32> = EverySecond { next: 1, last: 8 }
        .filter(|tag| tag % 3 != 0)
        .collect();
    println!("{tags:?}");

    println!("{:?} {:?}", tag(Some("4711")), tag(Some("0")));

    for name in ["ridge", "upper hut"] {
        let written = without_spaces(name);
        let copied = matches!(written, Cow::Owned(_));
        println!("{written}, copied: {copied}");
    }

    let trail = Rc::new(Trail {
        huts: RefCell::default(),
    });
    let hut = Rc::new(Hut {
        name: "Upper hut",
        trail: Rc::downgrade(&trail),
    });
    trail.huts.borrow_mut().push(Rc::clone(&hut));
    let huts = hut.trail.upgrade().map(|trail| trail.huts.borrow().len());
    drop(trail);
    let gone = hut.trail.upgrade().is_none();
    println!("{}: one of {huts:?}, then alone: {gone}", hut.name);

    let id: Id<Hut> = Id {
        number: 7,
        of: PhantomData,
    };
    let Id { number, of: _ } = id;
    println!("hut {number}");

    println!("{}", largest!(3, 9, 4));
}
