//! Kata 1, values move: who owns the settings?

#[derive(Debug)]
struct Settings {
    host: String,
    port: u16,
}

/// A running service, which owns its settings.
#[derive(Debug)]
struct Service {
    settings: Settings,
}

fn start(settings: Settings) -> Service {
    Service { settings }
}

/// Starts a service, and returns it together with a log line: `listening on localhost:8080`.
fn start_and_tell(settings: Settings) -> (Service, String) {
    todo!("start a service with {settings:?}, and tell where it listens")
}

#[test]
fn the_service_keeps_the_settings_and_the_log_gets_its_line() {
    let host = "localhost".to_owned();
    let (service, line) = start_and_tell(Settings { host, port: 8080 });
    assert_eq!(service.settings.host, "localhost");
    assert_eq!(line, "listening on localhost:8080");
}
