//! `sync-collection`: the changes in the book since a client's last sync.

use std::{collections::HashSet, sync::Arc};

use axum::response::Response;

use crate::{
    database::sync::{self, Book},
    dav::{
        multistatus, paths,
        properties::{Asked, Described},
        report::listing::Listing,
    },
    error::Error,
    service::Service,
    users::User,
};

/// Returns the changes since the client's token, and a new token. A response cut short by
/// the limit says so, and the next sync, with the new token, returns the rest.
pub async fn sync_collection(
    service: &Arc<Service>,
    user: &User,
    asked: Asked,
    token: &str,
    limit: Option<usize>,
) -> Result<Response, Error> {
    let owner = user.name();
    let book = service
        .database
        .read(async |connection| Book::open(connection, owner).await)
        .await?;
    let since = book.revision_of(token)?;
    let room = limit.unwrap_or(usize::MAX);
    // Asks for one change more than the limit: if there are that many, the response is partial.
    let most = i64::try_from(room.saturating_add(1)).unwrap_or(i64::MAX);
    let mut changes = service
        .database
        .read(async |connection| sync::changes(connection, owner, since, &book, most).await)
        .await?;
    let is_a_part = changes.len() > room;
    changes.truncate(room);
    let token = match changes.last() {
        Some(last) if is_a_part => book.token_at(last.revision),
        _ => book.token(),
    };
    let removed = changes.iter().filter(|change| change.removed);
    let removed: HashSet<String> = removed.map(|change| change.name.clone()).collect();
    let names = changes.into_iter().map(|change| change.name);
    let mut listing = Listing::of(names, asked.wants_vcards());

    let (service, reader) = (Arc::clone(service), user.clone());
    multistatus::answer(user, asked, move |mut answer| async move {
        while let Some(page) = listing.next(&service, &reader).await? {
            for (name, contact) in page {
                let path = paths::contact(&reader, &name);
                match contact {
                    Some(contact) if !removed.contains(&name) => {
                        answer.describe(&path, Described::Contact(&contact)).await?;
                    }
                    _ => answer.missing(&path).await?,
                }
            }
        }
        if is_a_part {
            answer.more(&paths::book(&reader));
        }
        answer.sync_token(&token);
        answer.end().await
    })
    .await
}
