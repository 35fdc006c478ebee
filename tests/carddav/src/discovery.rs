//! Tests: how a client finds its address book, and which clients may.

use std::collections::{BTreeMap, BTreeSet};

use crate::book::{BOOK, moved_by, path};
use crate::cards::card;
use crate::client::{AddressBook, document, method};
use crate::multistatus::{Multistatus, Response, expect_rule};
use workshop_harness::contract::{
    Answer, Context, Failure, TestResult, expect, expect_eq, expect_none, is_problem,
};
use workshop_harness::http::{Body, Method};

/// The address book of Grace.
pub const OF_GRACE: &str = "/addressbooks/grace/contacts/";

/// Grace with her address book.
pub fn grace(context: &Context) -> AddressBook {
    AddressBook::known_as(&context.client, "grace:secret2")
}

pub async fn health_and_ready_need_no_password(context: &Context) -> TestResult {
    let client = context.client.without_key();
    for (path, status) in [("/health", "ok"), ("/ready", "ready")] {
        let answer = client.get(path).await?;
        answer.expect_json(200, &BTreeMap::from([("status", status)]))?;
    }
    Ok(())
}

fn asks_for_a_password(answer: &Answer) -> Result<&Answer, Failure> {
    let basic = r#"Basic realm="contacts", charset="UTF-8""#;
    answer
        .expect_problem(401, "a name and its password are required")?
        .expect_header_that("WWW-Authenticate", basic, |challenge| {
            challenge.starts_with("Basic ") && challenge.contains(r#"realm="contacts""#)
        })
}

pub async fn a_password_is_asked_for_before_all_else(context: &Context) -> TestResult {
    let nobody = context.client.without_key();
    let wrong = [
        "ada:wrong",
        "ada:",
        "ada",
        "nobody:secret",
        "grace:secret",
        "ada:secret2",
    ];
    let clients = wrong.map(|credentials| AddressBook::known_as(&nobody, credentials).client);
    let bearer = nobody.with("Authorization", Some("Bearer ada:secret"));
    let paths = [
        "/",
        "/principals/ada/",
        BOOK,
        "/nothing-here",
        "/addressbooks/grace/contacts/a%20b",
    ];
    for client in clients.iter().chain([&nobody, &bearer]) {
        for path in paths {
            asks_for_a_password(&client.send(method("PROPFIND"), path).await?)?;
        }
    }
    // A password is the same text in each form: composed, in two parts as a Mac has it, and from a client that knows no UTF-8
    // (outlookcaldavsynchronizer #363).
    let forms: [&[u8]; 3] = [
        "zoe:Schl\u{fc}ssel".as_bytes(),
        "zoe:Schlu\u{308}ssel".as_bytes(),
        b"zoe:Schl\xFCssel",
    ];
    for credentials in forms {
        let zoe = AddressBook::known_as(&nobody, credentials);
        let options = zoe.client.send(Method::OPTIONS, "/").await?;
        options.expect_status(204)?;
    }
    // A phone writes the first letter of a name as a capital, and puts a space after it (Kozea/Radicale #1118, owncloud/core #29708).
    for typed in ["Ada:secret", "ADA :secret"] {
        let ada = AddressBook::known_as(&nobody, typed);
        let principal = ada.property("/", "D:current-user-principal").await?;
        expect_eq("the principal", &*principal, "/principals/ada/")?;
    }
    // Base64 has its padding, or not.
    let unpadded = nobody.with("Authorization", Some("Basic YWRhOnNlY3JldA"));
    let options = unpadded.send(Method::OPTIONS, "/").await?;
    options.expect_status(204)?;
    // The name of a scheme is not case-sensitive.
    let in_capitals = nobody.with("Authorization", Some("BASIC YWRhOnNlY3JldA=="));
    let options = in_capitals.send(Method::OPTIONS, "/").await?;
    options.expect_status(204)?;
    Ok(())
}

pub async fn the_paths_of_another_user_are_forbidden(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let forbidden = is_problem(403, "this belongs to another user");
    let paths = [
        "/principals/grace/",
        "/addressbooks/grace/",
        OF_GRACE,
        "/addressbooks/grace/contacts/hers.vcf",
        "/addressbooks/nobody/",
        "/addressbooks/gr%61ce/contacts/",
    ];
    for path in paths {
        for method in [method("PROPFIND"), Method::PUT, Method::GET, Method::DELETE] {
            forbidden(&ada.client.send(method, path).await?)?;
        }
    }
    let grace = grace(context);
    forbidden(&grace.get("ada.vcf").await?)?;
    let own = Multistatus::of(&grace.propfind(OF_GRACE, "1", None).await?)?;
    let of_ada = own.paths().find(|path| path.contains("ada"));
    expect_none("Grace's book without contacts of Ada", of_ada)
}

pub async fn a_path_that_is_not_there_answers_404(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let nothing = is_problem(404, "there is nothing at this path");
    for path in [
        "/nothing-here",
        "/addressbooks/ada/others/",
        "/principals/",
        "/addressbooks/",
    ] {
        nothing(&ada.propfind(path, "0", None).await?)?;
    }
    let no_contact = is_problem(404, "there is no contact with this name");
    no_contact(&ada.get("never-was.vcf").await?)?;
    no_contact(&ada.delete("never-was.vcf").await?)?;
    no_contact(&ada.propfind(&path("never-was.vcf"), "0", None).await?)?;
    Ok(())
}

/// Compares the methods in a header `Allow` with the contract, in any order.
fn expect_allowed<'a>(answer: &'a Answer, methods: &str) -> Result<&'a Answer, Failure> {
    let expected: BTreeSet<&str> = methods.split(' ').collect();
    answer.expect_header_that("Allow", &methods.replace(' ', ", "), |allowed| {
        BTreeSet::from_iter(allowed.split(',').map(str::trim)) == expected
    })
}

