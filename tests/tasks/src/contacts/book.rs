//! The address book that is measured: its contacts, where a service keeps them, and what clients send.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use workshop_harness::service::Settings;
use workshop_measure::protocol::subject::Subject;

/// The contacts of the book. All their numbers have three digits, so each is as likely as every other.
pub const CONTACTS: usize = 1000;
/// How many of them are read at once.
pub const MANY: usize = 100;
/// The published load: so many requests at a time.
pub const CONNECTIONS: u32 = 4;
/// The contact that is written.
pub const WRITTEN: usize = 0;
/// The service whose paths are its own.
const RADICALE: &str = "radicale";

/// Whose book it is, with the password.
pub fn credentials() -> String {
    let users = Settings::new("").contacts_users;
    users.split(',').next().unwrap_or_default().to_owned()
}

/// The value of the header `Authorization`.
pub fn basic() -> String {
    format!("Basic {}", STANDARD.encode(credentials()))
}

/// The book's path, with a slash at its end.
pub fn path(subject: &Subject) -> String {
    let credentials = credentials();
    let user = credentials.split(':').next().unwrap_or_default();
    match subject.row.of == RADICALE {
        true => format!("/{user}/contacts/"),
        false => format!("/addressbooks/{user}/contacts/"),
    }
}

/// True for a service that keeps its contacts in files, and has no use for a database.
pub fn is_in_files(subject: &Subject) -> bool {
    subject.row.of == RADICALE
}

/// The path of a contact.
pub fn contact(book: &str, number: usize) -> String {
    format!("{book}{}", name(number))
}

/// The name of a contact in its book.
pub fn name(number: usize) -> String {
    format!("contact-{number:03}.vcf")
}

/// The path of any contact, as a regular expression.
pub fn any(book: &str) -> String {
    format!("{book}contact-[0-9]{{3}}.vcf")
}

/// A contact. The lines are in the order in which Radicale writes them again, whatever it was given.
pub fn card(number: usize, note: &str) -> String {
    let lines = [
        "BEGIN:VCARD".to_owned(),
        "VERSION:3.0".to_owned(),
        format!("UID:contact-{number:03}"),
        format!("EMAIL;TYPE=HOME:contact-{number:03}@example.org"),
        format!("FN:Contact {number:03}"),
        format!("N:{number:03};Contact;;;"),
        format!("NOTE:{note}"),
        "ORG:Waymark".to_owned(),
        format!("TEL;TYPE=CELL:+49 30 5550{number:03}"),
        "END:VCARD".to_owned(),
    ];
    lines.map(|line| line + "\r\n").concat()
}

/// The contact as it is first.
pub fn new_card(number: usize) -> String {
    card(number, "met at the hut and not seen since")
}

/// The contact that is written as it is then.
pub fn changed_card() -> String {
    card(WRITTEN, "met at the hut and seen again in May")
}

/// What tells this book from another one.
pub fn fingerprint() -> String {
    let all: String = (0..CONTACTS).map(new_card).collect();
    hex::encode(&Sha256::digest(all)[..8])
}

/// The report that asks for many contacts.
pub fn multiget(book: &str) -> String {
    let hrefs = (0..MANY).map(|number| format!("<D:href>{}</D:href>", contact(book, number)));
    format!(
        r#"<?xml version="1.0" encoding="utf-8"?><C:addressbook-multiget xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:carddav"><D:prop><D:getetag/><C:address-data/></D:prop>{}</C:addressbook-multiget>"#,
        hrefs.collect::<String>()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contact_has_a_path_of_the_same_length_and_lines_that_nobody_folds() {
        for number in [0, 42, CONTACTS - 1] {
            assert_eq!(contact("/", number).len(), "/contact-000.vcf".len());
            assert!(new_card(number).lines().all(|line| line.len() < 75));
        }
        assert_eq!(any("/"), "/contact-[0-9]{3}.vcf");
    }

    #[test]
    fn a_report_asks_for_each_of_them_once() {
        let report = multiget("/addressbooks/ada/contacts/");
        assert_eq!(report.matches("<D:href>").count(), MANY);
        assert!(report.contains("/contact-099.vcf"), "{report}");
    }
}
