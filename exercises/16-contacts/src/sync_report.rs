//! `sync-collection`: what has changed in the book since a client looked last.

use std::collections::HashMap;

use axum::http::HeaderMap;

use crate::{
    contacts::{self, Contact},
    error::Error,
    markup::DAV,
    multistatus::Multistatus,
    paths,
    properties::{Asked, Described},
    report,
    service::Service,
    sync::{self, Book},
    users::User,
    xml::Element,
};

/// Answers what has changed since the client's token, and the token for the next time. With a limit, the answer may be a part of
/// it: then it says so, and the token is for the rest.
pub async fn sync_collection(
    service: &Service,
    user: &User,
    headers: &HeaderMap,
    report: &Element,
) -> Result<Multistatus, Error> {
    if headers.get("depth").is_some_and(|depth| depth != "0") {
        return Err(Error::BadRequest("Depth must be 0 for a sync-collection"));
    }
    let text = |name| report.child(DAV, name).map(|child| child.text.trim());
    if text("sync-level") != Some("1") {
        return Err(Error::BadRequest("sync-level must be 1"));
    }
    let token = text("sync-token").ok_or(Error::BadRequest("there must be a sync-token"))?;
    let limit = report::limit(report, DAV)?;
    let asked = Asked::of(Some(report))?;

    let owner = user.name();
    let book = service
        .database
        .run(async |connection| Book::open(connection, owner).await)
        .await?;
    let since = book.revision_of(token)?;
    // One more than can be answered shows that there is more.
    let most = limit.map_or(i64::MAX, |limit| limit.saturating_add(1) as i64);
    let (mut changes, found) = service
        .database
        .run(async |connection| {
            let changes = sync::changes(connection, owner, since, &book, most).await?;
            let names = changes.iter().map(|change| change.name.clone());
            let names: Vec<String> = names.collect();
            let found = contacts::named(connection, owner, &names, asked.wants_vcards()).await?;
            Ok((changes, found))
        })
        .await?;
    let found: HashMap<&str, &Contact> = found
        .iter()
        .map(|contact| (contact.name.as_str(), contact))
        .collect();

    let is_a_part = limit.is_some_and(|limit| changes.len() > limit);
    changes.truncate(limit.unwrap_or(usize::MAX));
    let mut answer = Multistatus::new();
    for change in &changes {
        let path = paths::contact(user, &change.name);
        match found.get(change.name.as_str()) {
            Some(contact) if !change.removed => answer.describe(&path, &asked, |name| {
                Described::Contact(contact).value(name, user)
            }),
            _ => answer.missing(&path),
        }
    }
    match changes.last() {
        Some(last) if is_a_part => {
            answer.more(&paths::book(user));
            answer.sync_token(&book.token_at(last.revision));
        }
        _ => answer.sync_token(&book.token()),
    }
    Ok(answer)
}
