//! Tests: how a client finds its address book, and who may.

use std::collections::BTreeSet;

use reqwest::Method;

use crate::cards::card;
use crate::client::{AddressBook, BOOK, element, etag, known_as, method, path};
use crate::multistatus::{CALENDAR_SERVER, CARDDAV, DAV, Multistatus, expect_rule};
use workshop_harness::contract::{Answer, Context, Failure, TestResult, expect, is_problem};

pub async fn health_and_ready_need_no_password(context: &Context) -> TestResult {
    let client = context.client.without_key();
    for (path, body) in [
        ("/health", r#"{"status":"ok"}"#),
        ("/ready", r#"{"status":"ready"}"#),
    ] {
        let answer = client.get(path).await?;
        let text = answer.text();
        answer.expect_status(200)?.expect(
            text == body,
            format!("body {body}"),
            format!("body {text}"),
        )?;
    }
    Ok(())
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
    let clients = wrong.map(|credentials| known_as(&nobody, credentials));
    let bearer = nobody.with("Authorization", Some("Bearer ada:secret"));
    let paths = [
        "/",
        "/principals/ada/",
        BOOK,
        "/nothing-here",
        "/addressbooks/grace/contacts/a b",
    ];
    for client in clients.iter().chain([&nobody, &bearer]) {
        for path in paths {
            let answer = client
                .send(method("PROPFIND"), &path.replace(' ', "%20"))
                .await?;
            is_problem(401, "a name and its password are required")(&answer)?;
            let challenge = answer.header("WWW-Authenticate").unwrap_or_default();
            answer.expect(
                challenge.starts_with("Basic ") && challenge.contains(r#"realm="contacts""#),
                r#"WWW-Authenticate: Basic realm="contacts", charset="UTF-8""#,
                format!("WWW-Authenticate: {challenge}"),
            )?;
        }
    }
    // Names of schemes are the same in capitals.
    let in_capitals = nobody.with("Authorization", Some("BASIC YWRhOnNlY3JldA=="));
    in_capitals
        .send(Method::OPTIONS, "/")
        .await?
        .expect_status(204)?;
    Ok(())
}

pub async fn the_paths_of_another_user_are_forbidden(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let forbidden = is_problem(403, "this belongs to another user");
    let paths = [
        "/principals/grace/",
        "/addressbooks/grace/",
        "/addressbooks/grace/contacts/",
        "/addressbooks/grace/contacts/hers.vcf",
        "/addressbooks/nobody/",
        "/addressbooks/gr%61ce/contacts/",
    ];
    for path in paths {
        for method in [method("PROPFIND"), Method::PUT, Method::GET, Method::DELETE] {
            forbidden(&ada.client.send(method, path).await?)?;
        }
    }
    let graces = known_as(&context.client, "grace:secret2");
    let graces = AddressBook { client: graces };
    forbidden(&graces.get("ada.vcf").await?)?;
    let own = graces
        .propfind("/addressbooks/grace/contacts/", "1", None)
        .await?;
    let own = Multistatus::of(&own)?;
    let of_ada = own.paths().find(|path| path.contains("ada"));
    let got = format!("{:?}", own.paths().collect::<Vec<_>>());
    expect(
        of_ada.is_none(),
        "Grace's book without contacts of Ada",
        got,
    )
}

pub async fn a_path_that_is_not_there_answers_404(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let nothing = is_problem(404, "there is nothing at this path");
    let paths = [
        "/nothing-here",
        "/addressbooks/ada/others/",
        "/principals/",
        "/addressbooks/",
    ];
    for path in paths {
        nothing(&ada.propfind(path, "0", None).await?)?;
    }
    let no_contact = is_problem(404, "there is no contact with this name");
    no_contact(&ada.get("never-was.vcf").await?)?;
    no_contact(&ada.delete("never-was.vcf").await?)?;
    no_contact(&ada.propfind(&path("never-was.vcf"), "0", None).await?)?;
    Ok(())
}

/// The methods in a header `Allow`.
fn allowed(answer: &Answer) -> BTreeSet<String> {
    let header = answer.header("Allow").unwrap_or_default();
    header
        .split(',')
        .map(|method| method.trim().to_owned())
        .collect()
}

fn expect_allowed(answer: &Answer, methods: &str) -> Result<(), Failure> {
    let expected: BTreeSet<String> = methods.split(' ').map(str::to_owned).collect();
    let got = allowed(answer);
    answer.expect(
        got == expected,
        format!("Allow: {expected:?}"),
        format!("Allow: {got:?}"),
    )?;
    Ok(())
}

const OF_COLLECTIONS: &str = "OPTIONS PROPFIND";
const OF_THE_BOOK: &str = "OPTIONS PROPFIND REPORT";
const OF_CONTACTS: &str = "OPTIONS GET HEAD PUT DELETE PROPFIND";

pub async fn a_wrong_method_is_told_the_right_ones(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let contact = path("a.vcf");
    let cases = [
        (Method::GET, "/", OF_COLLECTIONS),
        (method("MKCOL"), "/addressbooks/ada/", OF_COLLECTIONS),
        (method("REPORT"), "/principals/ada/", OF_COLLECTIONS),
        (Method::DELETE, BOOK, OF_THE_BOOK),
        (Method::POST, BOOK, OF_THE_BOOK),
        (method("PROPPATCH"), BOOK, OF_THE_BOOK),
        (method("MOVE"), &contact, OF_CONTACTS),
        (method("COPY"), &contact, OF_CONTACTS),
        (method("LOCK"), &contact, OF_CONTACTS),
        (method("REPORT"), &contact, OF_CONTACTS),
    ];
    let wrong = is_problem(405, "this path does not support that method");
    for (method, path, methods) in cases {
        let answer = ada.client.send(method, path).await?;
        expect_allowed(wrong(&answer)?, methods)?;
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
        answer.expect_status(204)?;
        expect_allowed(&answer, methods)?;
        let header = answer.header("DAV").unwrap_or_default();
        let classes: Vec<&str> = header.split(',').map(str::trim).collect();
        answer.expect(
            ["1", "3", "addressbook"]
                .iter()
                .all(|class| classes.contains(class)),
            "DAV: 1, 3, addressbook",
            format!("DAV: {header}"),
        )?;
    }
    Ok(())
}

pub async fn a_client_finds_its_address_book(context: &Context) -> TestResult {
    for method in [Method::GET, method("PROPFIND")] {
        let client = context.client.without_key();
        let moved = client.send(method, "/.well-known/carddav").await?;
        moved.expect_status(301)?.expect_header("Location", "/")?;
    }
    let ada = AddressBook::of(&context.client);
    let one = async |path: &str, name: &str, namespace: &str| {
        let prefix = if namespace == DAV { "D" } else { "C" };
        let asked = format!("{prefix}:{name}");
        let answer = ada.properties(path, "0", &[&asked]).await?;
        let response = answer.responses.into_iter().next().unwrap_or_default();
        let property = response.property(namespace, name)?;
        Ok::<String, Failure>(property.text.trim().to_owned())
    };
    let principal = one("/", "current-user-principal", DAV).await?;
    expect(
        principal == "/principals/ada/",
        "the principal /principals/ada/",
        &*principal,
    )?;
    let home = one(&principal, "addressbook-home-set", CARDDAV).await?;
    expect(
        home == "/addressbooks/ada/",
        "the home /addressbooks/ada/",
        &*home,
    )?;
    // A collection is found without the slash at its end, too.
    for home in [&*home, home.trim_end_matches('/')] {
        let books = ada
            .properties(home, "1", &["D:resourcetype", "D:displayname"])
            .await?;
        let of_type = |response: &&crate::multistatus::Response| {
            let kind = response.property(DAV, "resourcetype");
            kind.is_ok_and(|kind| kind.elements.iter().any(|name| name == "addressbook"))
        };
        let books: Vec<&str> = books
            .responses
            .iter()
            .filter(of_type)
            .map(|book| &*book.path)
            .collect();
        expect(
            books == [BOOK],
            format!("one address book, {BOOK}"),
            format!("{books:?}"),
        )?;
    }
    Ok(())
}

pub async fn a_propfind_needs_a_finite_depth(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    for path in ["/", "/principals/ada/", "/addressbooks/ada/", BOOK] {
        for depth in [Some("infinity"), Some("Infinity"), None] {
            let client = ada.client.with("Depth", depth);
            let answer = client.send(method("PROPFIND"), path).await?;
            expect_rule(&answer, 403, DAV, "propfind-finite-depth")?;
        }
        ada.propfind(path, "2", None).await?.expect_status(400)?;
    }
    Ok(())
}

pub async fn a_propfind_answers_what_it_asks_for(context: &Context) -> TestResult {
    let ada = AddressBook::of(&context.client);
    let text = card("propfind", "Asked For");
    let tag = ada.keep("propfind.vcf", &text).await?;

    let book = ada
        .properties(
            BOOK,
            "0",
            &[
                "D:sync-token",
                "S:getctag",
                "C:max-resource-size",
                "D:getetag",
            ],
        )
        .await?;
    let paths: Vec<&str> = book.paths().collect();
    expect(
        paths == [BOOK],
        format!("with depth 0, {BOOK} alone"),
        format!("{paths:?}"),
    )?;
    let book = book.at(BOOK)?;
    let token = &book.property(DAV, "sync-token")?.text;
    let ctag = &book.property(CALENDAR_SERVER, "getctag")?.text;
    expect(token == ctag, format!("the getctag {token}"), &**ctag)?;
    let size = &book.property(CARDDAV, "max-resource-size")?.text;
    expect(size == "102400", "max-resource-size 102400", &**size)?;
    expect(
        book.lacks(DAV, "getetag"),
        "404 for the getetag of a book",
        "another status",
    )?;

    let asked = [
        "D:getetag",
        "D:getcontenttype",
        "D:getcontentlength",
        "D:getlastmodified",
        "D:resourcetype",
        "D:displayname",
    ];
    let all = ada.properties(BOOK, "1", &asked).await?;
    all.at(BOOK)?;
    let contact = all.at(&path("propfind.vcf"))?;
    let value = |name| {
        contact
            .property(DAV, name)
            .map(|property| property.text.clone())
    };
    expect(
        value("getetag")? == tag,
        format!("getetag {tag}"),
        value("getetag")?,
    )?;
    let length = text.len().to_string();
    expect(
        value("getcontentlength")? == length,
        format!("getcontentlength {length}"),
        value("getcontentlength")?,
    )?;
    let kind = value("getcontenttype")?;
    expect(
        kind.starts_with("text/vcard"),
        "getcontenttype text/vcard",
        kind,
    )?;
    value("getlastmodified")?;
    value("resourcetype")?;
    expect(
        contact.lacks(DAV, "displayname"),
        "404 for the displayname of a contact",
        "another status",
    )?;

    // What nobody has ever heard of, in a namespace of its own and in none.
    let unknown = element(
        "propfind",
        r#"<D:prop><x:color xmlns:x="urn:example:x"/><plain xmlns=""/><D:nonsense/></D:prop>"#,
    );
    let answer = ada
        .propfind(&path("propfind.vcf"), "0", Some(&unknown))
        .await?;
    let answer = Multistatus::of(&answer)?;
    let contact = answer.at(&path("propfind.vcf"))?;
    for (namespace, name) in [("urn:example:x", "color"), ("", "plain"), (DAV, "nonsense")] {
        expect(
            contact.lacks(namespace, name),
            format!("404 for {name}"),
            format!("{contact:?}"),
        )?;
    }
    Ok(())
}

pub async fn all_properties_can_be_asked_for(context: &Context) -> TestResult {
    const OF_ALL: [&str; 2] = ["resourcetype", "current-user-principal"];
    const OF_A_PRINCIPAL: [&str; 3] = ["displayname", "principal-URL", "addressbook-home-set"];
    const OF_A_BOOK: [&str; 8] = [
        "displayname",
        "owner",
        "current-user-privilege-set",
        "supported-report-set",
        "sync-token",
        "supported-address-data",
        "max-resource-size",
        "getctag",
    ];
    const OF_A_CONTACT: [&str; 5] = [
        "getetag",
        "getcontenttype",
        "getcontentlength",
        "getlastmodified",
        "owner",
    ];
    let ada = AddressBook::of(&context.client);
    let put = ada
        .put("allprop.vcf", &card("allprop", "All Properties"))
        .await?;
    etag(&put)?;
    let all = element("propfind", "<D:allprop/>");
    let names = element("propfind", "<D:propname/>");
    let contact = path("allprop.vcf");
    let cases: [(&str, &[&str]); 3] = [
        ("/principals/ada/", &OF_A_PRINCIPAL),
        (BOOK, &OF_A_BOOK),
        (&contact, &OF_A_CONTACT),
    ];
    for (path, special) in cases {
        for (body, with_values) in [(None, true), (Some(&*all), true), (Some(&*names), false)] {
            let answer = Multistatus::of(&ada.propfind(path, "0", body).await?)?;
            let response = answer.at(path)?;
            for name in OF_ALL.iter().chain(special) {
                let found = response.found.iter().find(|found| found.name == *name);
                let told = found.is_some_and(|found| {
                    let empty = found.text.is_empty() && found.elements.is_empty();
                    *name == "resourcetype" || empty != with_values
                });
                let kind = if with_values { "value" } else { "name" };
                expect(
                    told,
                    format!("the {kind} of {name} of {path}"),
                    format!("{found:?}"),
                )?;
            }
            let data = response
                .found
                .iter()
                .any(|found| found.name == "address-data");
            expect(
                !data,
                "no address-data, which is asked for by name",
                "address-data",
            )?;
        }
    }
    let book = Multistatus::of(&ada.propfind(BOOK, "0", None).await?)?;
    let privileges = &book
        .at(BOOK)?
        .property(DAV, "current-user-privilege-set")?
        .elements;
    for privilege in ["read", "write", "bind", "unbind"] {
        let has = privileges.iter().any(|name| name == privilege);
        expect(
            has,
            format!("the privilege {privilege}"),
            format!("{privileges:?}"),
        )?;
    }
    let reports = &book
        .at(BOOK)?
        .property(DAV, "supported-report-set")?
        .elements;
    for report in [
        "addressbook-multiget",
        "addressbook-query",
        "sync-collection",
    ] {
        let has = reports.iter().any(|name| name == report);
        expect(has, format!("the report {report}"), format!("{reports:?}"))?;
    }
    Ok(())
}
