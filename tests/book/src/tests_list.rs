//! `{{#tests exercise-3}}`: the tests that an exercise is judged by.

use crate::html::{block, escape};
use workshop_base::exercise::{Catalogue, Exercise};

/// The suites that are run and the tests that are red on the starter.
pub fn render(catalogue: &Catalogue, exercise: &Exercise) -> String {
    let suites: Vec<_> = catalogue
        .suites_for(exercise)
        .iter()
        .map(|suite| format!("<code>{}</code>", escape(suite)))
        .collect();
    let (which, are) = if suites.len() == 1 {
        ("suite", "is")
    } else {
        ("suites", "are")
    };
    let mut items = String::new();
    for test in &exercise.red {
        // Underscores are word ends, so that a long name breaks well on a phone.
        items.push_str(&format!(
            "<li><code>{}</code></li>\n",
            escape(test).replace('_', "_<wbr>")
        ));
    }
    let red = match exercise.red.len() {
        1 => "this test is red. Make it green".to_owned(),
        count => format!(
            "these {count} tests are red. Begin with the first, make all of them green, and break none of the others"
        ),
    };
    block(&format!(
        "<div class=\"tests\">\n<p>The {which} {} {are} run against your work. On the starter {red}:</p>\n<ul>\n{items}</ul>\n</div>",
        and(&suites)
    ))
}

/// `a`, `a and b`, `a, b and c`.
pub fn and(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_reads_like_a_sentence() {
        let words = |list: &[&str]| {
            and(&list
                .iter()
                .map(|word| (*word).to_owned())
                .collect::<Vec<_>>())
        };
        assert_eq!(words(&["a"]), "a");
        assert_eq!(words(&["a", "b", "c"]), "a, b and c");
    }
}
