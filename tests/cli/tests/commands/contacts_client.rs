//! A client that was written by others, libdav: two devices find the address book, fill it, change it at the same time and keep in
//! step, while the service is killed again and again. Nothing is lost, and nothing is there twice.

#![allow(clippy::expect_used, clippy::unwrap_used)]

mod litmus;
mod site;
mod vdirsyncer;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use http::{Request, Response, StatusCode};
use libdav::CardDavClient;
use libdav::carddav::{FindAddressBookHomeSet, FindAddressBooks, GetAddressBookResources};
use libdav::dav::{
    Delete, ListResources, PutResource, SyncCollection, SyncCollectionResponse, WebDavClient,
    WebDavError,
};
use libdav::sd::{ContextUrl, DiscoverableService, find_context_url};
use workshop_base::peer;
use workshop_base::target::Target;

use site::Site;

/// How many contacts a device uploads at first, and how many of them at the same time.
const CONTACTS: usize = 1000;
const AT_ONCE: usize = 8;
/// After how many of them the service is killed.
const KILLED_AFTER: [usize; 2] = [300, 700];
/// Which contacts the phone changes, which ones the tablet, and which ones the phone deletes.
const OF_THE_PHONE: std::ops::Range<usize> = 0..50;
const OF_THE_TABLET: std::ops::Range<usize> = 40..90;
const DELETED: std::ops::Range<usize> = 900..950;
/// Which changes get lost since the backup is older, and which ones are made after it. They are as many.
const LOST: std::ops::Range<usize> = 0..5;
const CHANGED_AGAIN: std::ops::Range<usize> = 20..25;
/// How many hrefs are in one request.
const CHUNK: usize = 100;
/// How often a device tries again, and how long it waits before that.
const ATTEMPTS: usize = 200;
const PAUSE: Duration = Duration::from_millis(50);
const USER: (&str, &str) = ("ada", "secret");

#[tokio::test]
async fn two_devices_of_the_reference_lose_and_double_nothing() {
    keeps_in_step(Target::Solution(22)).await;
}

#[tokio::test]
#[ignore = "builds a service beside the port: CI asks for it where it checks those"]
async fn two_devices_of_the_kotlin_service_lose_and_double_nothing() {
    peer_keeps_in_step("kotlin-contacts").await;
}

#[tokio::test]
#[ignore = "builds a service beside the port: CI asks for it where it checks those"]
async fn two_devices_of_radicale_lose_and_double_nothing() {
    peer_keeps_in_step("radicale").await;
}

/// As [`keeps_in_step`], where there is such a service.
async fn peer_keeps_in_step(name: &str) {
    if let Some((name, ..)) = peer::named(name) {
        keeps_in_step(Target::Peer(name)).await;
    }
}

async fn keeps_in_step(target: Target) {
    let mut site = Site::start(target).await;
    let mut phone = Device::sign_in(site.address).await;
    upload(&mut site, &phone).await;
    let mut tablet = Device::sign_in(site.address).await;
    for device in [&mut phone, &mut tablet] {
        device.sync().await;
        assert_eq!(device.known.len(), CONTACTS, "after the upload");
    }

    let refused = phone.change(&mut site, OF_THE_PHONE, "phone").await;
    assert_eq!(
        refused,
        Vec::<usize>::new(),
        "the phone is the first to change these"
    );
    let refused = tablet.change(&mut site, OF_THE_TABLET, "tablet").await;
    let both: Vec<usize> = (OF_THE_TABLET.start..OF_THE_PHONE.end).collect();
    assert_eq!(
        refused, both,
        "what the phone had changed, the tablet must not overwrite"
    );
    for number in DELETED {
        phone.delete(number).await;
    }
    site.kill_and_start().await;

    let there = phone.list().await;
    for device in [&mut phone, &mut tablet] {
        device.sync().await;
        assert_eq!(device.known, there, "after all changes");
    }
    assert_eq!(there.len(), CONTACTS - DELETED.len());
    let texts = phone.texts().await;
    for number in (0..CONTACTS).filter(|number| !DELETED.contains(number)) {
        let device = match number {
            number if OF_THE_PHONE.contains(&number) => "phone",
            number if OF_THE_TABLET.contains(&number) => "tablet",
            _ => "new",
        };
        assert_eq!(
            texts[&phone.href(number)],
            card(number, device),
            "contact {number}"
        );
    }
    site.stop().await;
}

#[tokio::test]
async fn a_backup_that_the_reference_gets_back_hides_no_change() {
    hides_no_change(Target::Solution(22)).await;
}

#[tokio::test]
#[ignore = "builds a service beside the port: CI asks for it where it checks those"]
async fn a_backup_that_the_kotlin_service_gets_back_hides_no_change() {
    if let Some((name, ..)) = peer::named("kotlin-contacts") {
        hides_no_change(Target::Peer(name)).await;
    }
}

