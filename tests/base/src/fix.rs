//! How to fix what is missing: the exact commands for the package manager of this system, or for each one where none is found.

use std::fmt;
use std::process::Command;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// Debian, Ubuntu, Raspberry Pi OS.
    Apt,
    /// Fedora, Red Hat and relatives.
    Dnf,
    Brew,
}

/// Each with its name and the program that shows that it is there.
const MANAGERS: [(Manager, &str, &str); 3] = [
    (Manager::Apt, "apt", "apt-get"),
    (Manager::Dnf, "dnf", "dnf"),
    (Manager::Brew, "brew", "brew"),
];

impl fmt::Display for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = MANAGERS.iter().find(|(manager, ..)| manager == self);
        f.write_str(found.map_or("", |(_, name, _)| name))
    }
}

/// What to install, one value per package manager.
#[derive(Debug, Clone, Copy)]
pub struct Packages {
    /// The arguments of `apt install`.
    pub apt: &'static str,
    /// The arguments of `dnf install`.
    pub dnf: &'static str,
    /// The whole command on macOS, since not everything there comes by Homebrew.
    pub brew: &'static str,
}

const fn packages(apt: &'static str, dnf: &'static str, brew: &'static str) -> Packages {
    Packages { apt, dnf, brew }
}

/// A Java development kit. Fedora's latest is new enough for exercise 19, its other one is not.
pub const JDK: Packages = packages(
    "default-jdk",
    "java-latest-openjdk-devel",
    "brew install openjdk",
);
pub const MAVEN: Packages = packages("maven", "maven", "brew install maven");
/// A C compiler and linker.
pub const C_COMPILER: Packages = packages("build-essential", "gcc", "xcode-select --install");
pub const GIT: Packages = packages("git", "git", "brew install git");
/// A Docker engine and its client.
pub const DOCKER: Packages = packages(
    "docker.io",
    "moby-engine",
    "brew install colima docker && colima start",
);
pub const NGINX: Packages = packages("nginx-light", "nginx", "brew install nginx");
pub const NODE: Packages = packages("nodejs npm", "nodejs npm", "brew install node");
/// Python, with what makes environments.
pub const PYTHON: Packages = packages("python3 python3-venv", "python3", "brew install python");
/// The linter of a Rust toolchain that came from the distribution.
pub const CLIPPY: Packages = packages("rust-clippy", "clippy", "brew install rust");
pub const RUSTFMT: Packages = packages("rustfmt", "rustfmt", "brew install rust");
/// What compiles Rust to WebAssembly: the target for the system's own compiler, or a compiler with the sources of its standard
/// library.
const WASM: Packages = packages(
    "rustc-web cargo-web rust-web-src lld",
    "rust-std-static-wasm32-unknown-unknown lld",
    "brew install rustup && rustup default stable && rustup target add wasm32-unknown-unknown",
);

/// What compiles Rust for a Raspberry Pi: the same, and a linker with the C library of its architecture.
const AARCH64: Packages = packages(
    "gcc-aarch64-linux-gnu libc6-dev-arm64-cross rustc-web cargo-web rust-web-src",
    "gcc-aarch64-linux-gnu 'sysroot-aarch64-fc*-glibc'",
    "brew install messense/macos-cross-toolchains/aarch64-unknown-linux-gnu",
);
/// The linker alone, where rustup brings the rest.
const AARCH64_LINKER: Packages = packages(
    "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
    AARCH64.dnf,
    AARCH64.brew,
);

/// rustup's own installer; it needs no administrator.
const RUSTUP: &str = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh";

/// How to fix something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// Commands, each after the package manager it is for, where there are several.
    pub commands: Vec<(Option<Manager>, String)>,
    /// True when it takes the rights of an administrator.
    pub administrator: bool,
}

impl Fix {
    /// A command that you can run yourself.
    pub fn yourself(command: impl Into<String>) -> Self {
        Fix {
            commands: vec![(None, command.into())],
            administrator: false,
        }
    }

    /// The commands in one line.
    pub fn in_words(&self) -> String {
        let commands = self
            .commands
            .iter()
            .map(|(manager, command)| match manager {
                Some(manager) => format!("{command} ({manager})"),
                None => command.clone(),
            });
        commands.collect::<Vec<_>>().join("; or ")
    }
}

/// What decides about the commands: the package manager of the system, where one is known, and who asks.
#[derive(Debug, Clone)]
pub struct System {
    /// The first package manager on the PATH.
    pub manager: Option<Manager>,
    root: bool,
}

impl System {
    /// The system that this runs on.
    pub fn here() -> Self {
        let mut managers = MANAGERS.into_iter();
        let found = managers.find(|(_, _, program)| is_here(program));
        System {
            manager: found.map(|(manager, ..)| manager),
            root: nix::unistd::geteuid().is_root(),
        }
    }

    /// The command that installs something.
    pub fn install(&self, packages: &Packages) -> Fix {
        let command = |manager| match manager {
            Manager::Apt => self.sudo(&format!("apt install {}", packages.apt)),
            Manager::Dnf => self.sudo(&format!("dnf install {}", packages.dnf)),
            Manager::Brew => packages.brew.to_owned(),
        };
        Fix {
            commands: match self.manager {
                Some(manager) => vec![(None, command(manager))],
                None => MANAGERS
                    .map(|(manager, ..)| (Some(manager), command(manager)))
                    .to_vec(),
            },
            administrator: self.manager != Some(Manager::Brew),
        }
    }

