//! Version numbers as tools print them.

use std::fmt;

/// A version: its numbers, most significant first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(Vec<u32>);

impl Version {
    /// The first version number in a text: the first word that begins with a digit (or `v` and a digit) and has a dot.
    pub fn find(text: &str) -> Option<Self> {
        let words = text.split(|c: char| c.is_whitespace() || "(),/\"".contains(c));
        let numbers = |word: &str| -> Option<Vec<u32>> {
            let word = word.strip_prefix('v').unwrap_or(word);
            let end = word.find(|c: char| !c.is_ascii_digit() && c != '.');
            let dotted = word[..end.unwrap_or(word.len())].trim_end_matches('.');
            dotted
                .split('.')
                .map(|number| number.parse().ok())
                .collect()
        };
        let mut found = words
            .filter_map(numbers)
            .filter(|numbers| numbers.len() > 1);
        found.next().map(Version)
    }

    /// True when a tool of this version does for one that was made with `pinned`: not older, and the same as far as
    /// semantic versioning promises (the first number that is not zero).
    pub fn does_for(&self, pinned: &Version) -> bool {
        let promised = pinned.0.iter().take_while(|number| **number == 0).count() + 1;
        let promise =
            |version: &Version| version.0.iter().take(promised).copied().collect::<Vec<_>>();
        self >= pinned && promise(self) == promise(pinned)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<String> {
        Version::find(text).map(|version| version.to_string())
    }

    #[test]
    fn versions_are_found_in_what_tools_print() {
        assert_eq!(
            found("rustc 1.95.0 (f80762c0b 2026-04-14)").as_deref(),
            Some("1.95.0")
        );
        assert_eq!(found("mdbook v0.5.4").as_deref(), Some("0.5.4"));
        assert_eq!(
            found("Apache Maven 3.8.7\nMaven home: /usr").as_deref(),
            Some("3.8.7")
        );
        assert_eq!(
            found("cc (Debian 12.2.0-14+deb12u1) 12.2.0").as_deref(),
            Some("12.2.0")
        );
        assert_eq!(
            found("nginx version: nginx/1.26.3").as_deref(),
            Some("1.26.3")
        );
        assert_eq!(
            found("rustc 1.97.0-nightly (abc 2026-05-01)").as_deref(),
            Some("1.97.0")
        );
        assert_eq!(found("command not found"), None);
    }

    #[test]
    fn a_newer_one_does_while_it_promises_to_be_compatible() -> Result<(), &'static str> {
        let version = |text: &str| Version::find(text).ok_or("no version");
        assert!(version("1.21.0")?.does_for(&version("1.20.0")?));
        assert!(!version("1.19.9")?.does_for(&version("1.20.0")?));
        assert!(!version("2.0.0")?.does_for(&version("1.20.0")?));
        assert!(version("0.5.5")?.does_for(&version("0.5.4")?));
        assert!(!version("0.6.0")?.does_for(&version("0.5.4")?));
        Ok(())
    }
}