const OF_COLLECTIONS: &str = "OPTIONS PROPFIND PROPPATCH";
const OF_THE_BOOK: &str = "OPTIONS PROPFIND PROPPATCH REPORT";
const OF_CONTACTS: &str = "OPTIONS GET HEAD PUT DELETE PROPFIND PROPPATCH";

pub async fn a_wrong_method_is_told_the_right_ones(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let contact = path("a.vcf");
    let wrong = is_problem(405, "this path does not support that method");
    for (methods, path, allowed) in [
        ("GET HEAD", "/", OF_COLLECTIONS),
        ("MKCOL", "/addressbooks/ada/", OF_COLLECTIONS),
        ("REPORT", "/principals/ada/", OF_COLLECTIONS),
        ("DELETE POST MKCOL", BOOK, OF_THE_BOOK),
        ("MOVE COPY LOCK REPORT", &contact, OF_CONTACTS),
    ] {
        for name in methods.split(' ') {
            let answer = ada.client.send(method(name), path).await?;
            match name {
                // The answer to a HEAD has no body to check.
                "HEAD" => expect_allowed(answer.expect_status(405)?, allowed)?,
                _ => expect_allowed(wrong(&answer)?, allowed)?,
            };
        }
    }
    let health = context.client.post("/health").await?;
    expect_allowed(wrong(&health)?, "GET HEAD")?;
    Ok(())
}

pub async fn options_tell_what_the_service_can(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let contact = path("a.vcf");
    for (path, methods) in [
        ("/", OF_COLLECTIONS),
        ("/principals/ada", OF_COLLECTIONS),
        (BOOK, OF_THE_BOOK),
        (&contact, OF_CONTACTS),
    ] {
        let answer = ada.client.send(Method::OPTIONS, path).await?;
        expect_allowed(answer.expect_status(204)?, methods)?.expect_header_that(
            "DAV",
            "1, 3, addressbook",
            |classes| {
                let classes: Vec<&str> = classes.split(',').map(str::trim).collect();
                ["1", "3", "addressbook"]
                    .iter()
                    .all(|class| classes.contains(class))
            },
        )?;
    }
    Ok(())
}

