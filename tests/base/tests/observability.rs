//! What `exercises/observability` starts fits the services: its variables, its metrics, its issuer. No engine is needed to see that.

#![expect(
    clippy::expect_used,
    reason = "the helpers of a test may fail as the test itself may"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

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
        sources("solutions/15-seen-from-outside/src") + &sources("solutions/16-who-is-asking/src");
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
    let known = suite.expect("the suite") + &sources("solutions/15-seen-from-outside/src");
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
            sources("solutions/16-who-is-asking/src").contains(scope),
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

/// A file as its tool reads it: YAML that is no YAML, or has a key twice, is an error.
fn tree(file: &str) -> Value {
    let text = read(file);
    match file.ends_with(".json") {
        true => serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}")),
        false => {
            // Not at once into JSON, whose objects take the last of two.
            let yaml: yaml_serde::Value =
                yaml_serde::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
            serde_json::to_value(yaml).expect("keys that are texts")
        }
    }
}

/// The texts of a list, or the names in an object.
fn names(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        Value::Object(members) => members.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn compose_starts_with_files_that_are_there_and_services_that_it_has() {
    let compose = tree("compose.yaml");
    let services = compose["services"].as_object().expect("services");
    let folder = root().join("exercises/observability");
    for (name, service) in services {
        for volume in names(&service["volumes"]) {
            let (here, there) = volume.split_once(':').expect("two paths");
            assert!(folder.join(here).exists(), "{name}: there is no {here}");
            assert!(there.ends_with(":ro"), "{name} may write to {here}");
            // What a service is told to read has been put where it reads it.
            let inside = there.trim_end_matches(":ro");
            let told = names(&service["command"]).join(" ");
            let says_a_file = told.contains("config") && here.ends_with(".yaml");
            assert!(!says_a_file || told.contains(inside), "{name}: {told}");
        }
        for needed in names(&service["depends_on"]) {
            assert!(services.contains_key(needed), "{name} needs {needed}");
        }
    }
    // Inside, services are known by their names, and outside by the loopback address.
    let files = [
        "collector.yaml",
        "grafana/provisioning/datasources/all.yaml",
        "README.md",
        "token.sh",
        "service.env",
    ];
    let published: Vec<String> = services
        .values()
        .flat_map(|service| names(&service["ports"]))
        .filter_map(|port| port.rsplit_once(':').map(|(outside, _)| outside.to_owned()))
        .collect();
    for file in files {
        let text = read(file);
        for url in text.split("http://").skip(1) {
            let end = url.find(['/', ' ', '\n', '"', '`']).unwrap_or(url.len());
            let host = &url[..end];
            let name = host.split(':').next().unwrap_or_default();
            // The service itself.
            let is_known = services.contains_key(name)
                || published.iter().any(|address| address == host)
                || host == "127.0.0.1:8080";
            assert!(is_known, "{file}: nothing here is at {host}");
        }
    }
}

#[test]
fn the_collectors_pipelines_are_made_of_parts_that_it_has() {
    let collector = tree("collector.yaml");
    let pipelines = collector["service"]["pipelines"].as_object();
    for (name, pipeline) in pipelines.expect("pipelines") {
        for kind in ["receivers", "processors", "exporters"] {
            let used = names(&pipeline[kind]);
            assert!(!used.is_empty(), "{name} has no {kind}");
            let defined = names(&collector[kind]);
            for part in used {
                assert!(defined.contains(&part), "{name}: {kind} has no {part}");
            }
        }
    }
    // Where it takes spans, its container's port leads.
    let endpoint = &collector["receivers"]["otlp"]["protocols"]["http"]["endpoint"];
    let port = endpoint.as_str().and_then(|it| it.rsplit_once(':'));
    let (_, port) = port.expect("an address with a port");
    let compose = tree("compose.yaml");
    let ports = names(&compose["services"]["collector"]["ports"]).join(" ");
    assert!(ports.ends_with(port), "{ports}");
}

#[test]
fn what_the_dashboard_draws_comes_from_sources_that_grafana_has() {
    let sources = tree("grafana/provisioning/datasources/all.yaml");
    let sources = sources["datasources"].as_array().expect("a list").clone();
    let uids: Vec<&str> = sources.iter().filter_map(|it| it["uid"].as_str()).collect();
    let dashboard = tree("grafana/dashboards/records.json");
    let panels = dashboard["panels"].as_array().expect("panels");
    for panel in panels {
        let uid = panel["datasource"]["uid"].as_str().unwrap_or_default();
        assert!(uids.contains(&uid), "{}: {uid:?}", panel["title"]);
    }
    // The folder that its provider reads is the one that compose puts the dashboards into.
    let providers = tree("grafana/provisioning/dashboards/all.yaml");
    let folder = providers["providers"][0]["options"]["path"].as_str();
    let compose = read("compose.yaml");
    let mounted = format!("./grafana/dashboards:{}:ro", folder.expect("a folder"));
    assert!(compose.contains(&mounted), "{mounted}");
    for file in ["prometheus.yaml", "tempo.yaml"] {
        assert!(tree(file).is_object(), "{file}");
    }
}

#[test]
fn the_partner_gets_a_token_by_what_the_realm_knows_of_it() {
    let realm = tree("keycloak/records-realm.json");
    let client = &realm["clients"][0];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let login = format!("{}:{}", text(&client["clientId"]), text(&client["secret"]));
    assert!(
        read("token.sh").contains(&format!("--user {login} ")),
        "{login}"
    );
    // A scope that isn't the client's is left out of its tokens, without a word.
    let scopes = names(&client["optionalClientScopes"]);
    let defined = realm["clientScopes"].as_array().expect("scopes");
    let defined: Vec<&str> = defined
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(scopes, defined);
    for (place, scope) in defined.iter().enumerate() {
        let attributes = &realm["clientScopes"][place]["attributes"];
        assert_eq!(attributes["include.in.token.scope"], "true", "{scope}");
    }
    // Without default scopes nothing else puts a subject into a token.
    let mappers = client["protocolMappers"].as_array().expect("mappers");
    let kinds = mappers
        .iter()
        .filter_map(|it| it["protocolMapper"].as_str());
    assert!(kinds.clone().any(|kind| kind == "oidc-sub-mapper"));
    assert!(kinds.clone().any(|kind| kind == "oidc-audience-mapper"));
    let lifespan = realm["accessTokenLifespan"].as_u64().unwrap_or_default();
    assert_eq!(
        lifespan,
        5 * 60,
        "README says that a token counts for five minutes"
    );
}
