//! Kata 15, interior mutability and a builder: a cache that is filled through `&self`.

use std::cell::RefCell;
use std::collections::HashMap;

/// A builder for the settings of a lookup: settings that aren't chosen keep their defaults.
#[derive(Default)]
struct Lookup {
    language: String,
    attempts: u8,
}

impl Lookup {
    /// The defaults: English, and one attempt.
    fn new() -> Lookup {
        todo!("English, one attempt")
    }

    fn in_language(self, language: impl Into<String>) -> Lookup {
        let language: String = language.into();
        todo!("this lookup in {language}")
    }

    fn with_attempts(self, attempts: u8) -> Lookup {
        todo!("this lookup with {attempts} attempts")
    }
}

/// A cache of hut names: each name is looked up only once.
struct Names<F> {
    look_up: F,
    known: RefCell<HashMap<i32, String>>,
}

impl<F: Fn(i32) -> String> Names<F> {
    fn new(look_up: F) -> Names<F> {
        let known = RefCell::default();
        Names { look_up, known }
    }

    /// The name of the hut at this tag. Only the first call for a tag looks the name up.
    fn of(&self, tag: i32) -> String {
        todo!("the name at {tag}, looked up or known")
    }
}

#[test]
fn what_is_not_said_has_its_default() {
    let lookup = Lookup::new().in_language("nb");
    assert_eq!((lookup.language.as_str(), lookup.attempts), ("nb", 1));
    let lookup = Lookup::new().with_attempts(3);
    assert_eq!((lookup.language.as_str(), lookup.attempts), ("en", 3));
}

#[test]
fn a_name_is_looked_up_once() {
    let asked = RefCell::new(Vec::new());
    let names = Names::new(|tag| {
        asked.borrow_mut().push(tag);
        format!("hut {tag}")
    });
    assert_eq!(
        [names.of(7), names.of(9), names.of(7)],
        ["hut 7", "hut 9", "hut 7"]
    );
    assert_eq!(*asked.borrow(), [7, 9]);
}
