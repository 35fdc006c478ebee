//! Kata 14, `dyn` and an extension trait: a board with several types of notices for hikers.

/// A notice for hikers.
trait Notice {
    fn text(&self) -> String;
}

struct Storm {
    hour: u8,
}

struct Closed {
    hut: String,
}

impl Notice for Storm {
    fn text(&self) -> String {
        format!("storm from {} o'clock", self.hour)
    }
}

impl Notice for Closed {
    fn text(&self) -> String {
        format!("{} is closed", self.hut)
    }
}

/// The notices on today's board: the closed hut, then the storm, each only if there is one.
fn board(closed: Option<&str>, storm: Option<u8>) -> Vec<Box<dyn Notice>> {
    todo!("a notice for {closed:?}, and one for {storm:?}")
}

/// An extension trait for strings that are written on signs.
trait Sign {
    /// The string as it's written on a sign: with a capital first letter and a period at the end.
    fn as_sign(&self) -> String;
}

impl Sign for str {
    fn as_sign(&self) -> String {
        todo!("make {self} a sign")
    }
}

#[test]
fn the_board_has_what_there_is() {
    let told = |closed, storm| {
        let notices = board(closed, storm);
        notices
            .iter()
            .map(|notice| notice.text())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        told(Some("Olavsbu"), Some(16)),
        ["Olavsbu is closed", "storm from 16 o'clock"]
    );
    assert_eq!(told(None, Some(9)), ["storm from 9 o'clock"]);
    assert!(told(None, None).is_empty());
}

#[test]
fn a_text_is_made_a_sign() {
    assert_eq!("storm from 16 o'clock".as_sign(), "Storm from 16 o'clock.");
    assert_eq!("åpen".as_sign(), "Åpen.");
    assert_eq!("".as_sign(), "");
}
