//! `addressbook-query`: the contacts that a filter lets through.

use crate::{
    contacts,
    error::Error,
    filter::Filter,
    markup::CARDDAV,
    multistatus::Multistatus,
    paths,
    properties::{Asked, Described},
    report,
    service::Service,
    users::User,
    vcard::Card,
    xml::Element,
};

/// Answers the contacts that match, at most as many as are asked for. The filter looks at each contact of the book: a person's
/// book is small, and what a filter may ask for is not in any column.
pub async fn query(service: &Service, user: &User, report: &Element) -> Result<Multistatus, Error> {
    let asked = Asked::of(Some(report))?;
    let filter = report.child(CARDDAV, "filter");
    let filter = Filter::of(filter.ok_or(Error::BadRequest("a query must have a filter"))?)?;
    let limit = report::limit(report, CARDDAV)?.unwrap_or(usize::MAX);

    let all = service
        .database
        .run(async |connection| contacts::all(connection, user.name(), true).await)
        .await?;
    let mut matching = all.iter().filter(|contact| {
        let card = contact.vcard.as_deref().and_then(Card::read);
        card.is_some_and(|card| filter.lets_through(&card))
    });

    let mut answer = Multistatus::new();
    for contact in matching.by_ref().take(limit) {
        answer.describe(&paths::contact(user, &contact.name), &asked, |name| {
            Described::Contact(contact).value(name, user)
        });
    }
    if matching.next().is_some() {
        answer.more(&paths::book(user));
    }
    Ok(answer)
}
