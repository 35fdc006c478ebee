//! Finding the nginx of this machine, which exercise 12 puts in front of both services.

use std::path::{Path, PathBuf};

use super::runtime::Runtime;
use workshop_base::fix::{self, System};
use workshop_base::outcome::Trouble;
use workshop_base::probe::{self, QUICK, on_path};
use workshop_base::version::Version;

/// The folder of an exercise that holds the configuration.
pub const FOLDER: &str = "nginx";
/// The oldest nginx that can be told to write nowhere but in its folder.
const OLDEST: &str = "1.20";
/// Where packages put the program; not every user has these folders on the PATH.
const USUAL_FOLDERS: [&str; 4] = [
    "/usr/sbin",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
];

/// The nginx of this machine, which something needs.
pub fn needed() -> Result<Runtime, Trouble> {
    find().map_err(|lack| {
        let fix = System::here().install(&fix::NGINX);
        Trouble::new(format!("no usable nginx was found: {lack}"))
            .expected("nginx, which runs in front of both services in exercise 12")
            .next(format!("{}; just doctor", fix.in_words()))
    })
}

/// The nginx on the PATH, else in the usual folders; else why there is none to use.
pub fn find() -> Result<Runtime, String> {
    let usual = USUAL_FOLDERS.map(|folder| Path::new(folder).join("nginx"));
    let mut found = on_path("nginx").into_iter().chain(usual).filter_map(at);
    let lack = || format!("not on the PATH, and not in {}", USUAL_FOLDERS.join(", "));
    let nginx = found.next().ok_or_else(lack)?;
    if is_old(&nginx.version) {
        return Err(format!("{}; {OLDEST} or newer is needed", nginx.version));
    }
    Ok(nginx)
}

/// The program at this path, if it is nginx.
fn at(path: PathBuf) -> Option<Runtime> {
    let answer = probe::ask_and_wait(&path, &["-v"], QUICK);
    let (_, version) = answer.line()?.split_once("nginx/")?;
    let version = version.split_whitespace().next()?.to_owned();
    Some(Runtime { path, version })
}

fn is_old(version: &str) -> bool {
    Version::find(version) < Version::find(OLDEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_nginx_from_before_1_20_is_old() {
        assert!(is_old("1.18.0"));
        assert!(!is_old("1.20.0"));
        assert!(!is_old("1.29.3"));
        assert!(!is_old("2.0"));
    }
}
