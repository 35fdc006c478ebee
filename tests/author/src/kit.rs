//! `just kit DIR`: the offline kit, with which a machine that has the languages, and no network, can do the whole course.
//! `./justw --kit DIR` unpacks it there.
//!
//! Few large files, since sticks are slow with many small ones and forget which files are programs. `kit.txt` is written last and
//! has the checksum of each of the others.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::program::cargo_command;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::{Workspace, repository_option};
use workshop_base::{files, probe, program, scratch};
use workshop_book::render::render;
use workshop_harness::build::{jdk, maven};

/// The list of what belongs to a kit.
const LIST: &str = "kit.txt";
/// What decides which crates, artifacts and tools are needed, one after the other: `justw` compares it with the checkout's.
const INPUTS: &str = "inputs.txt";
/// Its parts; the tools of a platform are in another one for each.
const PARTS: [&str; 7] = [
    LIST,
    INPUTS,
    COURSE,
    "crates.tar.gz",
    "maven.tar",
    "book.tar",
    "postgres-image.tar",
];
/// PostgreSQL's programs in a Maven repository. They are of one platform, as the tools are.
const POSTGRES: &str = "maven/io/zonky";
/// The repository, to be cloned.
const COURSE: &str = "course.bundle";
/// The smallest module there is: Maven needs any, to bring the plugin that compiles modules.
const EMPTY_MODULE: &[u8] = b"\0asm\x01\0\0\0";

/// Makes the kit in a folder. A kit of the same state of the course keeps what it has for other platforms.
pub async fn run(workspace: &Workspace, kit: &Path) -> anyhow::Result<Outcome> {
    let inputs = inputs(workspace)?;
    make_room(kit, &inputs)?;
    let workbench = scratch::folder_in_checkout(workspace, "kit")?;
    let at = |path: &str| workbench.path().join(path);

    step("the crates");
    let vendor = "vendor --locked --versioned-dirs --respect-source-config --quiet";
    let crates = at("crates");
    let vendor: Vec<&OsStr> = vendor
        .split(' ')
        .map(OsStr::new)
        .chain([crates.as_os_str()])
        .collect();
    said(
        cargo_command(),
        workspace.root(),
        &vendor,
        "./justw tour, which brings the crates as well",
    )
    .await?;
    pack(kit, "crates.tar.gz", workbench.path(), &["-cz", "crates"]).await?;

    step("what Maven needs, in a repository of its own");
    let repository = repository_option(&at("maven"));
    let (folder, options) = (workbench.path().to_owned(), [repository.clone()]);
    let brought = move || workshop_postgres::bring_artifact(&folder, &options);
    let brought = probe::on_a_thread(brought).await;
    brought.context("Maven's step has ended in a panic")??;
    kotlin_builds(workspace, &workbench, &repository).await?;
    // Maven notes where an artifact came from, and doubts it on a machine that has no registry of that name.
    let notes = "maven -name _remote.repositories -delete -o -name *.lastUpdated -delete";
    let notes: Vec<&str> = notes.split(' ').collect();
    said(
        Command::new("find"),
        workbench.path(),
        &notes,
        "just kit once more",
    )
    .await?;
    let excluded = format!("--exclude={POSTGRES}");
    pack(
        kit,
        "maven.tar",
        workbench.path(),
        &["-c", &excluded, "maven"],
    )
    .await?;

    step("the tools of this platform");
    fs::create_dir(at("bin"))?;
    for tool in ["just", "mdbook", "oha", "hyperfine"] {
        let program = probe::tool(workspace, tool).ok_or_else(|| {
            Trouble::new(format!("there is no {tool} to put into the kit"))
                .next(format!("./justw --bring {tool}"))
        })?;
        fs::copy(&program, at("bin").join(tool))?;
    }
    // What this system and processor are called.
    let platform = said(Command::new("uname"), kit, &["-sm"], "just doctor").await?;
    let platform = format!("platform-{}.tar", platform.trim().replace(' ', "-"));
    pack(kit, &platform, workbench.path(), &["-c", "bin", POSTGRES]).await?;

    step("the book, and the course itself");
    render(workspace, Some(&at("book")))?;
    pack(kit, "book.tar", workbench.path(), &["-c", "book"]).await?;
    bundle(workspace.root(), &std::path::absolute(kit)?.join(COURSE)).await?;

    step("an image of PostgreSQL");
    let file = kit.join("postgres-image.tar");
    match workshop_postgres::save_image(&file).await? {
        Some(image) => {
            // Docker writes it for its owner alone; the kit may lie on a share.
            fs::set_permissions(&file, fs::Permissions::from_mode(0o644))?;
            println!("  {image}");
        }
        None => println!(
            "  none: no Docker engine here has one. Machines without it use PostgreSQL's programs, which are in the kit"
        ),
    }
    fs::write(kit.join(INPUTS), inputs)?;
    list(workspace, kit).await
}

