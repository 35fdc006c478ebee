//! Single keys that are pressed while a command waits. The terminal hands them over at once and does not show them; Ctrl-C stays a signal.

use std::io::{Read, stdin};
use std::sync::{Mutex, PoisonError};

use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{getpgrp, tcgetpgrp};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// How the terminal was before; none where it is as it was.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

/// Keys that are pressed, for as long as this lives.
pub struct Keys {
    pressed: UnboundedReceiver<char>,
}

impl Keys {
    /// Begins to read; none where standard input is no terminal, or belongs to another job of the shell.
    pub fn read() -> Option<Keys> {
        if tcgetpgrp(stdin()) != Ok(getpgrp()) {
            return None;
        }
        let before = tcgetattr(stdin()).ok()?;
        let mut single = before.clone();
        single
            .local_flags
            .remove(LocalFlags::ICANON | LocalFlags::ECHO);
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        if tcsetattr(stdin(), SetArg::TCSANOW, &single).is_err() {
            restore();
            return None;
        }
        let (press, pressed) = unbounded_channel();
        // A thread of its own waits for them: it holds up nothing that wants to end.
        std::thread::spawn(move || {
            let keys = stdin().lock().bytes().map_while(Result::ok).map(char::from);
            keys.take_while(|key| press.send(*key).is_ok()).count()
        });
        Some(Keys { pressed })
    }

    /// Waits for the next one.
    pub async fn next(keys: &mut Option<Keys>) -> char {
        if let Some(keys) = keys
            && let Some(key) = keys.pressed.recv().await
        {
            return key.to_ascii_lowercase();
        }
        std::future::pending().await
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        restore();
    }
}

/// Makes the terminal as it was. Whatever ends the tool without dropping what is alive has to call it.
pub fn restore() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before {
        let _ = tcsetattr(stdin(), SetArg::TCSANOW, &before);
    }
}
