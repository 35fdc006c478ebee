//! A server that speaks TLS: certificates made by `openssl`, and TLS switched on for everyone who asks for it.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use sqlx::{AssertSqlSafe, PgConnection, raw_sql};

use workshop_base::outcome::Trouble;
use workshop_base::wait;
use workshop_postgres::Server;

/// How long the server may take to notice its new settings.
const NOTICED: Duration = Duration::from_secs(10);

/// A self-signed certificate: a client that trusts it trusts this server and no other.
pub struct Certificate {
    /// The certificate's file, for `sslrootcert`.
    pub file: PathBuf,
    key: PathBuf,
}

impl Certificate {
    /// Makes one for this host, below this folder.
    pub fn make(host: &str, folder: &Path) -> anyhow::Result<Certificate> {
        std::fs::create_dir_all(folder)?;
        let [request, key, file] =
            ["request.conf", "server.key", "server.crt"].map(|name| folder.join(name));
        let kind = if host.parse::<IpAddr>().is_ok() {
            "IP"
        } else {
            "DNS"
        };
        let about = format!(
            "[req]\nprompt = no\ndistinguished_name = name\nx509_extensions = server\n[name]\nCN = workshop\n\
             [server]\nbasicConstraints = critical, CA:FALSE\nsubjectAltName = {kind}:{host}\n"
        );
        std::fs::write(&request, about)?;
        let mut openssl = Command::new("openssl");
        openssl
            .args([
                "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "7", "-config",
            ])
            .arg(&request)
            .arg("-keyout")
            .arg(&key)
            .arg("-out")
            .arg(&file);
        match openssl.output() {
            Ok(output) if output.status.success() => Ok(Certificate { file, key }),
            Ok(output) => anyhow::bail!(
                "openssl made no certificate: {}",
                String::from_utf8_lossy(&output.stderr)
            ),
            Err(error) => Trouble::new(format!("openssl cannot be run: {error}"))
                .expected(
                    "openssl on the PATH: it makes the certificate of a server that speaks TLS",
                )
                .next("install openssl with your package manager")
                .err(),
        }
    }
}

/// Makes the server speak TLS from now on, with a certificate of its own, which is kept below this folder as well. That is
/// for servers of one's own: a client that sets no `sslmode` may get TLS then.
pub async fn speak_tls(server: &Server, folder: &Path) -> anyhow::Result<Certificate> {
    let certificate = Certificate::make(server.host(), folder)?;
    let mut connection = server.connect_for_maintenance().await?;
    // By the server itself: its files are another user's, or in a container.
    for (setting, file) in [
        ("ssl_cert_file", &certificate.file),
        ("ssl_key_file", &certificate.key),
    ] {
        let text = std::fs::read_to_string(file)?;
        let name = format!("workshop.{setting}");
        execute(
            &mut connection,
            format!(
                "COPY (SELECT regexp_split_to_table('{}', '\\n')) TO PROGRAM 'umask 077; cat > {name}'",
                text.trim_end()
            ),
        )
        .await
        .context("the server does not take a certificate")?;
        set(&mut connection, setting, &name).await?;
    }
    set(&mut connection, "ssl", "on").await?;
    execute(&mut connection, "SELECT pg_reload_conf()".to_owned()).await?;
    let on = async || {
        let ssl: Result<String, _> = sqlx::query_scalar("SHOW ssl")
            .fetch_one(&mut connection)
            .await;
        (ssl.ok()? == "on").then_some(())
    };
    wait::within(NOTICED, on)
        .await
        .context("the server does not speak TLS: its log says why")?;
    Ok(certificate)
}

async fn set(connection: &mut PgConnection, setting: &str, value: &str) -> anyhow::Result<()> {
    execute(
        connection,
        format!("ALTER SYSTEM SET {setting} = '{value}'"),
    )
    .await
    .with_context(|| format!("the server has no setting {setting}"))?;
    Ok(())
}

async fn execute(connection: &mut PgConnection, sql: String) -> sqlx::Result<()> {
    raw_sql(AssertSqlSafe(sql))
        .execute(connection)
        .await
        .map(drop)
}
