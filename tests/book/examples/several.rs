//! For the page "What the port didn't need": `cargo run -p workshop-book --example several`.

use std::{
    cell::RefCell,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::{task::JoinSet, time::sleep};

// ANCHOR: inside
/// What is shared by tasks and still changes.
#[derive(Default)]
struct Seen {
    requests: AtomicU32,
    last: Mutex<Option<String>>,
}

impl Seen {
    /// `&self`, and not `&mut self`: the types in it take care of who changes what.
    fn note(&self, hut: &str) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(hut.to_owned());
    }
}
// ANCHOR_END: inside

// ANCHOR: set
async fn ask(
    hut: &'static str,
    milliseconds: u64,
    seen: Arc<Seen>,
) -> Result<&'static str, String> {
    sleep(Duration::from_millis(milliseconds)).await;
    if hut == "Hut 9" {
        return Err(format!("{hut} is closed"));
    }
    seen.note(hut);
    Ok(hut)
}

/// Asks all of them at once. At the first failure the others are canceled: the set is dropped, and with it its tasks.
async fn ask_all(
    huts: &[(&'static str, u64)],
    seen: &Arc<Seen>,
) -> Result<Vec<&'static str>, String> {
    let mut asked = JoinSet::new();
    for &(hut, milliseconds) in huts {
        asked.spawn(ask(hut, milliseconds, Arc::clone(seen)));
    }
    let mut open = Vec::new();
    while let Some(answer) = asked.join_next().await {
        open.push(answer.map_err(|panic| panic.to_string())??);
    }
    Ok(open)
}
// ANCHOR_END: set

// ANCHOR: builder
/// A hike, in steps that can be left out.
#[derive(Default)]
struct Hike {
    from: String,
    huts: Vec<String>,
    night: bool,
}

impl Hike {
    fn from(place: impl Into<String>) -> Hike {
        let from = place.into();
        Hike {
            from,
            ..Hike::default()
        }
    }

    fn past(mut self, hut: impl Into<String>) -> Hike {
        self.huts.push(hut.into());
        self
    }

    fn at_night(self) -> Hike {
        Hike {
            night: true,
            ..self
        }
    }
}
// ANCHOR_END: builder

#[tokio::main]
async fn main() {
    let seen = Arc::new(Seen::default());
    println!(
        "{:?}",
        ask_all(&[("Hut 7", 60), ("Hut 8", 20)], &seen).await
    );
    println!(
        "{:?}",
        ask_all(&[("Hut 9", 20), ("Hut 7", 60)], &seen).await
    );
    sleep(Duration::from_millis(100)).await;
    let last = seen
        .last
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    println!(
        "{} answered, the last was {last:?}",
        seen.requests.load(Ordering::Relaxed)
    );

    let Hike { from, huts, night } = Hike::from("the valley").past("Hut 7").at_night();
    println!("from {from} past {huts:?}, at night: {night}");

    // ANCHOR: refcell
    let tags = RefCell::new(vec![4711]);
    let first = tags.borrow();
    println!("{first:?}, and one more: {}", tags.try_borrow_mut().is_ok());
    drop(first);
    tags.borrow_mut().push(4712);
    println!("{tags:?}");
    // ANCHOR_END: refcell
}
