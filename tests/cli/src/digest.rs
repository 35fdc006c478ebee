//! What stands for files in keys and in comparisons: a hash of their names and contents.

use sha2::{Digest, Sha256};
use workshop_base::files::Tree;

/// Stands for all files of a folder: other files, another digest.
pub fn digest(tree: &Tree) -> String {
    let mut hash = Sha256::new();
    take_tree(&mut hash, tree);
    in_digits(hash)
}

/// A hash in hexadecimal digits.
pub fn in_digits(hash: Sha256) -> String {
    hex::encode(hash.finalize())
}

/// Adds all files of a folder to a hash.
pub fn take_tree(hash: &mut Sha256, tree: &Tree) {
    for (path, bytes) in tree {
        take(hash, &path.to_string_lossy(), bytes);
    }
}

/// Adds a named input to a hash: both with their lengths, so that no two inputs look alike.
pub fn take(hash: &mut Sha256, name: &str, bytes: &[u8]) {
    hash.update(format!("{} {name} {} ", name.len(), bytes.len()));
    hash.update(bytes);
}
