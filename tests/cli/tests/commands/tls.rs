//! TLS between a service and its database: the port speaks it when it is built with its feature, the Kotlin service always does.
//! Both trust the certificate that they are told to trust, and no other.

#![allow(clippy::expect_used, clippy::unwrap_used)]

mod server;

use std::fs;
use std::path::Path;

use server::{Certificate, speak_tls};

use crate::checkout::{Checkout, eventually};
use workshop_base::exercise::Catalogue;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, Launch, Profile};
use workshop_harness::copies::Copy;
use workshop_harness::http::Client;
use workshop_harness::service::{NoStart, Service, Settings, StartError};
use workshop_postgres::datasets::RunDatabase;

/// Switches the port's feature on.
const BUILT_WITH_TLS: &str = include_str!("tls/tls.patch");

#[tokio::test]
async fn the_port_built_with_tls_trusts_the_certificate_that_it_is_told_to_trust() {
    let workspace = Workspace::find().unwrap();
    let catalogue = Catalogue::read(&workspace).unwrap();
    // The pool that sqlx brings, and the one that the course makes.
    for number in [8, 11] {
        let solution = catalogue.get(number).unwrap().solution(&workspace);
        let package = format!("solution-{number}-with-tls");
        let copy = Copy::patched(&workspace, &solution, &package, BUILT_WITH_TLS);
        let copy = copy.await.unwrap();
        let built = build::cargo(&workspace, copy.krate(), Profile::Check).await;
        let launch = built.unwrap_or_else(|error| panic!("{package}: {error}"));
        trusts_what_it_is_told_to_trust(&workspace, &launch).await;
    }
}

#[tokio::test]
async fn the_kotlin_service_trusts_the_certificate_that_it_is_told_to_trust() {
    let workspace = Workspace::find().unwrap();
    let built = build::build(&workspace, Target::Kotlin, Profile::Check).await;
    let launch = built.unwrap_or_else(|error| panic!("kotlin: {error}"));
    trusts_what_it_is_told_to_trust(&workspace, &launch).await;
}

#[tokio::test]
async fn the_port_built_without_tls_refuses_a_url_that_asks_for_it_and_says_how_to_build_it() {
    let workspace = Workspace::find().unwrap();
    for number in [8, 11, 12, 13, 22] {
        let built = build::build(&workspace, Target::Solution(number), Profile::Check).await;
        let launch = built.unwrap_or_else(|error| panic!("solution-{number}: {error}"));
        let settings = Settings::new("postgres://nobody@127.0.0.1:1/none?sslmode=require");
        let refused = Service::start(&workspace, &launch, &settings).await;
        let error = refused.expect_err("it starts without TLS");
        let error = error.downcast_ref::<StartError>().unwrap();
        assert!(
            matches!(&error.why, NoStart::Exited(how) if how == "exit code 1"),
            "{error}"
        );
        assert!(error.log.contains("--features tls"), "{}", error.log);
    }
}

/// A service with a database that speaks TLS: with its certificate, with another one, and without TLS.
async fn trusts_what_it_is_told_to_trust(workspace: &Workspace, launch: &Launch) {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    let folder = checkout.workspace.root();
    let its_own = speak_tls(&server, &folder.join("its-own"))
        .await
        .unwrap()
        .file;
    let another = Certificate::make("127.0.0.1", &folder.join("another"));
    let another = another.unwrap().file;
    let database = RunDatabase::create(&server);
    let database = database.await.unwrap();
    let verified = |certificate: &Path| {
        let certificate = certificate.display();
        format!(
            "{}?sslmode=verify-full&sslrootcert={certificate}",
            database.url()
        )
    };
    let url = verified(&its_own);
    assert_eq!(
        reads(workspace, launch, &url, &database).await,
        [true],
        "{}",
        launch.label
    );
    let url = format!("{}?sslmode=disable", database.url());
    assert_eq!(
        reads(workspace, launch, &url, &database).await,
        [false],
        "{}",
        launch.label
    );

    let settings = Settings::new(verified(&another));
    let service = Service::start(workspace, launch, &settings).await.unwrap();
    eventually("a log line about the certificate", async || {
        let log = fs::read_to_string(service.log()).ok()?.to_lowercase();
        (log.contains("certificate") || log.contains("certification")).then_some(())
    })
    .await;
    let client = Client::new(service.base_url(), Some("valid_key")).unwrap();
    let ready = client.get("/ready").await.unwrap();
    assert_eq!(
        ready.status(),
        503,
        "{}: it trusts another certificate",
        launch.label
    );
    service.stop().await;
}

/// Reads a record with a service, and asks the database which of the service's connections speak TLS.
async fn reads(
    workspace: &Workspace,
    launch: &Launch,
    url: &str,
    database: &RunDatabase,
) -> Vec<bool> {
    let service = Service::start(workspace, launch, &Settings::new(url)).await;
    let service = service.unwrap_or_else(|error| panic!("{error}"));
    let client = Client::new(service.base_url(), Some("valid_key")).unwrap();
    eventually("the service's readiness", async || {
        (client.get("/ready").await.ok()?.status() == 200).then_some(())
    })
    .await;
    assert_eq!(client.get("/read/1").await.unwrap().status(), 200);
    let mut connection = database.connect().await.unwrap();
    let speaks = sqlx::query_scalar(
        "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
         WHERE datname = current_database() AND pid <> pg_backend_pid()",
    );
    let speaks = speaks.fetch_all(&mut connection).await.unwrap();
    service.stop().await;
    speaks
}
