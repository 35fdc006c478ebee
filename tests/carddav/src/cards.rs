//! The vCards that the tests put.

/// A vCard of version 4.0 for this UID and this person, with line ends as in RFC 6350.
pub fn card(uid: &str, name: &str) -> String {
    with(uid, name, "")
}

/// A vCard with more properties, each with its line break.
pub fn with(uid: &str, name: &str, more: &str) -> String {
    format!("BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{uid}\r\nFN:{name}\r\n{more}END:VCARD\r\n")
}

/// A vCard of exactly this many bytes.
pub fn of_length(uid: &str, length: usize) -> String {
    let without = with(uid, "Long", "NOTE:\r\n").len();
    let note = "x".repeat(length - without);
    with(uid, "Long", &format!("NOTE:{note}\r\n"))
}
