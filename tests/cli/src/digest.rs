//! What stands for files in keys and in comparisons: a hash of their names and contents.

use sha1::{Digest, Sha1};
use workshop_base::files::Tree;

/// Stands for all files of a folder: other files, another digest.
pub fn digest(tree: &Tree) -> String {
    let mut hash = Sha1::new();
    take_tree(&mut hash, tree);
    in_digits(hash)
}

/// A hash in hexadecimal digits.
pub fn in_digits(hash: Sha1) -> String {
    let bytes = hash.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Adds all files of a folder to a hash.
pub fn take_tree(hash: &mut Sha1, tree: &Tree) {
    for (path, bytes) in tree {
        take(hash, &path.to_string_lossy(), bytes);
    }
}

/// Adds a named input to a hash: both with their lengths, so that no two inputs look alike.
pub fn take(hash: &mut Sha1, name: &str, bytes: &[u8]) {
    hash.update(format!("{} {name} {} ", name.len(), bytes.len()));
    hash.update(bytes);
}