fn step(what: &str) {
    println!("{}", paint(Style::Strong, what));
}

/// The contents of the files that decide what is needed, in the order in which `justw` reads them.
fn inputs(workspace: &Workspace) -> anyhow::Result<String> {
    let catalogue = Catalogue::read(workspace)?;
    let mut paths = vec![
        workspace.root().join("Cargo.lock"),
        workspace.root().join("tests/tools.toml"),
        workspace.kotlin_service().join("pom.xml"),
    ];
    paths.extend(glue(workspace, &catalogue).map(|folder| folder.join("pom.xml")));
    paths.iter().map(|path| files::text(path)).collect()
}

/// The Maven projects of the references, by number.
fn glue<'a>(
    workspace: &'a Workspace,
    catalogue: &'a Catalogue,
) -> impl Iterator<Item = PathBuf> + 'a {
    let calling = catalogue
        .iter()
        .filter(|exercise: &&Exercise| exercise.calls().is_some());
    calling.map(|exercise| exercise.solution(workspace))
}

/// Sees to an empty folder, or one with a kit, which is not complete from now on.
fn make_room(kit: &Path, inputs: &str) -> anyhow::Result<()> {
    fs::create_dir_all(kit).with_context(|| format!("cannot make {}", kit.display()))?;
    let is_empty = fs::read_dir(kit)?.next().is_none();
    let is_kit = kit.join(LIST).is_file() || kit.join("crates.tar.gz").is_file();
    if !is_empty && !is_kit {
        return Trouble::new(format!(
            "{} has other files in it than a kit's",
            kit.display()
        ))
        .expected("an empty folder, one that is not there yet, or an older kit")
        .next(format!("just kit {}", kit.join("kit").display()))
        .err();
    }
    let is_of_this_state =
        files::read_if_there(&kit.join(INPUTS))?.as_deref() == Some(inputs.as_bytes());
    for entry in fs::read_dir(kit)? {
        let entry = entry?;
        let is_kept =
            is_of_this_state && entry.file_name().to_string_lossy().starts_with("platform-");
        if is_part(&entry.path()) && !is_kept {
            files::remove(&entry.path())?;
        }
    }
    Ok(())
}

/// True for the files that a kit consists of: all others in its folder are somebody's own.
fn is_part(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_platform = name.starts_with("platform-") && name.ends_with(".tar");
    (PARTS.contains(&name) || is_platform) && path.is_file()
}

/// Does what Maven does in the course, in copies of its projects, so that the repository has all that this needs.
async fn kotlin_builds(
    workspace: &Workspace,
    workbench: &scratch::Folder,
    repository: &str,
) -> anyhow::Result<()> {
    let jdk = match jdk::elsewhere(jdk::CALLS_NATIVE) {
        Some(newer) => newer,
        None => jdk::find(jdk::CALLS_NATIVE, "compiling the Kotlin of exercise 19")?,
    };
    let service = copied(&workspace.kotlin_service(), workbench)?;
    let build = async |project: &Path, args: &[String]| {
        let mut all = vec![repository.to_owned()];
        all.extend_from_slice(args);
        let trouble = Trouble::new("Maven failed")
            .expected("a network, and a checkout whose Kotlin is unchanged")
            .next("just check kotlin");
        let output = maven::maven(project, &jdk.home, &all).await?;
        program::printed(&output, trouble)?;
        anyhow::Ok(())
    };
    build(&service, &["package".to_owned()]).await?;
    let module = workbench.path().join("empty.wasm");
    fs::write(&module, EMPTY_MODULE)?;
    let settings = [
        format!(
            "-Dkotlin.service.jar={}",
            service.join("target/kotlin-service.jar").display()
        ),
        format!("-Dqrcode.module={}", module.display()),
        "compile".to_owned(),
    ];
    for project in glue(workspace, &Catalogue::read(workspace)?) {
        build(&copied(&project, workbench)?, &settings).await?;
    }
    Ok(())
}

/// A copy of a Maven project beside the other parts, without what was built in it.
fn copied(project: &Path, workbench: &scratch::Folder) -> anyhow::Result<PathBuf> {
    let name = project.file_name().context("a project without a name")?;
    let copy = workbench.path().join("projects").join(name);
    for (path, content) in files::read_tree(project)? {
        files::write_atomically(&copy.join(path), &content)?;
    }
    Ok(copy)
}

