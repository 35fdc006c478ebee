//! Ctrl-C, SIGTERM, and a terminal that goes: what becomes of a command then.

use std::io::IsTerminal;

use tokio::signal::unix::{SignalKind, signal};

use crate::keys;
use workshop_base::outcome::{INTERRUPTED, Interrupted, Outcome};

/// How a command ends that is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// As any program ends: it works on files and is done. It never waits, so nothing would hear of a signal.
    AtOnce,
    /// Its work is dropped, and with it whatever that has started.
    Dropped,
    /// By itself: it hears of the signal by [`interrupted`].
    InOrder,
}

/// Does a command's work to its end, or until it is interrupted. A second Ctrl-C ends the tool at once.
pub async fn until_interrupted(
    how: Interruption,
    work: impl Future<Output = anyhow::Result<Outcome>>,
) -> anyhow::Result<Outcome> {
    if how == Interruption::AtOnce {
        return work.await;
    }
    end_at_the_second();
    if how == Interruption::InOrder {
        return work.await;
    }
    tokio::select! {
        result = work => result,
        () = interrupted() => {
            Err(Interrupted::new("interrupted; what was started is stopped").into())
        }
    }
}

/// Returns when the tool is asked to end, or its terminal is gone. It listens from the call on, not only once it is awaited.
pub fn interrupted() -> impl Future<Output = ()> {
    let signals = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    let hangup = match outlives_its_terminal() {
        true => None,
        false => signal(SignalKind::hangup()).ok(),
    };
    async move {
        let [Ok(mut interrupt), Ok(mut terminate)] = signals else {
            return std::future::pending().await;
        };
        let hung_up = async {
            match hangup {
                Some(mut hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hung_up => {}
        }
    }
}

/// Ends the tool at the second signal to end, whatever it is at: what it has started may take long to stop, and may not stop at all. On a
/// thread of its own, which hears when all others wait.
fn end_at_the_second() {
    std::thread::spawn(|| {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let Ok(runtime) = runtime.enable_all().build() else {
            return;
        };
        runtime.block_on(async {
            let signals = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
            let [Ok(mut interrupt), Ok(mut terminate)] = signals else {
                return;
            };
            for _ in 0..2 {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            }
            keys::restore();
            eprintln!(
                "ended at once; the next command removes what is left, and so does just clean"
            );
            std::process::exit(i32::from(INTERRUPTED));
        });
    });
}

/// True where the tool was started to go on without its terminal, as nohup does: there the signal is ignored, or all output goes
/// elsewhere.
fn outlives_its_terminal() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return !std::io::stdout().is_terminal() && !std::io::stderr().is_terminal();
    };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    // The hangup is signal 1, and has the lowest bit.
    ignored.is_some_and(|signals| signals & 1 == 1)
}
