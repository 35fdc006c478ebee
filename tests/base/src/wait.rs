//! Waiting for something that cannot be awaited: looked at again and again, until a deadline.

use std::time::{Duration, Instant};

/// The shortest and the longest time between two looks.
const POLL: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(50)];

/// How long people wait without a word.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long to wait for the next look: a tenth of the time so far, so that waiting costs little and ends in good time.
pub fn pause(began: Instant) -> Duration {
    let [shortest, longest] = POLL;
    (began.elapsed() / 10).clamp(shortest, longest)
}

/// Looks until there is something, at least once; `None` when the deadline has passed without it.
///
/// A look that can fail gives `Some(Err(…))` to stop; `transpose` turns the answer into a `Result<Option<_>, _>`.
pub async fn until<T>(deadline: Instant, mut look: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let began = Instant::now();
    loop {
        if let Some(found) = look().await {
            return Some(found);
        }
        if Instant::now() >= deadline {
            return None;
        }
        tokio::time::sleep(pause(began)).await;
    }
}

/// Looks until this is so, at least once; what was seen last, be it so or be it that this much time has passed.
pub async fn last_within<T>(
    limit: Duration,
    mut look: impl AsyncFnMut() -> T,
    is_so: impl Fn(&T) -> bool,
) -> T {
    let began = Instant::now();
    loop {
        let seen = look().await;
        if is_so(&seen) || began.elapsed() >= limit {
            return seen;
        }
        tokio::time::sleep(pause(began)).await;
    }
}

/// [`until`] this much time has passed from now on.
pub async fn within<T>(limit: Duration, look: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    until(Instant::now() + limit, look).await
}

/// [`within`], and a word to the people who wait when it takes longer than a few seconds: "waiting for `what`, up to 120 s".
pub async fn within_saying<T>(
    limit: Duration,
    what: &str,
    look: impl AsyncFnMut() -> Option<T>,
) -> Option<T> {
    let word = async {
        tokio::time::sleep(PATIENCE).await;
        eprintln!("waiting for {what}, up to {} s", limit.as_secs());
        std::future::pending().await
    };
    tokio::select! {
        found = within(limit, look) => found,
        never = word => never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_looks_once_after_the_deadline_and_gives_up() {
        let mut looks = 0;
        let found: Option<()> = until(Instant::now(), async || {
            looks += 1;
            None
        })
        .await;
        assert_eq!((found, looks), (None, 1));
    }

    #[tokio::test]
    async fn it_ends_with_the_first_thing_found() {
        let mut looks = 0;
        let found = within(Duration::from_secs(60), async || {
            looks += 1;
            (looks == 3).then_some("here")
        })
        .await;
        assert_eq!(found, Some("here"));
    }
}
