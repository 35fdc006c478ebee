//! Words that must not be in the book: addresses of package registries, and paths of the machine it was written on.

use std::path::Path;

use crate::fault::PageFault;
use workshop_base::outcome::Trouble;

/// Hosts of registries, in pieces, since this file must not hold their addresses either.
const REGISTRIES: &str = "crates io|maven org|maven apache org/maven2|registry npmjs org|pypi org|pythonhosted org|\
    hub docker com|docker io/|ghcr io|quay io|static rust-lang org|sonatype org";

/// Folders at the root of some machine, by name, since this file may not contain such a path either.
const MACHINE: [&str; 5] = ["work", "root", "tmp", "home", "Users"];

/// The faults in this text.
pub fn check(file: &Path, text: &str) -> Vec<PageFault> {
    let mut faults = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let mut fault =
            |what, next| faults.push(PageFault::new(file, number, Trouble::new(what).next(next)));
        let hosts = REGISTRIES.split('|').map(|pieces| pieces.replace(' ', "."));
        for host in hosts.filter(|host| line.contains(host)) {
            fault(
                format!("the address of a package registry ({host})"),
                "name the registry's client and command instead (cargo, mvn, docker)",
            );
        }
        let folders = MACHINE.map(|name| format!("/{name}/"));
        for folder in folders.iter().filter(|folder| begins_a_path(line, folder)) {
            fault(
                format!("a path of some machine ({folder}…)"),
                "write it relative to the checkout, or with ~",
            );
        }
    }
    faults
}

/// True when a path in this line begins with the folder: it isn't inside a longer one.
fn begins_a_path(line: &str, folder: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || ".~-_}>".contains(c);
    let mut places = line.match_indices(folder);
    places.any(|(at, _)| !line[..at].ends_with(goes_on))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        check(Path::new("book/a.md"), text)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn an_address_of_a_registry_is_found() {
        let address = ["https://crates", "io/crates/rocket"].join(".");
        let found = faults(&format!("one\n\nsee {address}\n"));
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("book/a.md:3: the address of a package registry"),
            "{found:?}"
        );
    }

    #[test]
    fn a_package_of_that_name_is_none() {
        assert_eq!(faults("apt install docker.io\n"), Vec::<String>::new());
    }

    #[test]
    fn a_path_of_a_machine_is_found_and_a_relative_one_is_not() {
        let [work, root, tmp, home, _] = MACHINE;
        assert_eq!(faults(&format!("in `/{tmp}/x`\nat /{root}/y\n")).len(), 2);
        let relative = format!("in `target/{work}/x`, ~/{work}/y and ./{tmp}/z, folder/{home}/a\n");
        assert_eq!(faults(&relative), Vec::<String>::new());
    }
}
