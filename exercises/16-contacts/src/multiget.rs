//! `addressbook-multiget`: the contacts at these paths.

use std::collections::HashMap;

use axum::http::Uri;

use crate::{
    contacts::{self, Contact},
    error::Error,
    markup::DAV,
    multistatus::Multistatus,
    paths::{self, Resource},
    properties::{Asked, Described},
    service::Service,
    users::User,
    xml::Element,
};

/// Answers each contact that is asked for, or that it is not there.
pub async fn multiget(
    service: &Service,
    user: &User,
    report: &Element,
) -> Result<Multistatus, Error> {
    let asked = Asked::of(Some(report))?;
    let hrefs = report.children(DAV, "href").map(|href| href.text.trim());
    let hrefs: Vec<(&str, Option<String>)> =
        hrefs.map(|href| (href, name_at(href, user))).collect();
    let names = hrefs.iter().filter_map(|(_, name)| name.clone());
    let names: Vec<String> = names.collect();

    let found = service
        .database
        .run(async |connection| {
            contacts::named(connection, user.name(), &names, asked.wants_vcards()).await
        })
        .await?;
    let found: HashMap<&str, &Contact> = found
        .iter()
        .map(|contact| (contact.name.as_str(), contact))
        .collect();

    let mut answer = Multistatus::new();
    for (href, name) in &hrefs {
        let contact = name.as_deref().and_then(|name| found.get(name));
        match contact {
            Some(contact) => {
                answer.describe(&paths::contact(user, &contact.name), &asked, |name| {
                    Described::Contact(contact).value(name, user)
                })
            }
            None => answer.missing(href),
        }
    }
    Ok(answer)
}

/// The name of the user's contact at this path, which may be a whole URL as well.
fn name_at(href: &str, user: &User) -> Option<String> {
    let uri: Uri = href.parse().ok()?;
    match Resource::at(uri.path(), user) {
        Ok(Resource::Contact { name }) => Some(name),
        _ => None,
    }
}