/// After a backup, the same numbers of revisions are given again, to other changes. A tablet that has seen the former ones hears of
/// the latter, too.
async fn hides_no_change(target: Target) {
    let mut site = Site::start(target).await;
    let mut phone = Device::sign_in(site.address).await;
    for number in OF_THE_PHONE {
        phone.create(number).await;
    }
    phone.sync().await;
    site.back_up().await;
    let mut tablet = Device::sign_in(site.address).await;
    for number in LOST {
        assert!(phone.update(number, "lost").await, "contact {number}");
    }
    tablet.sync().await;

    site.restore().await;
    for number in CHANGED_AGAIN {
        assert!(phone.update(number, "kept").await, "contact {number}");
    }
    let refused = tablet.changes().await;
    assert!(
        matches!(refused, Err(WebDavError::PreconditionFailed(_))),
        "the token of before: {refused:?}"
    );
    tablet.forget();
    tablet.sync().await;
    assert_eq!(tablet.known, phone.list().await, "after the backup");
    let texts = tablet.texts().await;
    for number in OF_THE_PHONE {
        let kept = CHANGED_AGAIN.contains(&number);
        let device = if kept { "kept" } else { "new" };
        let text = &texts[&tablet.href(number)];
        assert_eq!(*text, card(number, device), "contact {number}");
    }
    site.stop().await;
}

