//! How the servers that we start are set up: the same for the embedded one and the container.

/// The settings of a server on a machine with so many bytes of memory, name and value.
///
/// Durability stays as PostgreSQL ships it (`fsync`, `synchronous_commit`, `full_page_writes`), since a measurement on
/// a server that may lose data says nothing. `wal_level = minimal` changes no promise on a server without replicas,
/// and spares bulk loads the log. `statements` loads `pg_stat_statements`.
pub(crate) fn parameters(memory: Option<u64>, statements: bool) -> Vec<(&'static str, String)> {
    let shared_buffers = match memory {
        Some(bytes) if bytes >= 4 << 30 => "512MB",
        Some(bytes) if bytes >= 2 << 30 => "256MB",
        _ => "128MB",
    };
    let mut parameters = vec![
        ("max_connections", "200".to_owned()),
        ("shared_buffers", shared_buffers.to_owned()),
        ("maintenance_work_mem", "128MB".to_owned()),
        ("wal_level", "minimal".to_owned()),
        ("max_wal_senders", "0".to_owned()),
        // A checkpoint in the middle of a block would be counted against the service that is measured then.
        ("max_wal_size", "2GB".to_owned()),
        ("checkpoint_timeout", "15min".to_owned()),
    ];
    if statements {
        parameters.push(("shared_preload_libraries", "pg_stat_statements".to_owned()));
    }
    parameters
}

/// The same for a server that listens on this port of its own machine, and nowhere else.
pub(crate) fn at_port(
    port: u16,
    memory: Option<u64>,
    statements: bool,
) -> impl Iterator<Item = (&'static str, String)> {
    let own = [
        ("listen_addresses", "127.0.0.1".to_owned()),
        ("port", port.to_string()),
        ("unix_socket_directories", String::new()),
    ];
    own.into_iter().chain(parameters(memory, statements))
}
