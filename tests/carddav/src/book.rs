//! Where the address book is, and what is in it.

/// The address book of Ada.
pub const BOOK: &str = "/addressbooks/ada/contacts/";

/// The path of a contact.
pub fn path(name: &str) -> String {
    format!("{BOOK}{name}")
}