    /// What brings a Rust toolchain that is new enough.
    pub fn toolchain(&self) -> Fix {
        if !is_here("rustup") {
            return Fix::yourself(RUSTUP);
        }
        let mut rustup = Command::new("rustup");
        let shown = rustup.args(["show", "active-toolchain"]).output();
        let active = shown.map_or_else(|_| Vec::new(), |shown| shown.stdout);
        Fix::yourself(undoes_the_choice(&String::from_utf8_lossy(&active)))
    }

    /// What brings a component of the toolchain; one from the distribution brings its components the same way.
    pub fn component(&self, name: &str, packages: &Packages) -> Fix {
        match is_here("rustup") {
            true => Fix::yourself(format!("rustup component add {name}")),
            false if is_here("rustc") => self.install(packages),
            false => self.toolchain(),
        }
    }

    /// What makes it possible to compile Rust to WebAssembly: by rustup where it is, and by the system's packages, since rustup
    /// cannot always bring it.
    pub fn wasm_target(&self) -> Fix {
        let mut packages = self.install(&WASM);
        if !is_here("rustup") {
            return packages;
        }
        let mut fix = Fix::yourself("rustup target add wasm32-unknown-unknown");
        if self.manager == Some(Manager::Apt)
            && let Some((_, command)) = packages.commands.pop()
        {
            fix.commands.push((self.manager, command));
        }
        fix
    }

    /// What makes it possible to compile Rust for a Raspberry Pi.
    pub fn aarch64_target(&self) -> Fix {
        if !is_here("rustup") {
            return self.install(&AARCH64);
        }
        let mut fix = self.install(&AARCH64_LINKER);
        for (_, command) in &mut fix.commands {
            *command = format!("rustup target add aarch64-unknown-linux-gnu, and {command}");
        }
        fix
    }

    /// A command that takes the rights of an administrator.
    pub fn as_administrator(&self, command: &str) -> Fix {
        Fix {
            commands: vec![(None, self.sudo(command))],
            administrator: true,
        }
    }

    fn sudo(&self, command: &str) -> String {
        let sudo = if self.root { "" } else { "sudo " };
        format!("{sudo}{command}")
    }
}

/// What undoes the choice of a toolchain, by what rustup says of the active one, and that alone: who made another one the default, or has
/// it for another folder, keeps that.
fn undoes_the_choice(active: &str) -> String {
    const NEWEST: &str = "rustup update stable";
    let between = |before: &str| {
        let (_, rest) = active.split_once(before)?;
        rest.split_once('\'').map(|(path, _)| path.to_owned())
    };
    if active.contains("RUSTUP_TOOLCHAIN") {
        format!("unset RUSTUP_TOOLCHAIN, which chose this one; {NEWEST}")
    } else if let Some(folder) = between("directory override for '") {
        format!("rustup override unset --path '{folder}', which chose this one; {NEWEST}")
    } else if let Some(file) = between("overridden by '") {
        format!(
            "rustup override set stable: here that is stronger than {file}, which chose this one; {NEWEST}"
        )
    } else {
        format!("{NEWEST} && rustup default stable")
    }
}

fn is_here(program: &str) -> bool {
    which::which(program).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_choice_of_a_toolchain_is_undone_where_it_was_made() {
        for (active, fix) in [
            (
                "1.80.0-x86_64-unknown-linux-gnu (overridden by environment variable RUSTUP_TOOLCHAIN)",
                "unset RUSTUP_TOOLCHAIN,",
            ),
            (
                "1.80.0-x86_64-unknown-linux-gnu (directory override for '/home/ada/my code')",
                "rustup override unset --path '/home/ada/my code',",
            ),
            (
                "1.80.0-x86_64-unknown-linux-gnu (overridden by '/home/ada/rust-toolchain.toml')",
                "rustup override set stable: here that is stronger than /home/ada/rust-toolchain.toml",
            ),
            (
                "1.80.0-x86_64-unknown-linux-gnu (default)",
                "rustup update stable && rustup default stable",
            ),
        ] {
            let undone = undoes_the_choice(active);
            assert!(undone.starts_with(fix), "{active}: {undone}");
        }
    }

    #[test]
    fn one_command_where_the_package_manager_is_known_and_all_where_none_is() {
        let debian = System {
            manager: Some(Manager::Apt),
            root: false,
        };
        assert_eq!(
            debian.install(&MAVEN).commands,
            [(None, "sudo apt install maven".to_owned())]
        );
        assert!(debian.install(&MAVEN).administrator);

        let mac = System {
            manager: Some(Manager::Brew),
            root: false,
        };
        assert_eq!(
            mac.install(&C_COMPILER).commands,
            [(None, "xcode-select --install".to_owned())]
        );
        assert!(!mac.install(&C_COMPILER).administrator);
        assert_eq!(mac.install(&MAVEN).in_words(), "brew install maven");

        let unknown = System {
            manager: None,
            root: true,
        };
        let words = unknown.install(&MAVEN).in_words();
        assert!(
            words.starts_with("apt install maven (apt); or dnf"),
            "{words}"
        );
        let commands: Vec<_> = unknown
            .install(&MAVEN)
            .commands
            .into_iter()
            .map(|(_, command)| command)
            .collect();
        assert_eq!(
            commands,
            [
                "apt install maven",
                "dnf install maven",
                "brew install maven"
            ]
        );
    }
}
