//! `just image`: a PostgreSQL image from the programs on this machine, for rooms without a registry.
//!
//! The image holds the server, its libraries as `ldd` names them, a shell (busybox where there is one), and an entry
//! point that understands the variables of the official image as far as the course uses them. No registry, no
//! Dockerfile, no download: the engine imports a tar.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use futures_util::StreamExt;
use testcontainers::bollard::query_parameters::{
    CreateImageOptionsBuilder, ListImagesOptionsBuilder, RemoveImageOptionsBuilder,
};
use testcontainers::bollard::{Docker, body_try_stream};

use crate::BinariesFrom;
use crate::Settings;
use crate::binaries::Binaries;
use crate::docker;
use crate::maven;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// The name of the images that `just image` builds; the tag is PostgreSQL's major version.
pub const NAME: &str = "kotlin-to-rust-workshop-postgres";

/// Where programs that Maven brought stand in the image: they find their files from their own place.
const PREFIX: &str = "/usr/local/pgsql";

/// The user and group that the server runs as, as in Debian's official image.
const POSTGRES: u64 = 999;

/// The programs of the server that the image has, where this machine has them.
const PROGRAMS: [&str; 7] = [
    "postgres",
    "initdb",
    "pg_ctl",
    "pg_isready",
    "psql",
    "pgbench",
    "pg_controldata",
];

/// What the entry point and the tool call in the container.
const TOOLS: [&str; 11] = [
    "sh", "df", "id", "mkdir", "mv", "rm", "cat", "ls", "sleep", "kill", "ps",
];

/// The entry point. It makes the cluster at the first start, aside and renamed, so that an interrupted start counts
/// for nothing; then it becomes the server.
const ENTRY_POINT: &str = r#"#!/bin/sh
# Entry point of a local PostgreSQL image: understands POSTGRES_USER, POSTGRES_PASSWORD, POSTGRES_DB,
# POSTGRES_INITDB_ARGS and PGDATA as the official image does.
set -eu
umask 077
: "${POSTGRES_USER:=postgres}"
: "${POSTGRES_DB:=$POSTGRES_USER}"
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  if [ -z "${POSTGRES_PASSWORD:-}" ]; then
    echo "POSTGRES_PASSWORD is not set: docker run -e POSTGRES_PASSWORD=..." >&2
    exit 1
  fi
  rm -rf "$PGDATA" "$PGDATA.new" "$PGDATA.password"
  echo "$POSTGRES_PASSWORD" >"$PGDATA.password"
  # shellcheck disable=SC2086
  initdb --username "$POSTGRES_USER" --pwfile "$PGDATA.password" --auth scram-sha-256 --pgdata "$PGDATA.new" \
    ${POSTGRES_INITDB_ARGS:-}
  rm -f "$PGDATA.password"
  echo "host all all all scram-sha-256" >>"$PGDATA.new/pg_hba.conf"
  echo "listen_addresses = '*'" >>"$PGDATA.new/postgresql.conf"
  if [ "$POSTGRES_DB" != postgres ]; then
    echo "CREATE DATABASE \"$POSTGRES_DB\"" | postgres --single -D "$PGDATA.new" postgres
  fi
  mv "$PGDATA.new" "$PGDATA"
fi
unset POSTGRES_PASSWORD
case "${1:-postgres}" in
  postgres) [ $# -eq 0 ] || shift ;;
  -*) ;;
  *) exec "$@" ;;
esac
exec postgres -D "$PGDATA" "$@"
"#;

/// An image that was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// Its name and tag.
    pub name: String,
    /// The size of its files.
    pub bytes: u64,
    /// Where the programs in it came from.
    pub bin: PathBuf,
}