pub async fn a_client_finds_its_address_book(context: &Context) -> TestResult {
    let client = context.client.without_key();
    for path in ["/.well-known/carddav", "/.well-known/carddav/"] {
        for method in [Method::GET, method("PROPFIND")] {
            let moved = client.send(method, path).await?;
            moved.expect_status(301)?.expect_header("Location", "/")?;
        }
    }
    let ada = AddressBook::of(&context.client);
    let principal = ada.property("/", "D:current-user-principal").await?;
    expect_eq("the principal", &*principal, "/principals/ada/")?;
    // Clients assemble paths, and end up with a slash too many or too few.
    for same in ["//", "/principals/ada", "//principals//ada//"] {
        let found = ada.property(same, "D:current-user-principal").await?;
        expect_eq(&format!("the principal, at {same}"), &*found, &*principal)?;
    }
    let home = ada.property(&principal, "C:addressbook-home-set").await?;
    expect_eq("the home", &*home, "/addressbooks/ada/")?;
    // A collection is found without the slash at its end, too.
    for home in [&*home, home.trim_end_matches('/')] {
        let asked = "D:resourcetype D:displayname";
        let found = ada.properties(home, "1", asked).await?;
        let is_book = |response: &&Response| {
            let kind = response.expect_elements("D:resourcetype", "C:addressbook");
            kind.is_ok()
        };
        let books = found.responses.iter().filter(is_book);
        let books: Vec<&str> = books.map(|book| &*book.path).collect();
        expect_eq("the address books", books, [BOOK])?;
    }
    Ok(())
}

pub async fn a_propfind_needs_a_finite_depth(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    for path in ["/", "/principals/ada/", "/addressbooks/ada/", BOOK] {
        for depth in [Some("infinity"), Some("Infinity"), None] {
            let client = ada.client.with("Depth", depth);
            let answer = client.send(method("PROPFIND"), path).await?;
            expect_rule(&answer, 403, "D:propfind-finite-depth")?;
        }
        ada.propfind(path, "2", None).await?.expect_status(400)?;
    }
    // There is nothing below a contact, so infinity ends there.
    ada.keep("deep.vcf", &card("deep", "Deep")).await?;
    for depth in [Some("infinity"), None] {
        let client = ada.client.with("Depth", depth);
        let answer = client.send(method("PROPFIND"), &path("deep.vcf")).await?;
        Multistatus::of(&answer)?.contact("deep.vcf")?;
    }
    Ok(())
}

pub async fn a_property_cannot_be_changed(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let color = r#"<D:prop><D:displayname>Mine</D:displayname><x:color xmlns:x="urn:example:x">red</x:color></D:prop>"#;
    let update = format!("<D:set>{color}</D:set><D:remove>{color}</D:remove>");
    let update = document("D:propertyupdate", &update);
    for path in [BOOK, "/principals/ada/"] {
        let body = Some(Body::new("application/xml", &update));
        let answer = ada.send_xml("PROPPATCH", path, "0", body).await?;
        let answer = Multistatus::of(&answer)?;
        answer
            .at(path)?
            .expect_missing("D:displayname urn:example:x:color")?;
    }
    let name = ada.property(BOOK, "D:displayname").await?;
    expect(name != "Mine", "the name that it had", name)
}

/// The properties of everything, of a principal, of a book, and of a contact.
const OF_ALL: &str = "D:resourcetype D:current-user-principal";
const OF_A_PRINCIPAL: &str = "D:displayname D:principal-URL C:addressbook-home-set";
const OF_A_BOOK: &str = "D:displayname D:owner D:current-user-privilege-set D:supported-report-set \
     D:sync-token C:supported-address-data C:supported-collation-set C:max-resource-size S:getctag";