/// Packs parts of the workbench into one file of the kit.
async fn pack(kit: &Path, name: &str, workbench: &Path, args: &[&str]) -> anyhow::Result<()> {
    let file = std::path::absolute(kit)?.join(name);
    let file = file.to_string_lossy();
    let args = [&args[..1], &["-f", &file], &args[1..]].concat();
    said(
        Command::new("tar"),
        workbench,
        &args,
        "see how much room is left on that disk: df -h",
    )
    .await?;
    let megabytes = kit.join(name).metadata()?.len() as f64 / 1e6;
    println!("  {name}, {megabytes:.0} MB");
    Ok(())
}

/// Puts the repository into one file. The branch goes with it by name, so that a clone of the file is on that branch.
async fn bundle(root: &Path, file: &Path) -> anyhow::Result<()> {
    let branch = Command::new("git")
        .args(["symbolic-ref", "--quiet", "HEAD"])
        .current_dir(root)
        .output()
        .context("cannot run git")?;
    let branch = String::from_utf8(branch.stdout)?;
    let file = file.to_string_lossy();
    let mut bundle = vec!["bundle", "create", "--quiet", &file, "HEAD"];
    // Nothing where a commit is checked out without a branch.
    bundle.extend(branch.split_whitespace());
    said(Command::new("git"), root, &bundle, "git status").await?;
    Ok(())
}

/// Runs a program that has to end well, in a folder; what it said.
async fn said(
    mut command: Command,
    folder: &Path,
    args: &[impl AsRef<OsStr>],
    next: &str,
) -> anyhow::Result<String> {
    command.args(args).current_dir(folder);
    let what = format!("{} failed", command.get_program().display());
    Ok(program::said(command, Trouble::new(what).next(next)).await?)
}

/// Writes the list, which makes the kit complete, and says what to do with it.
async fn list(workspace: &Workspace, kit: &Path) -> anyhow::Result<Outcome> {
    let mut names = Vec::new();
    for entry in fs::read_dir(kit)? {
        let entry = entry?;
        names.extend(is_part(&entry.path()).then(|| entry.file_name()));
    }
    names.sort();
    let sums = said(Command::new("cksum"), kit, &names, "just kit once more").await?;
    let commit = ["rev-parse", "--short", "HEAD"];
    let commit = said(Command::new("git"), workspace.root(), &commit, "git status").await?;
    let version = env!("CARGO_PKG_VERSION");
    fs::write(kit.join(LIST), format!("course {version} {commit}{sums}"))?;
    println!(
        "the kit is complete. On each machine: git clone {0}/{COURSE} kotlin-to-rust; cd kotlin-to-rust; ./justw --kit {0}",
        kit.display()
    );
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_clone_of_the_bundle_is_on_the_branch_and_git_warns_of_nothing() -> anyhow::Result<()>
    {
        let folder = tempfile::tempdir()?;
        let git = |args: &[&str]| -> anyhow::Result<String> {
            let output = Command::new("git")
                .args(["-c", "user.name=a", "-c", "user.email=a@example.com"])
                .args(["-c", "commit.gpgsign=false"])
                .args(args)
                .current_dir(folder.path())
                .output()?;
            anyhow::ensure!(output.status.success(), "git {args:?}: {output:?}");
            Ok(String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?)
        };
        git(&["init", "--quiet", "--initial-branch", "course"])?;
        git(&["commit", "--quiet", "--allow-empty", "--message", "One"])?;
        bundle(folder.path(), &folder.path().join(COURSE)).await?;
        let said = git(&["clone", COURSE, "clone"])?;
        assert!(!said.contains("detached"), "{said}");
        let branch = git(&["-C", "clone", "symbolic-ref", "--short", "HEAD"])?;
        assert_eq!(branch, "course\n");
        Ok(())
    }

    #[test]
    fn only_a_kit_is_written_over_and_other_platforms_stay_with_the_same_state()
    -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name);
        fs::write(at("holiday.jpg"), "")?;
        let own = ["slides.tar.gz", "readme.txt", "talk.tar", "mine.bundle"];
        for name in own {
            fs::write(at(name), "")?;
        }
        fs::create_dir(at("photos.tar"))?;
        assert!(make_room(folder.path(), "a").is_err() && at("holiday.jpg").is_file());
        for (state, stays) in [("a", true), ("b", false)] {
            for name in [LIST, "crates.tar.gz", "platform-Plan9-mips.tar"] {
                fs::write(at(name), "")?;
            }
            fs::write(at(INPUTS), "a")?;
            make_room(folder.path(), state)?;
            assert_eq!(at("platform-Plan9-mips.tar").exists(), stays);
            assert!(at("holiday.jpg").is_file() && !at(LIST).exists());
            assert!(own.iter().all(|name| at(name).is_file()) && at("photos.tar").is_dir());
        }
        Ok(())
    }
}
