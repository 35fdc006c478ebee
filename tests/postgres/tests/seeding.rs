//! Data sets, on the provider that `WORKSHOP_POSTGRES` names: made once, verified, never half-made; and runs whose
//! databases don't touch one another.

#![allow(clippy::expect_used, clippy::unwrap_used)]

mod checkout;

use checkout::{Checkout, databases, end_server, eventually};
use sqlx::{Connection, PgConnection};
use workshop_postgres::Provider;
use workshop_postgres::datasets::{DataSet, RunDatabase, seed, seed_again, shared_url};

#[tokio::test]
async fn a_second_seed_finds_the_first_ones_rows() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    let first = seed(&server, &checkout.workspace, DataSet::Small)
        .await
        .unwrap();
    let second = seed(&server, &checkout.workspace, DataSet::Small)
        .await
        .unwrap();
    assert!(first.fresh);
    assert!(!second.fresh);
}

#[tokio::test]
async fn every_row_follows_from_its_id() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    seed(&server, &checkout.workspace, DataSet::Small)
        .await
        .unwrap();
    let mut connection = PgConnection::connect(&shared_url(&server, DataSet::Small))
        .await
        .unwrap();
    let right: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM records
         JOIN generate_series(1, 10000) AS expected (id) USING (id)
         WHERE value = md5(id::text) AND odd = (id % 2 = 1) AND divisible_by_3 = (id % 3 = 0) AND NOT visited",
    )
    .fetch_one(&mut connection)
    .await
    .unwrap();
    let all: i64 = sqlx::query_scalar("SELECT count(*) FROM records")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!((right, all), (10_000, 10_000));
    let twice = sqlx::query("INSERT INTO records VALUES (1, '', true, false)");
    sqlx::raw_sql("SET default_transaction_read_only = off")
        .execute(&mut connection)
        .await
        .unwrap();
    let refusal = twice
        .execute(&mut connection)
        .await
        .expect_err("the id is the primary key");
    assert!(
        refusal
            .as_database_error()
            .is_some_and(|error| error.is_unique_violation()),
        "{refusal}"
    );
}

#[tokio::test]
async fn a_slip_of_the_hand_cannot_alter_the_shared_rows() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    seed(&server, &checkout.workspace, DataSet::Small)
        .await
        .unwrap();
    let mut connection = PgConnection::connect(&shared_url(&server, DataSet::Small))
        .await
        .unwrap();
    let refusal = sqlx::raw_sql("UPDATE records SET visited = true WHERE id = 1")
        .execute(&mut connection)
        .await;
    let refusal = refusal.expect_err("the database is read-only");
    assert_eq!(
        refusal
            .as_database_error()
            .and_then(|error| error.code())
            .as_deref(),
        Some("25006"),
        "{refusal}"
    );
}

#[tokio::test]
async fn altered_rows_are_refused_and_made_anew_on_request() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    seed(&server, &checkout.workspace, DataSet::Small)
        .await
        .unwrap();
    alter(
        &shared_url(&server, DataSet::Small),
        "UPDATE records SET visited = true WHERE id = 4711",
    )
    .await;
    let refusal = seed(&server, &checkout.workspace, DataSet::Small)
        .await
        .expect_err("a row is not as made");
    let refusal = refusal.to_string();
    assert!(
        refusal.contains("has changed since it was made")
            && refusal.contains("just seed small --again"),
        "{refusal}"
    );
    assert!(
        seed_again(&server, &checkout.workspace, DataSet::Small)
            .await
            .unwrap()
            .fresh
    );
    assert!(
        !seed(&server, &checkout.workspace, DataSet::Small)
            .await
            .unwrap()
            .fresh
    );
}

#[tokio::test]
async fn the_quick_look_at_a_large_set_sees_a_missing_row_and_altered_ones() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    seed(&server, &checkout.workspace, DataSet::Pi)
        .await
        .unwrap();
    let url = shared_url(&server, DataSet::Pi);
    alter(&url, "DELETE FROM records WHERE id = 1000000").await;
    let refusal = seed(&server, &checkout.workspace, DataSet::Pi)
        .await
        .expect_err("a row is missing")
        .to_string();
    assert!(refusal.contains("from 1 to 999999"), "{refusal}");
    alter(
        &url,
        "INSERT INTO records VALUES (1000000, md5('1000000'), false, false)",
    )
    .await;
    alter(&url, "UPDATE records SET odd = NOT odd WHERE id % 10 = 0").await;
    let refusal = seed(&server, &checkout.workspace, DataSet::Pi)
        .await
        .expect_err("a tenth is altered")
        .to_string();
    assert!(refusal.contains("drawn at random"), "{refusal}");
}

