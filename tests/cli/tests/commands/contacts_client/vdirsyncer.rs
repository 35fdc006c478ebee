//! Another client that was written by others, vdirsyncer. It keeps two folders of 5 000 cards in step with the address book, some of them
//! with a photo, while both sides change and delete, the service is killed, and a backup comes back.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::OnceCell;
use workshop_base::peer;
use workshop_base::target::Target;
use workshop_base::wait::within;
use workshop_base::workspace::Workspace;

use super::site::Site;

/// How many contacts the phone has at first, and every how many of them has a photo, and of how many bytes.
const CONTACTS: usize = 5000;
const PHOTO_OF: usize = 250;
const PHOTO: usize = 300 << 10;
/// After how many changes the service is killed, in the first upload and when the tablet changes things.
const KILLED_AFTER: [i64; 2] = [1500, 100];
/// What each device changes, deletes and adds. Both change the ones in `BY_BOTH`: the device that syncs first wins.
const BY_THE_PHONE: Range<usize> = 0..100;
const BY_BOTH: Range<usize> = 100..120;
const BY_THE_TABLET: Range<usize> = 120..220;
const DELETED_BY_THE_PHONE: Range<usize> = 1000..1050;
const DELETED_BY_THE_TABLET: Range<usize> = 1050..1100;
const ADDED_BY_THE_PHONE: Range<usize> = CONTACTS..CONTACTS + 20;
const ADDED_BY_THE_TABLET: Range<usize> = CONTACTS + 20..CONTACTS + 40;
/// What the phone changes after the backup.
const LOST: Range<usize> = 300..320;
/// How often a device syncs until nothing fails. Only a killed service makes it fail.
const RUNS: usize = 5;

#[tokio::test]
#[ignore = "installs vdirsyncer: CI asks for it where it checks the services beside the port"]
async fn two_folders_of_the_reference_stay_in_step() {
    stay_in_step(Target::Solution(22)).await;
}

#[tokio::test]
#[ignore = "builds a service beside the port: CI asks for it where it checks those"]
async fn two_folders_of_the_kotlin_service_stay_in_step() {
    if let Some((name, ..)) = peer::named("kotlin-contacts") {
        stay_in_step(Target::Peer(name)).await;
    }
}

async fn stay_in_step(target: Target) {
    let mut site = Site::start(target).await;
    let folder = tempfile::tempdir().unwrap();
    let phone = Device::new(&site, folder.path(), "phone").await;
    let tablet = Device::new(&site, folder.path(), "tablet").await;
    let mut expected: BTreeMap<usize, String> = (0..CONTACTS)
        .map(|number| (number, card(number, "new")))
        .collect();
    for (number, card) in &expected {
        phone.write(*number, card);
    }

    phone.discover().await;
    phone.sync_while_killed(&mut site, KILLED_AFTER[0]).await;
    tablet.discover().await;
    tablet.sync().await;
    tablet.expect("after the upload", &expected);

    for (device, changed) in [
        (&tablet, [BY_BOTH, BY_THE_TABLET, ADDED_BY_THE_TABLET]),
        (&phone, [BY_BOTH, BY_THE_PHONE, ADDED_BY_THE_PHONE]),
    ] {
        for number in changed.into_iter().flatten() {
            let card = card(number, device.name);
            device.write(number, &card);
            expected.insert(number, card);
        }
    }
    for (device, deleted) in [
        (&phone, DELETED_BY_THE_PHONE),
        (&tablet, DELETED_BY_THE_TABLET),
    ] {
        for number in deleted {
            device.delete(number);
            expected.remove(&number);
        }
    }
    phone.sync().await;
    tablet.sync_while_killed(&mut site, KILLED_AFTER[1]).await;
    phone.sync().await;
    for device in [&phone, &tablet] {
        device.expect("after changes on both sides", &expected);
    }

    site.back_up().await;
    for number in LOST {
        phone.write(number, &card(number, "lost"));
    }
    phone.sync().await;
    tablet.sync().await;
    site.restore().await;
    for device in [&tablet, &phone] {
        device.sync().await;
    }
    tablet.expect("after the backup", &expected);
    // What vdirsyncer has uploaded itself, it compares with the contact from before its upload (class Update in its sync/__init__.py).
    // That's the contact that the backup has, so the phone sees no change and keeps its own.
    expected.extend(LOST.map(|number| (number, card(number, "lost"))));
    phone.expect("after the backup", &expected);
    site.stop().await;
}

/// What a device calls a contact.
fn card(number: usize, device: &str) -> String {
    let photo = if number.is_multiple_of(PHOTO_OF) {
        photo()
    } else {
        String::new()
    };
    format!(
        "BEGIN:VCARD\r\nVERSION:3.0\r\nUID:contact-{number}\r\nFN:Contact {number} {device}\r\nN:{number};Contact;;;\r\n{photo}END:VCARD\r\n"
    )
}

/// A photo in lines of 75 characters, as programs fold it.
fn photo() -> String {
    let lines = format!("\r\n {}", "A".repeat(74)).repeat(PHOTO / 74);
    format!("PHOTO;ENCODING=b;TYPE=JPEG:{lines}\r\n")
}