const OF_A_CONTACT: &str =
    "D:getetag D:getcontenttype D:getcontentlength D:getlastmodified D:owner";

pub async fn a_propfind_answers_what_it_asks_for(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let text = card("propfind", "Asked For");
    let tag = ada.keep("propfind.vcf", &text).await?;
    moved_by(context, "propfind.vcf", "-1 hour").await?;

    let asked = "D:sync-token S:getctag C:max-resource-size D:getetag";
    let book = ada.properties(BOOK, "0", asked).await?;
    let paths: Vec<&str> = book.paths().collect();
    expect_eq("with depth 0", paths, [BOOK])?;
    let book = book.at(BOOK)?;
    book.expect_text("S:getctag", book.text("D:sync-token")?)?
        .expect_text("C:max-resource-size", "1048576")?
        .expect_missing("D:getetag")?;

    let asked = format!("{OF_A_CONTACT} D:resourcetype D:displayname");
    let all = ada.properties(BOOK, "1", &asked).await?;
    all.at(BOOK)?;
    let contact = all.contact("propfind.vcf")?;
    contact
        .expect_text("D:getetag", &tag)?
        .expect_text("D:getcontentlength", &text.len().to_string())?
        .expect_missing("D:displayname")?;
    contact.text("D:getlastmodified")?;
    contact.text("D:resourcetype")?;
    let kind = contact.text("D:getcontenttype")?;
    expect(
        kind.starts_with("text/vcard"),
        "getcontenttype text/vcard",
        kind,
    )?;

    // Unknown properties, in a namespace of their own and in none.
    let unknown =
        r#"<D:prop><x:color xmlns:x="urn:example:x"/><plain xmlns=""/><D:nonsense/></D:prop>"#;
    let (path, unknown) = (path("propfind.vcf"), document("D:propfind", unknown));
    let answer = Multistatus::of(&ada.propfind(&path, "0", Some(&unknown)).await?)?;
    let contact = answer.at(&path)?;
    contact.expect_missing("urn:example:x:color :plain D:nonsense")?;
    Ok(())
}

pub async fn all_properties_can_be_asked_for(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    ada.keep("allprop.vcf", &card("allprop", "All Properties"))
        .await?;
    moved_by(context, "allprop.vcf", "-1 hour").await?;
    let all = document("D:propfind", "<D:allprop/>");
    let names = document("D:propfind", "<D:propname/>");
    let contact = path("allprop.vcf");
    for (path, special) in [
        ("/principals/ada/", OF_A_PRINCIPAL),
        (BOOK, OF_A_BOOK),
        (&contact, OF_A_CONTACT),
    ] {
        for (body, with_values) in [(None, true), (Some(&all), true), (Some(&names), false)] {
            let kind = if with_values { "value" } else { "name" };
            let body = body.map(String::as_str);
            let answer = Multistatus::of(&ada.propfind(path, "0", body).await?)?;
            let response = answer.at(path)?;
            for name in OF_ALL.split(' ').chain(special.split(' ')) {
                let found = response.found.get(name);
                let told = found.is_some_and(|found| {
                    let has_value = !found.text.is_empty() || !found.elements.is_empty();
                    name == "D:resourcetype" || has_value == with_values
                });
                let expected = format!("the {kind} of {name} of {path}");
                expect(told, expected, format!("{found:?}"))?;
            }
            let data = response.found.get("C:address-data").map(|data| &*data.text);
            expect_none("no address-data, which is asked for by name", data)?;
        }
    }
    let book = Multistatus::of(&ada.propfind(BOOK, "0", None).await?)?;
    let privileges = "D:read D:write D:bind D:unbind";
    let reports = "C:addressbook-multiget C:addressbook-query D:sync-collection";
    book.at(BOOK)?
        .expect_elements("D:current-user-privilege-set", privileges)?
        .expect_elements("D:supported-report-set", reports)?;
    Ok(())
}