#[tokio::test]
async fn two_seeds_at_once_make_the_rows_once() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    let (first, second) = tokio::join!(
        seed(&server, &checkout.workspace, DataSet::Small),
        seed(&server, &checkout.workspace, DataSet::Small)
    );
    assert_ne!(first.unwrap().fresh, second.unwrap().fresh);
}

#[tokio::test]
async fn what_a_run_alters_is_altered_for_no_other_and_not_in_the_shared_rows() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    seed(&server, &checkout.workspace, DataSet::Small)
        .await
        .unwrap();
    let one = RunDatabase::create(&server).await.unwrap();
    let other = RunDatabase::create(&server).await.unwrap();
    let mut connection = PgConnection::connect(one.url()).await.unwrap();
    sqlx::raw_sql("UPDATE records SET visited = true")
        .execute(&mut connection)
        .await
        .unwrap();
    assert_eq!(
        visited(&mut connection).await,
        10_000,
        "a run may alter its rows"
    );
    assert_eq!(visited(&mut other.connect().await.unwrap()).await, 0);
    assert!(
        !seed(&server, &checkout.workspace, DataSet::Small)
            .await
            .unwrap()
            .fresh
    );
}

#[tokio::test]
async fn the_next_run_takes_over_what_a_run_left_as_if_it_was_new_and_leaves_a_living_ones_alone() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    let living = RunDatabase::create(&server).await.unwrap();
    let ended = RunDatabase::create(&server).await.unwrap();
    let before = ended.name().to_owned();
    let mut left_open = ended.connect().await.unwrap();
    let its_id = oid(&mut left_open).await;
    let changes = "UPDATE records SET visited = true; CREATE TYPE kind AS ENUM (); \
         CREATE SCHEMA other; CREATE TABLE other.things ()";
    sqlx::raw_sql(changes)
        .execute(&mut left_open)
        .await
        .unwrap();
    // Also what happens when the tool is killed: nobody closes the session.
    drop(ended);

    let next = RunDatabase::create(&server).await.unwrap();
    let mut connection = next.connect().await.unwrap();
    let of_runs = format!("workshop_{}_run_", server.checkout());
    let mut expected = [living.name().to_owned(), next.name().to_owned()];
    expected.sort_unstable();
    assert_eq!(databases(&mut connection, &of_runs).await, expected);
    assert_eq!(
        oid(&mut connection).await,
        its_id,
        "none is made or dropped"
    );
    assert_ne!(next.name(), before, "who knows the old name finds nothing");
    left_open.ping().await.expect_err("the session has ended");
    let there: Vec<String> = sqlx::query_scalar(
        "SELECT tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')
         UNION SELECT typname FROM pg_type WHERE typname = 'kind'",
    )
    .fetch_all(&mut connection)
    .await
    .unwrap();
    assert_eq!(there, ["records"]);
    assert_eq!(visited(&mut connection).await, 0);
    assert_eq!(visited(&mut living.connect().await.unwrap()).await, 0);
}

/// As when somebody runs a service, stops PostgreSQL to see what happens, and seeds to bring the server back.
#[tokio::test]
async fn a_run_keeps_its_copy_when_the_server_has_restarted() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    if server.provider() == Provider::Url {
        return;
    }
    let living = RunDatabase::create(&server).await.unwrap();
    end_server(&server, true).await;
    let server = checkout.server().await;
    seed(&server, &checkout.workspace, DataSet::Small)
        .await
        .unwrap();
    let mut connection = server.connect(living.name()).await.unwrap();
    assert_eq!(visited(&mut connection).await, 0);
}