/// A folder of cards with what vdirsyncer knows of it.
struct Device {
    name: &'static str,
    vdirsyncer: &'static Path,
    configuration: PathBuf,
    cards: PathBuf,
}

impl Device {
    async fn new(site: &Site, folder: &Path, name: &'static str) -> Device {
        let folder = folder.join(name);
        let cards = folder.join("cards/contacts");
        fs::create_dir_all(&cards).unwrap();
        let configuration = folder.join("configuration");
        fs::write(&configuration, configuration_of(site, &folder)).unwrap();
        Device {
            name,
            vdirsyncer: vdirsyncer(&site.workspace).await,
            configuration,
            cards,
        }
    }

    fn path(&self, number: usize) -> PathBuf {
        self.cards.join(format!("contact-{number}.vcf"))
    }

    fn write(&self, number: usize, card: &str) {
        fs::write(self.path(number), card).unwrap();
    }

    fn delete(&self, number: usize) {
        fs::remove_file(self.path(number)).unwrap();
    }

    /// Finds the address book of a service of which it knows no more than the address.
    async fn discover(&self) {
        self.until_it_succeeds("discover").await;
    }

    async fn sync(&self) {
        self.until_it_succeeds("sync").await;
    }

    /// Syncs, and the service is killed after this many changes.
    async fn sync_while_killed(&self, site: &mut Site, after: i64) {
        let until = site.changes().await + after;
        let kill = async {
            let enough = async || (site.changes().await >= until).then_some(());
            within(Duration::from_secs(120), enough)
                .await
                .expect("changes that arrive");
            site.kill_and_start().await;
        };
        tokio::join!(self.sync(), kill);
    }

    async fn until_it_succeeds(&self, command: &str) {
        let mut said = String::new();
        for _ in 0..RUNS {
            let ran = self.run(command).await;
            if ran.status.success() {
                return;
            }
            said = String::from_utf8_lossy(&ran.stderr).into_owned();
        }
        panic!(
            "{}: vdirsyncer {command} failed {RUNS} times: {said}",
            self.name
        );
    }

    async fn run(&self, command: &str) -> Output {
        let mut vdirsyncer = Command::new(self.vdirsyncer);
        vdirsyncer
            .arg("--config")
            .arg(&self.configuration)
            .arg(command)
            .env("NO_PROXY", "*")
            .kill_on_drop(true);
        vdirsyncer.output().await.unwrap()
    }

    /// These cards are in the folder, and no others. XML knows no carriage return, so lines may have lost it.
    fn expect(&self, when: &str, expected: &BTreeMap<usize, String>) {
        let names = fs::read_dir(&self.cards).unwrap();
        let mut names: Vec<PathBuf> = names.map(|entry| entry.unwrap().path()).collect();
        let mut paths: Vec<PathBuf> = expected.keys().map(|number| self.path(*number)).collect();
        names.sort();
        paths.sort();
        assert_eq!(names, paths, "{} {when}", self.name);
        for (number, card) in expected {
            let there = fs::read_to_string(self.path(*number)).unwrap();
            let same = there.lines().eq(card.lines());
            assert!(same, "{} {when}, contact {number}: {there:.200}", self.name);
        }
    }
}

fn configuration_of(site: &Site, folder: &Path) -> String {
    let (address, folder) = (site.address, folder.display());
    format!(
        r#"[general]
status_path = "{folder}/status"

[pair contacts]
a = "cards"
b = "service"
collections = ["from b"]
conflict_resolution = "b wins"

[storage cards]
type = "filesystem"
path = "{folder}/cards"
fileext = ".vcf"

[storage service]
type = "carddav"
url = "http://{address}/"
username = "ada"
password = "secret"
"#
    )
}

/// The program, installed below `.workshop` unless it is there in this version.
async fn vdirsyncer(workspace: &Workspace) -> &'static Path {
    static PROGRAM: OnceCell<PathBuf> = OnceCell::const_new();
    PROGRAM.get_or_init(async || install(workspace).await).await
}

async fn install(workspace: &Workspace) -> PathBuf {
    let requirements = "tests/cli/tests/commands/contacts_client/vdirsyncer/requirements.txt";
    let requirements = workspace.root().join(requirements);
    let folder = workspace.state().join("peers/vdirsyncer");
    let (bin, stamp) = (folder.join("bin"), folder.join("requirements.txt"));
    let asked = fs::read(&requirements).unwrap();
    if fs::read(&stamp).is_ok_and(|installed| installed == asked) {
        return bin.join("vdirsyncer");
    }
    run(Command::new("python3")
        .args(["-m", "venv", "--clear"])
        .arg(&folder))
    .await;
    let pip =
        "install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement";
    run(Command::new(bin.join("pip"))
        .args(pip.split(' '))
        .arg(&requirements))
    .await;
    fs::write(stamp, asked).unwrap();
    bin.join("vdirsyncer")
}

async fn run(command: &mut Command) {
    let ran = command.output().await;
    let ran = ran.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{command:?}: {said}");
}
