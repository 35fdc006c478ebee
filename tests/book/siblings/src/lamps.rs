//! Headlamps, for the page "A trait with types in it": a pool of what is no connection.

use std::io;

use deadpool::managed::{self, Metrics, Object, RecycleError, RecycleResult};

/// A headlamp.
pub struct Lamp {
    percent: u8,
}

impl Lamp {
    /// A lamp from the charger.
    async fn charged() -> io::Result<Lamp> {
        Ok(Lamp { percent: 100 })
    }
}

// ANCHOR: lamps
/// The shelf that lamps are lent from.
pub struct Lamps;

impl managed::Manager for Lamps {
    type Type = Lamp;
    type Error = io::Error;

    async fn create(&self) -> io::Result<Lamp> {
        Lamp::charged().await
    }

    async fn recycle(&self, lamp: &mut Lamp, _: &Metrics) -> RecycleResult<io::Error> {
        if lamp.percent < 20 {
            return Err(RecycleError::message("flat"));
        }
        Ok(())
    }
}
// ANCHOR_END: lamps

/// A card that says who has a lamp.
pub struct Card;

impl Drop for Card {
    fn drop(&mut self) {
        println!("the card is back");
    }
}

// ANCHOR: borrowed
/// A lamp on its way. Dropped, the lamp is back on its shelf before the card is.
pub struct Borrowed {
    pub lamp: Object<Lamps>, // first the lamp goes back …
    pub card: Card,          // … then the card
}
// ANCHOR_END: borrowed
