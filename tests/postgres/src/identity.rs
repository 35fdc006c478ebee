//! Who a checkout is: the short name that containers, databases and folders outside of it carry.

use sha2::{Digest, Sha256};

use workshop_base::workspace::Workspace;

/// Ten hexadecimal digits that stand for this checkout on this machine.
///
/// Made of the machine's id, its name and the checkout's path, so that two checkouts, or the same path on two
/// machines that share a database server, never take each other's things for their own.
pub fn checkout_id(workspace: &Workspace) -> String {
    let root = workspace
        .root()
        .canonicalize()
        .unwrap_or_else(|_| workspace.root().to_path_buf());
    let machine = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    let host = nix::unistd::gethostname().unwrap_or_default();
    short_hash(&[
        machine.trim(),
        &host.to_string_lossy(),
        &root.to_string_lossy(),
    ])
}

/// The first ten hexadecimal digits of the parts' SHA-256.
pub fn short_hash(parts: &[&str]) -> String {
    let mut digits = hex::encode(Sha256::digest(parts.join("\n")));
    digits.truncate(10);
    digits
}

/// What the names of a checkout's databases begin with.
pub(crate) fn database_prefix(checkout: &str) -> String {
    format!("workshop_{checkout}_")
}

/// A new password.
pub(crate) fn password() -> String {
    hex::encode(rand::random::<[u8; 16]>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_checkouts_have_two_ids_and_one_keeps_its_own() {
        let here = Workspace::at("/somewhere/workshop");
        let there = Workspace::at("/elsewhere/workshop");
        assert_eq!(checkout_id(&here), checkout_id(&here.clone()));
        assert_ne!(checkout_id(&here), checkout_id(&there));
        assert_eq!(checkout_id(&here).len(), 10);
    }
}
