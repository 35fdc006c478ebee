//! Listing: reads contacts by name, page by page, so that a report can cover a whole book.

use std::collections::{HashMap, VecDeque};

use crate::{
    database::contacts::{self, Contact},
    error::Error,
    service::Service,
    users::User,
};

/// The maximum number of contacts per page.
const PAGE: usize = 1000;

// ANCHOR: listing
/// Reads contacts by name, in pages. Holds no connection while a slow client reads a page.
pub struct Listing {
    names: VecDeque<String>,
    with_vcards: bool,
}

impl Listing {
    /// A listing of these names, which must be distinct.
    pub fn of(names: impl IntoIterator<Item = String>, with_vcards: bool) -> Listing {
        Listing {
            names: names.into_iter().collect(),
            with_vcards,
        }
    }

    /// The next page of names, each with its contact, if it exists; `None` after the last page.
    pub async fn next(
        &mut self,
        service: &Service,
        user: &User,
    ) -> Result<Option<Vec<(String, Option<Contact>)>>, Error> {
        if self.names.is_empty() {
            return Ok(None);
        }
        let names: Vec<String> = self.names.drain(..PAGE.min(self.names.len())).collect();
        let with_vcards = self.with_vcards;
        let found = service
            .database
            .read(async |connection| {
                contacts::named(connection, user.name(), &names, with_vcards).await
            })
            .await?;
        let mut found: HashMap<String, Contact> = found
            .into_iter()
            .map(|contact| (contact.name.clone(), contact))
            .collect();
        let mut page = Vec::new();
        for name in names {
            match found.remove(&name) {
                // The vCard didn't fit into this page, so it is read with a later page.
                Some(contact) if with_vcards && contact.vcard.is_none() => {
                    self.names.push_back(name);
                }
                contact => page.push((name, contact)),
            }
        }
        Ok(Some(page))
    }
}
// ANCHOR_END: listing