/// Builds the image. Says what it does.
///
/// # Errors
/// When there is no engine, this is no Linux, there are no programs, or a library cannot be found.
pub async fn build(workspace: &Workspace) -> anyhow::Result<Built> {
    if !cfg!(target_os = "linux") {
        return Err(Trouble::new("an image needs programs for Linux, which this machine has not")
            .expected("a machine with Linux, of the same kind of processor as the one that runs the image")
            .next(format!(
                "docker save {NAME} on such a machine, docker load on this one; or docker pull {}",
                docker::OFFICIAL
            ))
            .into());
    }
    let engine = docker::engine()
        .await
        .map_err(|unusable| unusable.trouble())?;
    let found = match Settings::from_env()?.binaries {
        None => Binaries::find(workspace),
        Some(BinariesFrom::System) => Binaries::system(),
        Some(BinariesFrom::Maven) => maven::present(workspace),
    };
    let binaries = found.ok_or_else(|| {
        Trouble::new("PostgreSQL's programs are not on this machine")
            .expected("postgres, initdb and pg_ctl of version 14 or later")
            .next(
                "install PostgreSQL (Debian, Ubuntu: sudo apt install postgresql), or have Maven bring the programs \
                 (WORKSHOP_POSTGRES=embedded WORKSHOP_POSTGRES_BINARIES=maven just seed small); then just image again",
            )
    })?;
    eprintln!(
        "PostgreSQL {} from {}",
        binaries.version,
        binaries.bin.display()
    );
    let tag = binaries.version.major.to_string();
    let bin = binaries.bin.clone();
    let (tar, libraries, bytes) = tokio::task::spawn_blocking(move || pack(&binaries)).await??;
    eprintln!("{} MB of files", bytes / 1_000_000);
    let changes = changes(&in_image(&bin, &bin), &libraries);
    let options = CreateImageOptionsBuilder::new()
        .from_src("-")
        .repo(NAME)
        .tag(&tag)
        .changes(changes)
        .build();
    let file = tokio::fs::File::from_std(tar);
    // In pieces: the tool stays small whatever the image weighs.
    let pieces = futures_util::stream::try_unfold(file, async |mut file| {
        let mut piece = vec![0; 1 << 18];
        let length = tokio::io::AsyncReadExt::read(&mut file, &mut piece).await?;
        piece.truncate(length);
        Ok((length > 0).then(|| (piece.into(), file)))
    });
    let mut answers =
        std::pin::pin!(engine.create_image(Some(options), Some(body_try_stream(pieces)), None));
    while let Some(answer) = answers.next().await {
        answer.context("the Docker engine does not import the image")?;
    }
    let name = format!("{NAME}:{tag}");
    engine
        .inspect_image(&name)
        .await
        .with_context(|| format!("the Docker engine has no {name} after importing it"))?;
    Ok(Built { name, bytes, bin })
}

/// The images that `just image` built on this engine.
pub(super) async fn local(engine: &Docker) -> Vec<String> {
    let filters = HashMap::from([("reference".to_owned(), vec![NAME.to_owned()])]);
    let options = ListImagesOptionsBuilder::new().filters(&filters).build();
    let images = engine.list_images(Some(options)).await.unwrap_or_default();
    images
        .into_iter()
        .flat_map(|image| image.repo_tags)
        .filter(|tag| tag.starts_with(NAME))
        .collect()
}

/// Removes an image.
///
/// # Errors
/// When a container still uses it.
pub(super) async fn remove(engine: &Docker, name: &str) -> anyhow::Result<()> {
    let options = RemoveImageOptionsBuilder::new().build();
    engine
        .remove_image(name, Some(options), None)
        .await
        .with_context(|| format!("cannot remove the image {name}"))?;
    Ok(())
}

/// What the image says about itself, in the words of a Dockerfile.
fn changes(bin: &Path, libraries: &BTreeSet<PathBuf>) -> Vec<String> {
    let search: Vec<_> = libraries
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    vec![
        format!("ENV PATH={}:/usr/bin:/bin", bin.display()),
        format!("ENV LD_LIBRARY_PATH={}", search.join(":")),
        "ENV PGDATA=/var/lib/postgresql/data/cluster".to_owned(),
        "ENV LC_ALL=C".to_owned(),
        "USER postgres".to_owned(),
        "WORKDIR /var/lib/postgresql".to_owned(),
        "VOLUME /var/lib/postgresql/data".to_owned(),
        "EXPOSE 5432".to_owned(),
        "ENTRYPOINT [\"/entry-point.sh\"]".to_owned(),
        "CMD [\"postgres\"]".to_owned(),
    ]
}

