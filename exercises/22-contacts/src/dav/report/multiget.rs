//! `addressbook-multiget`: the contacts at the requested paths.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use axum::response::Response;

use crate::{
    dav::{
        multistatus,
        paths::{self, Resource},
        properties::{Asked, Described},
        report::listing::Listing,
    },
    error::Error,
    service::Service,
    users::User,
};

/// Returns each requested contact once, even if it is requested twice, or a 404 if it is missing.
pub async fn multiget(
    service: &Arc<Service>,
    user: &User,
    asked: Asked,
    hrefs: Vec<String>,
) -> Result<Response, Error> {
    let (mut names, mut nowhere) = (BTreeMap::new(), BTreeSet::new());
    for href in hrefs {
        match name_at(&href, user) {
            Some(name) => {
                names.entry(name).or_insert(href);
            }
            None => {
                nowhere.insert(href);
            }
        }
    }
    let mut listing = Listing::of(names.keys().cloned(), asked.wants_vcards());

    let (service, reader) = (Arc::clone(service), user.clone());
    multistatus::answer(user, asked, move |mut answer| async move {
        while let Some(page) = listing.next(&service, &reader).await? {
            for (name, contact) in page {
                match contact {
                    Some(contact) => {
                        let path = paths::contact(&reader, &name);
                        answer.describe(&path, Described::Contact(&contact)).await?;
                    }
                    None => answer.missing(&names[&name]).await?,
                }
            }
        }
        for href in nowhere {
            answer.missing(&href).await?;
        }
        answer.end().await
    })
    .await
}

/// The name of the user's contact at this path. `href` can also be a full URL.
fn name_at(href: &str, user: &User) -> Option<String> {
    let path = match href.split_once("://") {
        Some((_, behind)) => &behind[behind.find('/')?..],
        None => href,
    };
    match Resource::at(path, user) {
        Ok(Resource::Contact { name }) if path.starts_with('/') => Some(name),
        _ => None,
    }
}
