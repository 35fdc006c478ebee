//! `addressbook-query`: the contacts that match a filter.

use std::sync::Arc;

use axum::response::Response;

use crate::{
    database::contacts::{self, Contact},
    dav::{
        multistatus, paths,
        properties::{Asked, Described},
        report::{filter::Filter, listing::Listing},
    },
    error::Error,
    service::Service,
    users::User,
};

/// Returns the contacts that match, up to the requested limit. The filter checks every contact in the book, because
/// the table has no columns for most properties. A person's book is small enough for that.
pub async fn query(
    service: &Arc<Service>,
    user: &User,
    asked: Asked,
    mut filter: Filter,
    limit: Option<usize>,
) -> Result<Response, Error> {
    let all = service
        .database
        .read(async |connection| contacts::all(connection, user.name()).await)
        .await?;
    let mut listing = Listing::of(all.into_iter().map(|contact| contact.name), true);
    let mut room = limit.unwrap_or(usize::MAX);

    let (service, reader) = (Arc::clone(service), user.clone());
    multistatus::answer(user, asked, move |mut answer| async move {
        while let Some(page) = listing.next(&service, &reader).await? {
            let page = page.into_iter().filter_map(|(_, contact)| contact);
            let page: Vec<Contact> = page.collect();
            let search = move || search(filter, page);
            let (matching, whole);
            (filter, matching, whole) = service.computing.run(search).await;
            let is_cut = matching.len() > room || !whole;
            for contact in matching.iter().take(room) {
                let path = paths::contact(&reader, &contact.name);
                answer.describe(&path, Described::Contact(contact)).await?;
            }
            if is_cut {
                answer.more(&paths::book(&reader));
                break;
            }
            room -= matching.len();
        }
        answer.end().await
    })
    .await
}

/// The matching contacts of a page, and whether the budget was enough for the whole page.
fn search(mut filter: Filter, page: Vec<Contact>) -> (Filter, Vec<Contact>, bool) {
    let mut matching = Vec::new();
    for contact in page {
        match filter.lets_through(contact.vcard.as_deref().unwrap_or_default()) {
            Some(true) => matching.push(contact),
            Some(false) => {}
            None => return (filter, matching, false),
        }
    }
    (filter, matching, true)
}
