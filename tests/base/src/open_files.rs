//! How many files a process may have open, sockets included.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

use crate::outcome::Trouble;

/// What a process has open besides the sockets that it is there for.
const OTHERS: u64 = 500;

/// Lets this process, and what it starts from now on, have this many sockets open, or as many as the system allows.
pub fn allow_up_to(sockets: usize) -> anyhow::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let wanted = hard.min(sockets as u64 + OTHERS);
    if soft < wanted {
        setrlimit(Resource::RLIMIT_NOFILE, wanted, hard)?;
    }
    Ok(())
}

/// Lets this process, and what it starts from now on, have this many sockets open, for `purpose` ("3000 clients"). Fails with the
/// command that raises the limit where the system allows fewer.
pub fn allow_sockets(sockets: usize, purpose: &str) -> anyhow::Result<()> {
    let needed = sockets as u64 + OTHERS;
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= needed {
        return Ok(());
    }
    if hard >= needed {
        return Ok(setrlimit(Resource::RLIMIT_NOFILE, needed, hard)?);
    }
    Trouble::new(format!(
        "a process may have {hard} files open here, and {purpose} take {needed}"
    ))
    .expected("a higher limit, in this shell")
    .next(match cfg!(target_os = "macos") {
        true => format!("ulimit -n {needed}, then the same command again"),
        false => {
            format!("sudo prlimit --pid $$ --nofile={needed}:{needed}, then the same command again")
        }
    })
    .err()
}
