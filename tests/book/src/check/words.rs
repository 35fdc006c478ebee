//! Words that must not stand in the book: addresses of package registries, and paths of the machine it was written on.

use std::path::Path;

use crate::fault::{Fault, Problem};

/// Hosts of registries, in pieces, since this file must not hold their addresses either.
const REGISTRIES: [&[&str]; 12] = [
    &["crates", "io"],
    &["maven", "org"],
    &["maven", "apache", "org/maven2"],
    &["registry", "npmjs", "org"],
    &["pypi", "org"],
    &["pythonhosted", "org"],
    &["hub", "docker", "com"],
    &["docker", "io/"],
    &["ghcr", "io"],
    &["quay", "io"],
    &["static", "rust-lang", "org"],
    &["sonatype", "org"],
];

/// Folders at the root of some machine, by name, since no path of one stands in this file either.
const MACHINE: [&str; 5] = ["work", "root", "tmp", "home", "Users"];

/// The faults in this text.
pub fn check(file: &Path, text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for pieces in REGISTRIES {
            let host = pieces.join(".");
            if line.contains(&host) {
                let problem = Problem::new(
                    format!("the address of a package registry ({host})"),
                    "name the registry's client and command instead (cargo, mvn, docker)",
                );
                faults.push(Fault::new(file, index + 1, problem));
            }
        }
        for name in MACHINE {
            let folder = format!("/{name}/");
            if stands_alone(line, &folder) {
                let problem = Problem::new(
                    format!("a path of some machine ({folder}…)"),
                    "write it relative to the checkout, or with ~",
                );
                faults.push(Fault::new(file, index + 1, problem));
            }
        }
    }
    faults
}

/// True when the folder stands at the start of a path, not inside a longer one.
fn stands_alone(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        !line[..at].chars().next_back().is_some_and(|before| {
            before.is_alphanumeric() || matches!(before, '.' | '~' | '-' | '_' | '}' | '>')
        })
    })
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