/// The image's files as a tar in a temporary file (at its start again), the folders of the libraries, and the size.
fn pack(binaries: &Binaries) -> anyhow::Result<(File, BTreeSet<PathBuf>, u64)> {
    let missing = |what: &str| {
        Trouble::new(format!(
            "the PostgreSQL in {} has no {what}",
            binaries.bin.display()
        ))
        .expected("a whole installation of the server")
        .next("install PostgreSQL with your package manager, then just image again")
    };
    let libdir = binaries.libraries().ok_or_else(|| missing("libraries"))?;
    let share = binaries.share().ok_or_else(|| missing("shared files"))?;
    // Path in the image, path here. A link is followed: the file stands under the name that is asked for.
    let mut files: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    let place = |path: &Path| match binaries.from {
        BinariesFrom::System => path.to_path_buf(),
        BinariesFrom::Maven => in_image(&binaries.bin, path),
    };
    let mut programs: Vec<PathBuf> = PROGRAMS
        .iter()
        .filter_map(|name| binaries.has(name))
        .collect();
    for program in &programs {
        files.insert(place(program), program.clone());
    }
    for library in walk(&libdir)? {
        let name = library
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        // The compiler for queries pulls in 100 MB of LLVM; the server runs without.
        if !name.contains(".so") || name.starts_with("llvmjit") {
            continue;
        }
        // An extension whose libraries are not here (another Python, say) could not be loaded on this machine either.
        if missing_library(&ldd(&library)?).is_none() {
            files.insert(place(&library), library.clone());
            programs.push(library);
        }
    }
    for file in walk(&share)? {
        if !file.starts_with(share.join("man")) && !file.starts_with(share.join("doc")) {
            files.insert(place(&file), file);
        }
    }
    for zone in ["UTC", "GMT", "Etc/UTC"] {
        let path = Path::new("/usr/share/zoneinfo").join(zone);
        if path.is_file() {
            files.insert(path.clone(), path);
        }
    }
    let shell = Shell::find()?;
    programs.extend(shell.programs());
    for (inside, here) in shell.files() {
        files.insert(inside, here);
    }
    let mut folders = BTreeSet::new();
    for library in libraries_of(&programs)? {
        let inside = place(&library);
        folders.extend(inside.parent().map(Path::to_path_buf));
        files.insert(inside, library);
    }
    let mut tar = tar::Builder::new(BufWriter::new(
        tempfile::tempfile().context("cannot make a temporary file")?,
    ));
    tar.follow_symlinks(true);
    let mut bytes = 0;
    for (inside, here) in &files {
        let mut file =
            File::open(here).with_context(|| format!("cannot read {}", here.display()))?;
        let metadata = file.metadata()?;
        bytes += metadata.len();
        let mode = if metadata.permissions().mode() & 0o111 == 0 {
            0o644
        } else {
            0o755
        };
        append(&mut tar, inside, metadata.len(), mode, &mut file)?;
    }
    for (link, target) in shell.links() {
        let mut header = header(tar::EntryType::Symlink, 0, 0o777, 0);
        tar.append_link(&mut header, relative(&link), target)?;
    }
    let text = [
        (
            "/etc/passwd",
            format!(
                "root:x:0:0::/:/bin/sh\npostgres:x:{POSTGRES}:{POSTGRES}::/var/lib/postgresql:/bin/sh\n"
            ),
        ),
        ("/etc/group", format!("root:x:0:\npostgres:x:{POSTGRES}:\n")),
        (
            "/etc/nsswitch.conf",
            "passwd: files\ngroup: files\nhosts: files dns\n".to_owned(),
        ),
    ];
    for (path, content) in text {
        append(
            &mut tar,
            Path::new(path),
            content.len() as u64,
            0o644,
            &mut content.as_bytes(),
        )?;
    }
    append(
        &mut tar,
        Path::new("/entry-point.sh"),
        ENTRY_POINT.len() as u64,
        0o755,
        &mut ENTRY_POINT.as_bytes(),
    )?;
    for (path, mode, owner) in [
        ("/tmp", 0o1777, 0),
        ("/var/run/postgresql", 0o755, POSTGRES),
        ("/run/postgresql", 0o755, POSTGRES),
        ("/var/lib/postgresql", 0o755, POSTGRES),
        ("/var/lib/postgresql/data", 0o700, POSTGRES),
    ] {
        let mut header = header(tar::EntryType::Directory, 0, mode, owner);
        tar.append_data(&mut header, relative(Path::new(path)), std::io::empty())?;
    }
    let mut out = tar.into_inner()?;
    out.flush()?;
    let mut file = out
        .into_inner()
        .map_err(std::io::IntoInnerError::into_error)?;
    std::io::Seek::rewind(&mut file)?;
    Ok((file, folders, bytes))
}