#[tokio::test]
async fn a_seed_that_is_dropped_removes_what_there_was() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    let mut connection = server.connect_for_maintenance().await.unwrap();
    let building = format!("workshop_{}_building_", server.checkout());
    let begun = eventually("the building of full", async || {
        (!databases(&mut connection, &building).await.is_empty()).then_some(())
    });
    tokio::select! {
        () = begun => {}
        seeded = seed(&server, &checkout.workspace, DataSet::Full) => panic!("{seeded:?}"),
    }
    assert_eq!(
        databases(&mut connection, server.checkout()).await,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn a_data_set_of_another_branch_stays_and_a_half_made_one_goes() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    seed(&server, &checkout.workspace, DataSet::Small)
        .await
        .unwrap();
    let mut connection = server.connect_for_maintenance().await.unwrap();
    let older = format!("workshop_{}_pi_aaaaaaaaaa", server.checkout());
    let half_made = format!(
        "workshop_{}_building_pi_0123456789abcdef",
        server.checkout()
    );
    for name in [&older, &half_made] {
        let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"));
        sqlx::raw_sql(create)
            .execute(&mut connection)
            .await
            .unwrap();
    }
    let again = seed(&server, &checkout.workspace, DataSet::Small);
    assert!(!again.await.unwrap().fresh);
    let left = databases(&mut connection, server.checkout()).await;
    assert!(
        left.len() == 2 && left[0] == older && left[1].contains("_small_"),
        "{left:?}"
    );
}

#[tokio::test]
async fn a_data_set_that_another_command_reads_is_not_made_again_under_it() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    let (workspace, set) = (&checkout.workspace, DataSet::Small);
    // As a measurement has it, between two services.
    let read = seed(&server, workspace, set).await.unwrap();
    let refusal = seed_again(&server, workspace, set).await;
    let refusal = refusal.expect_err("it is in use").to_string();
    assert!(
        refusal.contains("another command works with the data set small"),
        "{refusal}"
    );
    drop(read);
    assert!(seed_again(&server, workspace, set).await.unwrap().fresh);
}

#[tokio::test]
async fn what_a_run_left_outside_of_the_schemas_is_not_there_for_the_next() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    let ended = RunDatabase::create(&server).await.unwrap();
    let mut connection = ended.connect().await.unwrap();
    let changes = format!(
        "SELECT lo_create(0); CREATE PUBLICATION everything; ALTER DATABASE {} SET statement_timeout = 60001",
        ended.name()
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(changes))
        .execute(&mut connection)
        .await
        .unwrap();
    drop(ended);
    for left in ["ALTER DATABASE", "more"] {
        let next = RunDatabase::create(&server).await.unwrap();
        let mut connection = next.connect().await.unwrap();
        let found: (bool, bool, i64) = sqlx::query_as(
            "SELECT current_setting('statement_timeout') = '60001ms', EXISTS (SELECT FROM pg_publication),
                    (SELECT count(*) FROM pg_largeobject_metadata)",
        )
        .fetch_one(&mut connection)
        .await
        .unwrap();
        assert_eq!(found, (false, false, 0), "{left}");
        // This alone leaves nothing to see in the database itself.
        let changes = format!(
            "ALTER DATABASE {} SET statement_timeout = 60001",
            next.name()
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(changes))
            .execute(&mut connection)
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_foreign_database_is_never_dropped() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    let mut connection = server.connect_for_maintenance().await.unwrap();
    // Of another checkout on the same server, by its name.
    let foreign = format!("workshop_{:010x}_run_1", rand::random::<u32>());
    let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE {foreign}"));
    sqlx::raw_sql(create)
        .execute(&mut connection)
        .await
        .unwrap();
    seed(&server, &checkout.workspace, DataSet::Small)
        .await
        .unwrap();
    RunDatabase::create(&server)
        .await
        .unwrap()
        .remove()
        .await
        .unwrap();
    assert_eq!(
        databases(&mut connection, &foreign).await,
        vec![foreign.clone()]
    );
    let drop = sqlx::AssertSqlSafe(format!("DROP DATABASE {foreign}"));
    sqlx::raw_sql(drop).execute(&mut connection).await.unwrap();
}

/// What PostgreSQL knows the connection's database by, whatever its name.
async fn oid(connection: &mut PgConnection) -> i64 {
    let oid = "SELECT oid::bigint FROM pg_database WHERE datname = current_database()";
    sqlx::query_scalar(oid).fetch_one(connection).await.unwrap()
}

/// Alters a read-only data set, as somebody who means it.
async fn alter(url: &str, sql: &'static str) {
    let mut connection = PgConnection::connect(url).await.unwrap();
    sqlx::raw_sql("SET default_transaction_read_only = off")
        .execute(&mut connection)
        .await
        .unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

async fn visited(connection: &mut PgConnection) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM records WHERE visited")
        .fetch_one(connection)
        .await
        .unwrap()
}
