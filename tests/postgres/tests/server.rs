//! The server under the exercises, on the provider that `WORKSHOP_POSTGRES` names: kept, restarted, shared, removed.
//! Without that provider these tests fail; they are never skipped. (A server that the user runs is not ours to stop:
//! with `url` the two tests that do so have nothing to do.)

#![allow(clippy::expect_used, clippy::unwrap_used)]

mod checkout;

use checkout::{Checkout, end_server};
use workshop_postgres::{Provider, ProviderSettings, Server};

#[tokio::test]
async fn the_provider_asked_for_is_the_one_that_serves() {
    let checkout = Checkout::new();
    let asked = ProviderSettings::from_env()
        .expect("good settings")
        .provider;
    let server = checkout.server().await;
    if let Some(asked) = asked {
        assert_eq!(server.provider(), asked);
    }
    assert!(
        server.describe().contains(&server.provider().to_string()),
        "{}",
        server.describe()
    );
    assert!(
        server.describe().contains(server.version()),
        "{}",
        server.describe()
    );
}

#[tokio::test]
async fn two_commands_get_the_same_server() {
    let checkout = Checkout::new();
    let first = checkout.server().await;
    let second = checkout.server().await;
    assert_eq!(first.maintenance_url(), second.maintenance_url());
}

#[tokio::test]
async fn two_commands_at_once_on_a_fresh_checkout_start_one_server() {
    let checkout = Checkout::new();
    let (first, second) = tokio::join!(checkout.server(), checkout.server());
    assert_eq!(first.maintenance_url(), second.maintenance_url());
}

#[tokio::test]
async fn a_server_that_was_stopped_is_started_again_with_its_data() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    if server.provider() == Provider::Url {
        return;
    }
    let mut connection = server.connect_for_maintenance().await.unwrap();
    sqlx::raw_sql("CREATE TABLE kept AS SELECT 42 AS answer")
        .execute(&mut connection)
        .await
        .unwrap();
    drop(connection);
    end_server(&server, true).await;
    let mut connection = checkout
        .server()
        .await
        .connect_for_maintenance()
        .await
        .unwrap();
    let answer: i32 = sqlx::query_scalar("SELECT answer FROM kept")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(answer, 42);
}

#[tokio::test]
async fn a_server_that_was_killed_is_started_again_with_its_data() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    if server.provider() == Provider::Url {
        return;
    }
    let mut connection = server.connect_for_maintenance().await.unwrap();
    sqlx::raw_sql("CREATE TABLE kept AS SELECT 42 AS answer")
        .execute(&mut connection)
        .await
        .unwrap();
    drop(connection);
    end_server(&server, false).await;
    let mut connection = checkout
        .server()
        .await
        .connect_for_maintenance()
        .await
        .unwrap();
    let answer: i32 = sqlx::query_scalar("SELECT answer FROM kept")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(answer, 42, "what was committed survives: fsync is on");
}

#[tokio::test]
async fn a_server_of_ours_keeps_its_promises_and_listens_to_this_machine_alone() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    if server.provider() == Provider::Url {
        return;
    }
    assert!(
        server.maintenance_url().contains("@127.0.0.1:"),
        "{}",
        server.describe()
    );
    let mut connection = server.connect_for_maintenance().await.unwrap();
    for setting in ["fsync", "synchronous_commit", "full_page_writes"] {
        let value: String = sqlx::query_scalar("SELECT current_setting($1)")
            .bind(setting)
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(value, "on", "{setting}");
    }
    if server.provider() == Provider::Embedded {
        let listens: String = sqlx::query_scalar("SHOW listen_addresses")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(listens, "127.0.0.1");
    }
    assert!(
        server
            .free_bytes()
            .await
            .unwrap()
            .is_some_and(|bytes| bytes > 0)
    );
}

