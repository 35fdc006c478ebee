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
use reqwest::{Method, Response, StatusCode};
use sqlx::{AssertSqlSafe, PgConnection, Row};
use tokio::sync::Mutex;
use workshop_base::peer;
use workshop_base::target::Target;
use workshop_base::wait;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, Profile};
use workshop_harness::service::{Service, Settings};
use workshop_postgres::datasets::RunDatabase;
use workshop_postgres::{Provider, Server};

/// A database without any row takes 8 MB.
const MEGABYTES: u32 = 32;
/// The book of Ada.
const BOOK: &str = "/addressbooks/ada/contacts/";
/// How long a service may take to make its tables.
const READY: Duration = Duration::from_secs(10);

/// Two of them would share the name of the tablespace.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

#[tokio::test]
#[ignore = "mounts a file system, which takes root: CI asks for it"]
async fn the_reference_loses_nothing_on_a_full_disk() {
    loses_nothing_on_a_full_disk(Target::Solution(16)).await;
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
    let service = service.unwrap_or_else(|error| panic!("{}", error.trouble()));
    let ada = Ada {
        base: service.base_url().to_owned(),
        http: reqwest::Client::builder().no_proxy().build().unwrap(),
    };
    ada.is_ready().await;
    let before = card("kept", 1);
    assert_eq!(ada.put("kept.vcf", &before).await, StatusCode::CREATED);
    let token = ada.token().await;

    disk.fill();
    for (name, uid) in [("kept.vcf", "kept"), ("lost.vcf", "lost")] {
        let status = ada.put(name, &card(uid, 2)).await;
        assert!([503, 507].contains(&status.as_u16()), "{name}: {status}");
    }
    // Reading takes no room, and nothing half written is in the book or in its count of changes.
    assert_eq!(ada.get("kept.vcf").await, (StatusCode::OK, before));
    assert_eq!(ada.get("lost.vcf").await.0, StatusCode::NOT_FOUND);
    assert_eq!(ada.token().await, token);

    disk.make_room();
    let after = card("kept", 3);
    assert_eq!(ada.put("kept.vcf", &after).await, StatusCode::NO_CONTENT);
    assert_eq!(ada.get("kept.vcf").await, (StatusCode::OK, after));
    let late = card("lost", 4);
    assert_eq!(ada.put("lost.vcf", &late).await, StatusCode::CREATED);
    assert_eq!(ada.get("lost.vcf").await, (StatusCode::OK, late));
    assert_ne!(ada.token().await, token);
    service.stop().await;
}

/// A vCard of nearly the largest size. It has to be stored as it is, since no compression makes it smaller.
fn card(uid: &str, seed: u64) -> String {
    let letters = Alphanumeric.sample_iter(SmallRng::seed_from_u64(seed));
    let note: String = letters.take(98_000).map(char::from).collect();
    format!(
        "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:{uid}\r\nFN:Version {seed}\r\nNOTE:{note}\r\nEND:VCARD\r\n"
    )
}

/// Ada, who keeps her contacts there.
struct Ada {
    base: String,
    http: reqwest::Client,
}

impl Ada {
    async fn ask(&self, method: &str, path: &str, (kind, body): (&str, &str)) -> Response {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        self.http
            .request(method, format!("{}{path}", self.base))
            .basic_auth("ada", Some("secret"))
            .header("Content-Type", kind)
            .header("Depth", "0")
            .body(body.to_owned())
            .send()
            .await
            .unwrap()
    }

    /// Waits for the tables.
    async fn is_ready(&self) {
        let ready = wait::within(READY, async || {
            let answer = self.ask("GET", "/ready", ("text/plain", "")).await;
            (answer.status() == StatusCode::OK).then_some(())
        });
        ready.await.expect("the service is ready");
    }

    async fn put(&self, name: &str, card: &str) -> StatusCode {
        let path = format!("{BOOK}{name}");
        let answer = self.ask("PUT", &path, ("text/vcard; charset=utf-8", card));
        answer.await.status()
    }

    async fn get(&self, name: &str) -> (StatusCode, String) {
        let path = format!("{BOOK}{name}");
        let answer = self.ask("GET", &path, ("text/plain", "")).await;
        (answer.status(), answer.text().await.unwrap())
    }

    /// What the book answers for its sync token.
    async fn token(&self) -> String {
        let body = r#"<D:propfind xmlns:D="DAV:"><D:prop><D:sync-token/></D:prop></D:propfind>"#;
        let answer = self.ask("PROPFIND", BOOK, ("application/xml", body)).await;
        assert_eq!(answer.status(), StatusCode::MULTI_STATUS);
        answer.text().await.unwrap()
    }
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
        assert!(mounted.success(), "this test mounts a file system as root");
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
