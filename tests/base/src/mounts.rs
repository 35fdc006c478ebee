//! What the system's table of mounts says of a folder.

use std::fs;
use std::path::{Path, PathBuf};

/// Where a JVM unpacks native libraries, unless it's told otherwise.
pub const TEMPORARY: &str = "/tmp";

/// The mount with this folder, where no program may run from it: `noexec`. Only Linux has the table.
pub fn without_programs(folder: &Path) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    without_programs_in(&mounts, &folder.canonicalize().ok()?)
}

fn without_programs_in(mounts: &str, folder: &Path) -> Option<PathBuf> {
    let mounts = mounts.lines().filter_map(|mount| {
        let mut words = mount.split(' ').skip(1);
        let place = PathBuf::from(words.next()?.replace("\\040", " "));
        Some((place, words.nth(1)?))
    });
    // Of two mounts in one place, the later hides the earlier: `max_by_key` takes the last.
    let (place, options) = mounts
        .filter(|(place, _)| folder.starts_with(place))
        .max_by_key(|(place, _)| place.components().count())?;
    options
        .split(',')
        .any(|option| option == "noexec")
        .then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_mount_says_whether_programs_run() {
        let mounts = "/dev/sda1 / ext4 rw,relatime 0 0\n\
                      tmpfs /tmp tmpfs rw,nosuid,noexec,size=1g 0 0\n\
                      /dev/sdb1 /tmp/fast xfs rw 0 0\n\
                      share /home/ada/on\\040a\\040drive nfs4 rw,noexec 0 0\n\
                      one /opt tmpfs rw,noexec 0 0\n\
                      other /opt ext4 rw 0 0\n";
        for (folder, expected) in [
            ("/home/ada/course", None),
            ("/tmp/x", Some("/tmp")),
            ("/tmp/fast/x", None),
            ("/home/ada/on a drive/course", Some("/home/ada/on a drive")),
            ("/tmporary", None),
            ("/opt/course", None),
        ] {
            let found = without_programs_in(mounts, Path::new(folder));
            assert_eq!(found, expected.map(PathBuf::from), "{folder}");
        }
    }
}
