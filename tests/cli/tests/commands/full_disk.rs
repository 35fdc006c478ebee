//! A disk that is really full: the address books are on a file system of a few megabytes, and something else takes what is left of
//! it. In the suite the database only says that its disk is full; here the operating system refuses to write.

#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use futures_util::FutureExt;
use rand::SeedableRng;
use rand::distr::{Alphanumeric, Distribution};
use rand::rngs::SmallRng;
use sqlx::{AssertSqlSafe, PgConnection, Row};
use tokio::sync::Mutex;
use workshop_base::peer;
use workshop_base::target::Target;
use workshop_base::wait;
use workshop_base::workspace::Workspace;
use workshop_carddav::cards;
use workshop_carddav::client::AddressBook;
use workshop_harness::build::{self, Profile};
use workshop_harness::contract::Client;
use workshop_harness::service::{Service, Settings};
use workshop_postgres::datasets::RunDatabase;
use workshop_postgres::{Provider, Server};

/// A database without any row takes 8 MB.
const MEGABYTES: u32 = 32;
/// How long a service may take to make its tables.
const READY: Duration = Duration::from_secs(10);

/// Two of them would share the name of the tablespace.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

#[tokio::test]
#[ignore = "mounts a file system, which takes root: CI asks for it"]
async fn the_reference_loses_nothing_on_a_full_disk() {
    loses_nothing_on_a_full_disk(Target::Solution(22)).await;
}

#[tokio::test]
#[ignore = "mounts a file system, which takes root: CI asks for it"]
async fn the_kotlin_service_loses_nothing_on_a_full_disk() {
    let (name, ..) = peer::named("kotlin-contacts").unwrap();
    loses_nothing_on_a_full_disk(Target::Peer(name)).await;
}

/// Has the service keep its address books on a small disk. No mount and no tablespace is left, even where a test of it fails.
async fn loses_nothing_on_a_full_disk(target: Target) {
    let _turn = ONE_AT_A_TIME.lock().await;
    let workspace = Workspace::find().unwrap();
    let server = Server::ensure(&workspace).await.unwrap();
    assert_eq!(
        server.provider(),
        Provider::Embedded,
        "a server that sees the mounts of this machine: WORKSHOP_POSTGRES=embedded"
    );
    let mut connection = server.connect_for_maintenance().await.unwrap();
    let disk = SmallDisk::mount(&data_folder(&mut connection).await);
    let space = format!("small_disk_{}", std::process::id());
    let create = format!("CREATE TABLESPACE {space} LOCATION '{}'", disk.0.display());
    execute(&mut connection, create).await;
    let database = RunDatabase::empty(&server).await.unwrap();
    let (name, url) = (database.name(), database.url());
    let move_there = format!("ALTER DATABASE \"{name}\" SET TABLESPACE {space}");

    let played = AssertUnwindSafe(async {
        execute(&mut connection, move_there).await;
        play(&workspace, target, url, &disk).await;
    });
    let played = played.catch_unwind().await;

    // Whatever becomes of one of these, the other is tried, and what the test has found is told first.
    let removed = database.remove().await;
    let drop_space = AssertSqlSafe(format!("DROP TABLESPACE {space}"));
    let dropped = sqlx::raw_sql(drop_space).execute(&mut connection).await;
    drop(disk);
    if let Err(panic) = played {
        resume_unwind(panic);
    }
    removed.unwrap();
    dropped.unwrap();
}

async fn play(workspace: &Workspace, target: Target, url: &str, disk: &SmallDisk) {
    let launch = build::build(workspace, target, Profile::Check)
        .await
        .unwrap();
    let service = Service::start(workspace, &launch, &Settings::new(url)).await;
    let service = service.unwrap_or_else(|error| panic!("{error}"));
    let client = Client::new(service.base_url(), None).unwrap();
    let ready = wait::within(READY, async || {
        let answer = client.get("/ready").await.unwrap();
        (answer.status() == 200).then_some(())
    });
    ready.await.expect("the service is ready");
    let ada = AddressBook::of(&client);
    let put = async |name, card: &str| ada.put(name, card).await.unwrap().status();
    let get = async |name| {
        let answer = ada.get(name).await.unwrap();
        (answer.status(), answer.text().into_owned())
    };

    let before = large_card("kept", 1);
    assert_eq!(put("kept.vcf", &before).await, 201);
    let token = ada.token().await.unwrap();

    disk.fill();
    for (name, uid) in [("kept.vcf", "kept"), ("lost.vcf", "lost")] {
        let status = put(name, &large_card(uid, 2)).await;
        assert!([503, 507].contains(&status), "{name}: {status}");
    }
    // Reading takes no room, and nothing half written is in the book or in its count of changes.
    assert_eq!(get("kept.vcf").await, (200, before));
    assert_eq!(get("lost.vcf").await.0, 404);
    assert_eq!(ada.token().await.unwrap(), token);

    disk.make_room();
    let after = large_card("kept", 3);
    assert_eq!(put("kept.vcf", &after).await, 204);
    assert_eq!(get("kept.vcf").await, (200, after));
    let late = large_card("lost", 4);
    assert_eq!(put("lost.vcf", &late).await, 201);
    assert_eq!(get("lost.vcf").await, (200, late));
    assert_ne!(ada.token().await.unwrap(), token);
    service.stop().await;
}

/// A vCard of nearly the largest size. It has to be stored as it is, since no compression makes it smaller.
fn large_card(uid: &str, seed: u64) -> String {
    let letters = Alphanumeric.sample_iter(SmallRng::seed_from_u64(seed));
    let note: String = letters.take(98_000).map(char::from).collect();
    cards::with(uid, &format!("Version {seed}"), &format!("NOTE:{note}\r\n"))
}

/// A file system in memory, of [`MEGABYTES`].
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts it, for the user whose folder this is.
    fn mount(folder: &Path) -> SmallDisk {
        let owner = fs::metadata(folder).unwrap();
        // Below a folder that every user can enter.
        let folder = tempfile::tempdir_in("/tmp").unwrap().keep();
        let (uid, gid) = (owner.uid(), owner.gid());
        let options = format!("size={MEGABYTES}m,mode=700,uid={uid},gid={gid}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "workshop-disk"]);
        let disk = SmallDisk(folder);
        let mounted = mount.arg(&disk.0).status().unwrap();
        assert!(
            mounted.success(),
            "this test mounts a file system: it has to be root, and a container needs CAP_SYS_ADMIN"
        );
        disk
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }

    /// Takes all that is left of it.
    fn fill(&self) {
        let mut ballast = File::create(self.ballast()).unwrap();
        let page = [0; 4096];
        while ballast.write_all(&page).is_ok() {}
        let taken = fs::metadata(self.ballast()).unwrap().len();
        assert!(taken > 1 << 20, "the disk was nearly full before: {taken}");
    }

    fn make_room(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily, for the case that a process still has a file open there.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}

async fn data_folder(connection: &mut PgConnection) -> PathBuf {
    let row = sqlx::query("SHOW data_directory").fetch_one(connection);
    row.await.unwrap().get::<String, _>(0).into()
}

async fn execute(connection: &mut PgConnection, sql: String) {
    let done = sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection);
    done.await.unwrap();
}