/// A container and its host that share a checkout do not see each other's processes and ports.
#[tokio::test]
async fn a_server_that_runs_in_a_container_gets_no_second_one_on_its_data_and_keeps_them() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    if server.provider() != Provider::Embedded {
        return;
    }
    let mut connection = server.connect_for_maintenance().await.unwrap();
    let data: String = sqlx::query_scalar("SHOW data_directory")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    let data = std::path::PathBuf::from(data);
    let (pid_file, kept) = (
        data.join("postmaster.pid"),
        data.with_file_name("server.toml"),
    );
    let seen = [&pid_file, &kept].map(|file| std::fs::read_to_string(file).unwrap());
    // As it is seen from the other side: no process has this id, nothing answers on this port.
    let nobody = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = nobody.local_addr().unwrap().port();
    drop(nobody);
    let (_, rest) = seen[0].split_once('\n').unwrap();
    std::fs::write(&pid_file, format!("4000000\n{rest}")).unwrap();
    let (_, rest) = seen[1].split_once('\n').unwrap();
    std::fs::write(&kept, format!("port = {port}\n{rest}")).unwrap();

    let second = Server::ensure(&checkout.workspace).await;
    let cleaned = workshop_postgres::clean(&checkout.workspace).await;
    for (file, text) in [&pid_file, &kept].into_iter().zip(&seen) {
        let _ = std::fs::write(file, text);
    }
    let refusal = second.expect_err("one server is enough").to_string();
    assert!(
        refusal.contains("container") && refusal.contains("WORKSHOP_DATA_DIR"),
        "{refusal}"
    );
    let left = cleaned.unwrap().left;
    assert!(
        left.iter().any(|line| line.contains("container")),
        "{left:?}"
    );
    sqlx::raw_sql("CHECKPOINT")
        .execute(&mut connection)
        .await
        .unwrap();
}

#[tokio::test]
async fn clean_leaves_nothing_behind_and_finds_nothing_the_second_time() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    workshop_postgres::datasets::seed(
        &server,
        &checkout.workspace,
        workshop_postgres::datasets::DataSet::Small,
    )
    .await
    .unwrap();
    let attempt = checkout.workspace.attempts().join("kept.rs");
    std::fs::create_dir_all(checkout.workspace.attempts()).unwrap();
    std::fs::write(&attempt, "fn main() {}").unwrap();

    let cleaned = workshop_postgres::clean(&checkout.workspace).await.unwrap();
    assert!(!cleaned.removed.is_empty());
    match server.connect_for_maintenance().await {
        Ok(mut connection) => {
            assert_eq!(
                server.provider(),
                Provider::Url,
                "only a server that is not ours may answer still"
            );
            assert_eq!(
                checkout::databases(&mut connection, server.checkout()).await,
                Vec::<String>::new()
            );
        }
        Err(_) => assert_ne!(server.provider(), Provider::Url),
    }
    assert!(
        !std::path::Path::new("/var/tmp")
            .join(format!("kotlin-to-rust-workshop-{}", server.checkout()))
            .exists()
    );
    assert!(!checkout.workspace.state().join("postgres").exists());
    assert!(
        attempt.exists(),
        "a learner's attempts are not ours to remove"
    );

    let again = workshop_postgres::clean(&checkout.workspace).await.unwrap();
    assert_eq!(again.removed, Vec::<String>::new());
}

#[tokio::test]
async fn an_image_that_is_nowhere_leads_to_other_ways() {
    let checkout = Checkout::new();
    if checkout.server().await.provider() != Provider::Docker {
        return;
    }
    let settings = ProviderSettings {
        provider: Some(Provider::Docker),
        image: Some("127.0.0.1:1/no/such/image:18".to_owned()),
        ..ProviderSettings::default()
    };
    let refusal = Server::ensure_with(&checkout.workspace, &settings)
        .await
        .expect_err("no such image")
        .to_string();
    assert!(
        refusal.contains("127.0.0.1:1/no/such/image:18") && refusal.contains("docker load"),
        "{refusal}"
    );
}
