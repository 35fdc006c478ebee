//! Who a checkout is: the short name that containers, databases and folders outside of it carry.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use workshop_base::files;
use workshop_base::workspace::Workspace;

/// Ten hexadecimal digits that stand for this checkout.
///
/// They are kept in the checkout, since a machine's name comes and goes with its network. Beside them is the checkout's path: a copy of
/// the checkout has another one, and never takes the things of the first for its own.
pub fn checkout_id(workspace: &Workspace) -> String {
    let root = workspace
        .root()
        .canonicalize()
        .unwrap_or_else(|_| workspace.root().to_path_buf());
    let place = kept_in(workspace);
    let known = files::text(&place).unwrap_or_default();
    let mut lines = known.lines().filter_map(|line| line.split_once(' '));
    if let Some((id, _)) = lines.find(|(_, path)| Path::new(path) == root) {
        return id.to_owned();
    }
    let id = first_id(&root);
    let known = format!("{known}{id} {}\n", root.display());
    // Where the checkout cannot be written to, the id is the same as long as the machine's name is.
    let _ = files::write_atomically(&place, known.as_bytes());
    id
}

/// A line for each path that this checkout has been at: in a container it may have another one than outside.
fn kept_in(workspace: &Workspace) -> PathBuf {
    workspace.state().join("identity")
}

/// What a checkout is called from the first command on: made of the machine's id, its name and the path, so that the same path on two
/// machines that share a database server has two names.
fn first_id(root: &Path) -> String {
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

pub(crate) fn password() -> String {
    hex::encode(rand::random::<[u8; 16]>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_checkouts_have_two_ids_and_one_keeps_its_own() {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let [here, there] = folders
            .each_ref()
            .map(|folder| Workspace::at(folder.path()));
        assert_eq!(checkout_id(&here), checkout_id(&here.clone()));
        assert_ne!(checkout_id(&here), checkout_id(&there));
        assert_eq!(checkout_id(&here).len(), 10);
    }

    #[test]
    fn a_machine_that_has_another_name_today_finds_what_it_made_yesterday() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let here = Workspace::at(folder.path());
        let root = folder.path().canonicalize()?;
        let yesterday = format!("0123456789 {}\n", root.display());
        files::write_atomically(&kept_in(&here), yesterday.as_bytes())?;
        assert_eq!(checkout_id(&here), "0123456789");
        // A copy of the checkout is another one, also where both use one server.
        let copied = format!("0123456789 {}-before\n", root.display());
        files::write_atomically(&kept_in(&here), copied.as_bytes())?;
        let own = checkout_id(&here);
        assert_ne!(own, "0123456789");
        assert_eq!(checkout_id(&here), own);
        Ok(())
    }
}
