//! Where the address book is, and what is in it.

use workshop_harness::contract::{Context, TestResult};

/// The address book of Ada.
pub const BOOK: &str = "/addressbooks/ada/contacts/";

/// The path of a contact.
pub fn path(name: &str) -> String {
    format!("{BOOK}{name}")
}

/// Changes the time of this contact's last change.
pub async fn moved_by(context: &Context, name: &str, interval: &str) -> TestResult {
    sqlx::query("UPDATE contacts SET changed = changed + $2::interval WHERE name = $1")
        .bind(name)
        .bind(interval)
        .execute(&mut *context.database.lock().await)
        .await?;
    Ok(())
}
