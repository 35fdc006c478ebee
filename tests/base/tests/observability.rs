//! What `exercises/observability` starts fits the services: its variables, its metrics, its issuer. No engine is needed to see that.

#![expect(
    clippy::expect_used,
    reason = "the helpers of a test may fail as the test itself may"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.ancestors().nth(2).expect("the checkout").into()
}

fn read(file: &str) -> String {
    fs::read_to_string(root().join("exercises/observability").join(file)).expect("a file")
}

/// What `service.env` tells a service.
fn variables() -> BTreeMap<String, String> {
    let file = read("service.env");
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

/// The sources below a folder, as one text.
fn sources(folder: &str) -> String {
    let files = walkdir::WalkDir::new(root().join(folder))
        .into_iter()
        .flatten();
    let files = files.filter(|file| {
        let name = file.path().extension();
        name.is_some_and(|name| name == "rs" || name == "kt")
    });
    files
        .map(|file| fs::read_to_string(file.path()).expect("a source"))
        .collect()
}

/// The string after each `"name":` of a JSON text.
fn members<'a>(json: &'a str, name: &str) -> Vec<&'a str> {
    let before = format!("\"{name}\": \"");
    let parts = json.split(&before).skip(1);
    parts.filter_map(|part| part.split('"').next()).collect()
}

#[test]
fn every_variable_is_one_that_the_services_read() {
    let rust =
        sources("solutions/21-seen-from-outside/src") + &sources("solutions/22-who-is-asking/src");
    let kotlin = sources("exercises/kotlin-service/src/main");
    for name in variables().into_keys() {
        let quoted = format!("\"{name}\"");
        assert!(rust.contains(&quoted), "{name}: no Rust service reads it");
        // The rest of OpenTelemetry's own, its SDK reads.
        let property = name.to_lowercase().replace('_', ".");
        let known = kotlin.contains(&quoted) || kotlin.contains(&format!("\"{property}\""));
        assert!(known, "{name}: the Kotlin service doesn't read it");
    }
}

#[test]
fn every_metric_of_the_dashboard_is_one_that_the_services_have() {
    // Labels are compared with texts, in quotes of their own.
    let dashboard = read("grafana/dashboards/records.json").replace("\\\"", "'");
    let suite = fs::read_to_string(root().join("tests/suites/src/seen_from_outside.rs"));
    // Prometheus has underscores for the dots, and the unit and `total` behind the name.
    let known = suite.expect("the suite") + &sources("solutions/21-seen-from-outside/src");
    let known = known.replace('.', "_");
    let mut judged = 0;
    for expression in members(&dashboard, "expr") {
        let words =
            expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let metrics = words.filter(|word| {
            ["http_server_", "db_client_", "otel_sdk_"]
                .iter()
                .any(|start| word.starts_with(start))
        });
        // Labels have such names, too.
        for metric in metrics.filter(|word| !word.ends_with("_state")) {
            let name = ["_seconds_bucket", "_seconds_count", "_total"]
                .iter()
                .find_map(|end| metric.strip_suffix(end))
                .unwrap_or(metric);
            assert!(
                known.contains(name),
                "{metric}: neither the suite nor the reference knows it"
            );
            judged += 1;
        }
    }
    assert!(judged > 10, "the panels are not read any more");
}

#[test]
fn realm_and_settings_agree() {
    let (variables, realm, compose) = (
        variables(),
        read("keycloak/records-realm.json"),
        read("compose.yaml"),
    );
    let name = members(&realm, "realm");
    let host = compose
        .split("KC_HOSTNAME: ")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    let issuer = format!(
        "{}/realms/{}",
        host.expect("a host"),
        name.first().expect("a realm")
    );
    assert_eq!(variables["TOKEN_ISSUER"], issuer);
    assert_eq!(
        variables["JWKS_URL"],
        format!("{issuer}/protocol/openid-connect/certs")
    );
    assert!(read("token.sh").contains(&format!("{issuer}/protocol/openid-connect/token")));
    assert_eq!(
        members(&realm, "included.custom.audience"),
        [&variables["TOKEN_AUDIENCE"]]
    );
    // Without it, Keycloak's tokens say that they are a JWT, and may be an ID token.
    assert_eq!(
        members(&realm, "access.token.header.type.rfc9068"),
        ["true"]
    );
    for scope in ["records:read", "records:write"] {
        assert!(members(&realm, "name").contains(&scope), "{scope}");
        assert!(
            sources("solutions/22-who-is-asking/src").contains(scope),
            "{scope}"
        );
    }
}

#[test]
fn every_image_is_pinned_and_every_port_is_on_the_loopback_address() {
    let compose = read("compose.yaml");
    let lines = || compose.lines().map(str::trim);
    let images: Vec<&str> = lines()
        .filter_map(|line| line.strip_prefix("image: "))
        .collect();
    assert_eq!(images.len(), 5);
    for image in images {
        let version = image
            .rsplit_once(':')
            .map(|(_, version)| version.trim_start_matches('v'));
        let parts = version.map(|version| {
            version
                .split('.')
                .filter(|part| part.parse::<u32>().is_ok())
                .count()
        });
        assert_eq!(parts, Some(3), "{image}: say a whole version");
    }
    for ports in lines().filter_map(|line| line.strip_prefix("ports: ")) {
        assert!(ports.starts_with("[\"127.0.0.1:"), "{ports}");
    }
    // The one that the service is told.
    let (collector, port) = (
        &variables()["OTEL_EXPORTER_OTLP_ENDPOINT"],
        "127.0.0.1:4318",
    );
    assert!(collector.ends_with(port) && compose.contains(port));
}