/// A path beside the programs, as it stands in the image; elsewhere it stays what it is.
fn in_image(bin: &Path, path: &Path) -> PathBuf {
    let home = bin.parent().unwrap_or(bin);
    let maven = home
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("binaries-"));
    match path.strip_prefix(home) {
        Ok(rest) if maven => Path::new(PREFIX).join(rest),
        _ => path.to_path_buf(),
    }
}

fn header(kind: tar::EntryType, size: u64, mode: u32, owner: u64) -> tar::Header {
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(mode);
    header.set_uid(owner);
    header.set_gid(owner);
    header.set_mtime(0);
    header
}

fn append(
    tar: &mut tar::Builder<BufWriter<File>>,
    path: &Path,
    size: u64,
    mode: u32,
    content: &mut dyn Read,
) -> anyhow::Result<()> {
    let mut header = header(tar::EntryType::Regular, size, mode, 0);
    tar.append_data(&mut header, relative(path), content)
        .with_context(|| format!("cannot pack {}", path.display()))
}

/// Names in a tar have no root.
fn relative(path: &Path) -> &Path {
    path.strip_prefix("/").unwrap_or(path)
}

/// Every file below a folder.
fn walk(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder)
            .with_context(|| format!("cannot list {}", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file() {
                files.push(path);
            }
        }
    }
    Ok(files)
}

/// What `ldd` says of a program or library.
fn ldd(program: &Path) -> anyhow::Result<String> {
    let output = Command::new("ldd")
        .arg(program)
        .output()
        .context("cannot run ldd")?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The first library that `ldd` could not find.
fn missing_library(text: &str) -> Option<&str> {
    text.lines()
        .find(|line| line.contains("not found"))
        .map(str::trim)
}

/// A path without `..`, so that it can stand in a tar: `bin/../lib/libz.so` is `lib/libz.so`.
fn without_detours(path: &str) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in Path::new(path).components() {
        if part == std::path::Component::ParentDir {
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    plain
}

/// The shared libraries that programs need, the loader among them, as `ldd` names them.
fn libraries_of(programs: &[PathBuf]) -> anyhow::Result<BTreeSet<PathBuf>> {
    let mut libraries = BTreeSet::new();
    for program in programs {
        let text = ldd(program)?;
        if let Some(line) = missing_library(&text) {
            return Err(Trouble::new(format!(
                "a library of {} is missing: {line}",
                program.display()
            ))
            .expected("programs that run on this machine")
            .next("install PostgreSQL anew with your package manager, then just image again")
            .into());
        }
        libraries.extend(parse_ldd(&text));
    }
    // Looked up by the C library at run time, so ldd does not name it; part of the C library from 2.34 on.
    let names: Vec<PathBuf> = libraries
        .iter()
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("libc.so"))
        })
        .filter_map(|path| path.parent().map(|folder| folder.join("libnss_files.so.2")))
        .filter(|path| path.is_file())
        .collect();
    libraries.extend(names);
    Ok(libraries)
}

