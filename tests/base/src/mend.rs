//! How things are mended: the exact commands, for the package manager of this system, or all of them where none is found.

use std::fmt;

use crate::probe::on_path;

/// A package manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manager {
    /// Debian, Ubuntu, Raspberry Pi OS.
    Apt,
    /// Fedora, Red Hat and relatives.
    Dnf,
    /// Homebrew on macOS.
    Brew,
    /// Windows, where the workshop runs inside WSL.
    Winget,
}

const MANAGERS: [Manager; 4] = [Manager::Apt, Manager::Dnf, Manager::Brew, Manager::Winget];

impl fmt::Display for Manager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Manager::Apt => "apt",
            Manager::Dnf => "dnf",
            Manager::Brew => "brew",
            Manager::Winget => "winget",
        })
    }
}

/// What to install, package manager by package manager.
#[derive(Debug, Clone, Copy)]
pub struct Packages {
    /// The arguments of `apt install`.
    pub apt: &'static str,
    /// The arguments of `dnf install`.
    pub dnf: &'static str,
    /// The whole command on macOS, since not everything there comes by Homebrew.
    pub brew: &'static str,
}

/// A Java development kit.
pub const JDK: Packages = Packages {
    apt: "default-jdk",
    dnf: "java-21-openjdk-devel",
    brew: "brew install openjdk",
};
/// Apache Maven.
pub const MAVEN: Packages = Packages {
    apt: "maven",
    dnf: "maven",
    brew: "brew install maven",
};
/// A C compiler and linker.
pub const C_COMPILER: Packages = Packages {
    apt: "build-essential",
    dnf: "gcc",
    brew: "xcode-select --install",
};
/// git.
pub const GIT: Packages = Packages {
    apt: "git",
    dnf: "git",
    brew: "brew install git",
};
/// A Docker engine and its client.
pub const DOCKER: Packages = Packages {
    apt: "docker.io",
    dnf: "moby-engine",
    brew: "brew install colima docker && colima start",
};
/// nginx.
pub const NGINX: Packages = Packages {
    apt: "nginx-light",
    dnf: "nginx",
    brew: "brew install nginx",
};

/// What compiles Rust to WebAssembly: the target for the system's own compiler, or a compiler with the sources of its standard
/// library.
const WASM: Packages = Packages {
    apt: "rustc-web cargo-web rust-web-src lld",
    dnf: "rust-std-static-wasm32-unknown-unknown lld",
    brew: "brew install rustup && rustup default stable && rustup target add wasm32-unknown-unknown",
};

/// The way to mend something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mend {
    /// Commands to choose from, each after the package manager it is for, where there are several.
    pub commands: Vec<(Option<Manager>, String)>,
    /// True when it takes the rights of an administrator.
    pub administrator: bool,
}

impl Mend {
    /// A command that you can run yourself.
    pub fn yourself(command: impl Into<String>) -> Self {
        Mend {
            commands: vec![(None, command.into())],
            administrator: false,
        }
    }

    /// The commands in one line.
    pub fn in_words(&self) -> String {
        let commands = self.commands.iter();
        let commands: Vec<String> = commands
            .map(|(manager, command)| match manager {
                Some(manager) => format!("{command} ({manager})"),
                None => command.clone(),
            })
            .collect();
        commands.join("; or ")
    }
}

/// What decides about the commands: which package managers there are, and who asks.
#[derive(Debug, Clone)]
pub struct System {
    managers: Vec<Manager>,
    root: bool,
}

impl System {
    /// The system that this runs on: the first package manager found on the PATH.
    pub fn here() -> Self {
        let programs = [
            (Manager::Apt, "apt-get"),
            (Manager::Dnf, "dnf"),
            (Manager::Brew, "brew"),
            (Manager::Winget, "winget"),
        ];
        let found = programs
            .into_iter()
            .find(|(_, program)| on_path(program).is_some());
        System {
            managers: found.map_or(MANAGERS.to_vec(), |(manager, _)| vec![manager]),
            root: nix::unistd::geteuid().is_root(),
        }
    }

    /// The command that installs something.
    pub fn install(&self, packages: &Packages) -> Mend {
        let commands: Vec<_> = self
            .managers
            .iter()
            .map(|manager| {
                let command = match manager {
                    Manager::Apt => self.sudo(&format!("apt install {}", packages.apt)),
                    Manager::Dnf => self.sudo(&format!("dnf install {}", packages.dnf)),
                    Manager::Brew => packages.brew.to_owned(),
                    Manager::Winget => {
                        format!(
                            "winget install Microsoft.WSL, then inside it: sudo apt install {}",
                            packages.apt
                        )
                    }
                };
                ((self.managers.len() > 1).then_some(*manager), command)
            })
            .collect();
        Mend {
            commands,
            administrator: !self.managers.contains(&Manager::Brew) || self.managers.len() > 1,
        }
    }

    /// What makes it possible to compile Rust to WebAssembly: by rustup where it is, and by the system's packages, since rustup
    /// cannot always bring it.
    pub fn wasm_target(&self) -> Mend {
        let packages = self.install(&WASM);
        if on_path("rustup").is_none() {
            return packages;
        }
        let mut mend = Mend::yourself("rustup target add wasm32-unknown-unknown");
        if self.manager() == Some(Manager::Apt) {
            let packages = packages.commands.into_iter();
            mend.commands
                .extend(packages.map(|(_, command)| (Some(Manager::Apt), command)));
        }
        mend
    }

    /// A command that takes the rights of an administrator.
    pub fn as_administrator(&self, command: &str) -> Mend {
        Mend {
            commands: vec![(None, self.sudo(command))],
            administrator: true,
        }
    }

    /// The one package manager of the system, when it is known.
    pub fn manager(&self) -> Option<Manager> {
        match self.managers.as_slice() {
            [manager] => Some(*manager),
            _ => None,
        }
    }

    fn sudo(&self, command: &str) -> String {
        if self.root {
            command.to_owned()
        } else {
            format!("sudo {command}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_command_where_the_package_manager_is_known_and_all_where_none_is() {
        let debian = System {
            managers: vec![Manager::Apt],
            root: false,
        };
        assert_eq!(
            debian.install(&MAVEN).commands,
            [(None, "sudo apt install maven".to_owned())]
        );
        assert!(debian.install(&MAVEN).administrator);

        let mac = System {
            managers: vec![Manager::Brew],
            root: false,
        };
        assert_eq!(
            mac.install(&C_COMPILER).commands,
            [(None, "xcode-select --install".to_owned())]
        );
        assert!(!mac.install(&C_COMPILER).administrator);
        assert_eq!(mac.install(&MAVEN).in_words(), "brew install maven");

        let unknown = System {
            managers: MANAGERS.to_vec(),
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
                "brew install maven",
                "winget install Microsoft.WSL, then inside it: sudo apt install maven"
            ]
        );
    }
}
