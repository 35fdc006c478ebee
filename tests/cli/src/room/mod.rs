//! The room: what the checks of somebody have said, in a file of that person's own in a folder that an instructor reads. Only who asks for
//! it has one, nothing but these lines goes there, and the folder may be away at times: the lines are kept here, and the next check brings all.

mod background;
mod line;
mod people;
mod seat;

pub use background::Background;
pub use line::RoomLine;
pub use people::{Look, Person, Room, RoomMinutes, minutes};
pub use seat::{Seat, note};

#[cfg(test)]
mod tests;