/// The first upload. The service is killed in the middle of it.
async fn upload(site: &mut Site, phone: &Device) {
    let uploaded = AtomicUsize::new(0);
    let uploads = stream::iter(0..CONTACTS).for_each_concurrent(AT_ONCE, async |number| {
        phone.create(number).await;
        uploaded.fetch_add(1, Ordering::Relaxed);
    });
    let kills = async {
        for after in KILLED_AFTER {
            while uploaded.load(Ordering::Relaxed) < after {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            site.kill_and_start().await;
        }
    };
    tokio::join!(uploads, kills);
}

/// What a device calls a contact.
fn card(number: usize, device: &str) -> String {
    format!(
        "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:contact-{number}\r\nFN:Contact {number} {device}\r\nN:{number};Contact;;;\r\nEND:VCARD\r\n"
    )
}

/// One of the user's devices: what it knows of the address book.
struct Device {
    dav: CardDavClient<Http>,
    /// The path of the address book.
    book: String,
    /// The path of each contact with its tag.
    known: BTreeMap<String, String>,
    token: Option<String>,
}

impl Device {
    /// Finds the address book of a service of which it knows no more than the address.
    async fn sign_in(address: SocketAddr) -> Device {
        let base = format!("http://{address}").parse().unwrap();
        let web_dav = WebDavClient::new(base, Http::new());
        // It asks by OPTIONS whether the address is one of an address book.
        let found = find_context_url(&web_dav, DiscoverableService::CardDav).await;
        assert!(
            matches!(found, Ok(ContextUrl::BaseUrl)),
            "an entry: {found:?}"
        );
        let dav = CardDavClient::new(web_dav);
        // A service that has just been started may not have its tables yet.
        let principal = again("a principal", async || {
            dav.find_current_user_principal().await
        })
        .await;
        let principal = principal.expect("a principal");
        let home = FindAddressBookHomeSet::new(principal.path());
        let homes = dav.request(home).await.unwrap().home_sets;
        let home = homes.first().expect("a home of address books");
        let found = async || dav.request(FindAddressBooks::new(home.path())).await;
        let found = again("address books", found).await;
        let book = found.addressbooks.first().expect("an address book");
        assert!(book.supports_sync, "an address book that syncs");
        Device {
            book: book.href.clone(),
            dav,
            known: BTreeMap::new(),
            token: None,
        }
    }

    fn href(&self, number: usize) -> String {
        format!("{}contact-{number}.vcf", self.book)
    }

    /// Creates a contact. An answer may be lost, so that it is there already at the next attempt.
    async fn create(&self, number: usize) {
        let href = self.href(number);
        for _ in 0..ATTEMPTS {
            let create = PutResource::new(&href).create(card(number, "new"), "text/vcard");
            match self.dav.request(create).await {
                Ok(_) => return,
                Err(WebDavError::BadStatusCode(StatusCode::PRECONDITION_FAILED)) => {
                    let there = self.text(&href).await;
                    assert_eq!(there.unwrap().0, card(number, "new"), "what is at {href}");
                    return;
                }
                Err(error) => tried_again(&error).await,
            }
        }
        panic!("{href} was never created");
    }

    /// Changes contacts as this device knows them, and gives those that another one had changed before. The service is killed in
    /// the middle.
    async fn change(
        &mut self,
        site: &mut Site,
        contacts: std::ops::Range<usize>,
        device: &str,
    ) -> Vec<usize> {
        let mut refused = Vec::new();
        let half = contacts.start + contacts.len() / 2;
        for number in contacts {
            if number == half {
                site.kill_and_start().await;
            }
            if !self.update(number, device).await {
                refused.push(number);
            }
        }
        refused
    }

    async fn update(&self, number: usize, device: &str) -> bool {
        let href = self.href(number);
        for _ in 0..ATTEMPTS {
            let etag = &self.known[&href];
            let update = PutResource::new(&href).update(card(number, device), "text/vcard", etag);
            match self.dav.request(update).await {
                Ok(_) => return true,
                // Either it was this device, and the answer was lost; or it was another one.
                Err(WebDavError::BadStatusCode(StatusCode::PRECONDITION_FAILED)) => {
                    return self.text(&href).await.unwrap().0 == card(number, device);
                }
                Err(error) => tried_again(&error).await,
            }
        }
        panic!("{href} was never changed");
    }

    async fn delete(&mut self, number: usize) {
        let href = self.href(number);
        let etag = self.known[&href].clone();
        self.dav
            .request(Delete::new(&href).with_etag(etag))
            .await
            .unwrap();
    }

    /// Takes over what has changed since the last time.
    async fn sync(&mut self) {
        let changes = again("a sync", async || self.changes().await).await;
        for contact in changes.changed {
            self.known
                .insert(contact.href, contact.etag.expect("a tag"));
        }
        for href in changes.deleted {
            self.known.remove(&href);
        }
        self.token = Some(changes.new_sync_token);
    }

    /// What has changed since the last time.
    async fn changes(&self) -> Result<SyncCollectionResponse, WebDavError<reqwest::Error>> {
        let mut sync = SyncCollection::new(&self.book);
        if let Some(token) = &self.token {
            sync = sync.with_sync_token(token);
        }
        self.dav.request(sync).await
    }

    /// Begins as a new device, as clients do whose token is refused.
    fn forget(&mut self) {
        self.known.clear();
        self.token = None;
    }

    /// What is there, without regard to what this device knows.
    async fn list(&self) -> BTreeMap<String, String> {
        let list = async || self.dav.request(ListResources::new(&self.book)).await;
        let listed = again("a list", list).await.resources.into_iter();
        let contacts = listed.filter(|listed| listed.href != self.book);
        contacts
            .map(|contact| (contact.href, contact.etag.expect("a tag")))
            .collect()
    }

    /// The vCard at this path with its tag.
    async fn text(&self, href: &str) -> Option<(String, String)> {
        let get = async || {
            let get = GetAddressBookResources::new(&self.book).with_hrefs([href]);
            self.dav.request(get).await
        };
        let fetched = again("a contact", get).await.resources.pop()?;
        let content = fetched.content.ok()?;
        Some((content.data, content.etag))
    }

    /// All vCards that this device knows of.
    async fn texts(&self) -> BTreeMap<String, String> {
        let hrefs: Vec<&String> = self.known.keys().collect();
        let mut texts = BTreeMap::new();
        for chunk in hrefs.chunks(CHUNK) {
            let get = GetAddressBookResources::new(&self.book).with_hrefs(chunk);
            for fetched in self.dav.request(get).await.unwrap().resources {
                texts.insert(fetched.href, fetched.content.expect("a contact").data);
            }
        }
        texts
    }
}

/// Asks until there is an answer that is no error.
async fn again<T, E: std::fmt::Display>(what: &str, ask: impl AsyncFn() -> Result<T, E>) -> T {
    for _ in 0..ATTEMPTS {
        match ask().await {
            Ok(answer) => return answer,
            Err(error) => tried_again(&error).await,
        }
    }
    panic!("{what} never came");
}

/// A service that is being killed breaks connections, refuses new ones, and says 503 while it is not ready.
async fn tried_again(error: &impl std::fmt::Display) {
    eprintln!("trying again: {error}");
    tokio::time::sleep(PAUSE).await;
}

/// HTTP for libdav, with the user's name and password.
struct Http(reqwest::Client);

impl Http {
    fn new() -> Http {
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .build();
        Http(client.unwrap())
    }
}

impl tower_service::Service<Request<String>> for Http {
    type Response = Response<reqwest::Body>;
    type Error = reqwest::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<String>) -> Self::Future {
        let client = self.0.clone();
        Box::pin(async move {
            let (name, password) = USER;
            let request = reqwest::Request::try_from(request)?;
            let request = reqwest::RequestBuilder::from_parts(client, request);
            let response = request.basic_auth(name, Some(password)).send().await?;
            Ok(response.into())
        })
    }
}