/// Reads lines such as `libz.so.1 => /lib/libz.so.1 (0x7f…)` and `/lib64/ld-linux-x86-64.so.2 (0x7f…)`.
fn parse_ldd(text: &str) -> impl Iterator<Item = PathBuf> {
    text.lines().filter_map(|line| {
        let path = line
            .split_once("=>")
            .map_or(line, |(_, path)| path)
            .split_whitespace()
            .next()?;
        path.starts_with('/').then(|| without_detours(path))
    })
}

/// The shell and the small programs of the image.
enum Shell {
    /// One program for all; statically linked on Debian.
    Busybox(PathBuf),
    /// The machine's own.
    Own(Vec<PathBuf>),
}

impl Shell {
    fn find() -> anyhow::Result<Self> {
        if let Some(busybox) = on_path("busybox") {
            return Ok(Shell::Busybox(busybox));
        }
        let own: Vec<PathBuf> = TOOLS.iter().filter_map(|name| on_path(name)).collect();
        if own.iter().any(|path| path.ends_with("sh")) {
            return Ok(Shell::Own(own));
        }
        Err(Trouble::new("there is no shell to put into the image")
            .expected("busybox or sh on the PATH")
            .next("sudo apt install busybox-static, then just image again")
            .into())
    }

    /// What `ldd` must look at.
    fn programs(&self) -> Vec<PathBuf> {
        match self {
            Shell::Busybox(path) => vec![path.clone()],
            Shell::Own(paths) => paths.clone(),
        }
    }

    /// Path in the image, path here.
    fn files(&self) -> Vec<(PathBuf, PathBuf)> {
        match self {
            Shell::Busybox(path) => vec![(PathBuf::from("/bin/busybox"), path.clone())],
            Shell::Own(paths) => paths
                .iter()
                .map(|path| {
                    (
                        Path::new("/bin").join(path.file_name().unwrap_or_default()),
                        path.clone(),
                    )
                })
                .collect(),
        }
    }

    /// Links in the image, and what they lead to.
    fn links(&self) -> Vec<(PathBuf, &'static str)> {
        match self {
            Shell::Busybox(_) => TOOLS
                .iter()
                .map(|name| (Path::new("/bin").join(name), "busybox"))
                .collect(),
            Shell::Own(_) => Vec::new(),
        }
    }
}

fn on_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ldds_lines_give_the_paths_and_the_loader() {
        let text = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibz.so.1 => /lib/x86_64-linux-gnu/libz.so.1 (0x00007f)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x00007f)\n";
        let paths: Vec<_> = parse_ldd(text).collect();
        assert_eq!(
            paths,
            [
                Path::new("/lib/x86_64-linux-gnu/libz.so.1"),
                Path::new("/lib64/ld-linux-x86-64.so.2")
            ]
        );
        assert_eq!(parse_ldd("\tstatically linked\n").count(), 0);
        let detour: Vec<_> =
            parse_ldd("\tlibz.so.1 => /pg/bin/../lib/libz.so.1 (0x00007f)\n").collect();
        assert_eq!(detour, [Path::new("/pg/lib/libz.so.1")]);
        assert_eq!(
            missing_library("\tlibpython3.6m.so.1.0 => not found\n"),
            Some("libpython3.6m.so.1.0 => not found")
        );
    }

    #[test]
    fn programs_that_maven_brought_do_not_carry_this_machines_paths_into_the_image() {
        let bin = Path::new("/home/anna/course/.workshop/postgres/embedded/binaries-18.6.0/bin");
        assert_eq!(
            in_image(bin, &bin.join("postgres")),
            Path::new("/usr/local/pgsql/bin/postgres")
        );
        assert_eq!(
            in_image(bin, Path::new("/lib/libc.so.6")),
            Path::new("/lib/libc.so.6")
        );
        let system = Path::new("/usr/lib/postgresql/15/bin");
        assert_eq!(
            in_image(system, &system.join("postgres")),
            system.join("postgres")
        );
    }
}
