//! The checks of the book as mdBook rendered it: everything loads without a network, and every link arrives.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::fault::Fault;

use crate::fault::Problem;
use crate::site::normal;

/// One start tag with its attributes.
struct Tag<'a> {
    name: &'a str,
    attributes: HashMap<&'a str, String>,
    offset: usize,
}

/// The faults of the rendered book in this folder.
///
/// # Errors
/// When the folder cannot be read.
pub fn check(folder: &Path) -> anyhow::Result<Vec<Fault>> {
    let files = files(folder)?;
    let mut pages = HashMap::new();
    for file in files.iter().filter(|file| has_extension(file, "html")) {
        let text = std::fs::read_to_string(folder.join(file))
            .with_context(|| format!("cannot read {}", file.display()))?;
        pages.insert(file.clone(), text);
    }
    let ids: HashMap<&PathBuf, HashSet<String>> =
        pages.iter().map(|(file, text)| (file, ids(text))).collect();
    let mut faults = Vec::new();
    for (file, text) in &pages {
        for tag in tags(text) {
            let line = 1 + text[..tag.offset].matches('\n').count();
            let mut fault = |problem: Problem| {
                faults.push(Fault::new(Path::new("book-html").join(file), line, problem))
            };
            if tag.name == "code"
                && tag
                    .attributes
                    .get("class")
                    .is_some_and(|class| class.split(' ').any(|class| class == "mdbook-runnable"))
            {
                fault(Problem::new(
                    "code with a button that runs it elsewhere",
                    "set runnable = false in book.toml",
                ));
            }
            for (attribute, target) in loads(&tag) {
                if is_remote(target) {
                    fault(Problem::new(
                        format!("<{} {attribute}> loads {target} from elsewhere", tag.name),
                        "keep it in the book; everything must load without a network",
                    ));
                } else if let Some(there) = local(file, target)
                    && !files.contains(&there)
                {
                    fault(Problem::new(
                        format!(
                            "<{} {attribute}> loads {target}, which is not there",
                            tag.name
                        ),
                        "see where the theme or the page names it",
                    ));
                }
            }
            if tag.name == "a"
                && let Some(target) = tag.attributes.get("href")
                && !is_remote(target)
                && let Some(problem) = dead(file, target, &files, &ids)
            {
                fault(problem);
            }
        }
    }
    for file in files.iter().filter(|file| has_extension(file, "css")) {
        let text = std::fs::read_to_string(folder.join(file))
            .with_context(|| format!("cannot read {}", file.display()))?;
        for (index, line) in text.lines().enumerate() {
            let remote = ["url(http", "url('http", "url(\"http", "url(//", "@import"]
                .iter()
                .any(|mark| line.contains(mark));
            if remote {
                let problem = Problem::new(
                    "a stylesheet that loads something from elsewhere",
                    "keep it in the book; everything must load without a network",
                );
                faults.push(Fault::new(
                    Path::new("book-html").join(file),
                    index + 1,
                    problem,
                ));
            }
        }
    }
    faults.sort();
    Ok(faults)
}

/// Every file below the folder, relative to it.
fn files(folder: &Path) -> anyhow::Result<HashSet<PathBuf>> {
    let mut files = HashSet::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(relative) = folders.pop() {
        let here = folder.join(&relative);
        for entry in
            std::fs::read_dir(&here).with_context(|| format!("cannot list {}", here.display()))?
        {
            let entry = entry?;
            let path = relative.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else {
                files.insert(path);
            }
        }
    }
    Ok(files)
}

fn has_extension(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|there| there == extension)
}

/// What a browser fetches for this tag by itself.
fn loads<'a>(tag: &'a Tag<'_>) -> Vec<(&'static str, &'a str)> {
    let attributes: &[&'static str] = match tag.name {
        "script" | "img" | "iframe" | "source" | "video" | "audio" | "embed" | "track"
        | "input" => &["src", "srcset", "poster"],
        "link" | "use" | "image" => &["href"],
        "object" => &["data"],
        _ => &[],
    };
    attributes
        .iter()
        .filter_map(|name| Some((*name, tag.attributes.get(name)?.as_str())))
        .collect()
}

fn is_remote(target: &str) -> bool {
    target.starts_with("//")
        || target.split_once(':').is_some_and(|(scheme, _)| {
            !scheme.is_empty() && scheme.chars().all(|c| c.is_ascii_alphanumeric())
        })
}

/// The file that a relative target names; none for an empty one.
fn local(file: &Path, target: &str) -> Option<PathBuf> {
    let path = target.split(['#', '?']).next().unwrap_or_default();
    if path.is_empty() {
        return None;
    }
    let decoded = path.replace("%20", " ");
    Some(match decoded.strip_prefix('/') {
        Some(from_root) => normal(Path::new(from_root)),
        None => normal(&file.parent().unwrap_or(Path::new("")).join(decoded)),
    })
}

/// Why this link does not arrive.
fn dead(
    file: &Path,
    target: &str,
    files: &HashSet<PathBuf>,
    ids: &HashMap<&PathBuf, HashSet<String>>,
) -> Option<Problem> {
    let there = local(file, target).unwrap_or_else(|| file.to_path_buf());
    if !files.contains(&there) {
        return Some(Problem::new(
            format!("the link {target} leads nowhere"),
            "correct it in the page that this one is made of",
        ));
    }
    let id = target
        .split_once('#')
        .map(|(_, id)| id)
        .filter(|id| !id.is_empty())?;
    let known = ids
        .get(&there)
        .is_none_or(|ids| ids.contains(id) || ids.contains(&id.replace("%20", " ")));
    (!known).then(|| {
        Problem::new(
            format!("the link {target} leads to no place on {}", there.display()),
            "correct the part after #",
        )
    })
}

fn ids(text: &str) -> HashSet<String> {
    tags(text)
        .into_iter()
        .filter_map(|mut tag| tag.attributes.remove("id"))
        .collect()
}

/// The start tags of an HTML text as mdBook writes it: attributes quoted, scripts and comments skipped.
fn tags(text: &str) -> Vec<Tag<'_>> {
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('<') {
        let start = at + found;
        let rest = &text[start..];
        if rest.starts_with("<!--") {
            at = rest.find("-->").map_or(text.len(), |end| start + end + 3);
            continue;
        }
        let name_end = rest[1..]
            .find(|c: char| !c.is_ascii_alphanumeric())
            .map_or(rest.len(), |end| end + 1);
        let name = &rest[1..name_end];
        if name.is_empty() {
            at = start + 1;
            continue;
        }
        let (attributes, length) = attributes(&rest[name_end..]);
        at = start + name_end + length;
        if matches!(name, "script" | "style") {
            at = text[at..]
                .find(&format!("</{name}"))
                .map_or(text.len(), |end| at + end);
        }
        tags.push(Tag {
            name,
            attributes,
            offset: start,
        });
    }
    tags
}

/// The attributes up to the tag's end, and how long they are.
fn attributes(text: &str) -> (HashMap<&str, String>, usize) {
    let mut attributes = HashMap::new();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let skipped = rest.len()
            - rest
                .trim_start_matches(|c: char| c.is_whitespace() || c == '/')
                .len();
        at += skipped;
        let rest = &text[at..];
        if rest.is_empty() || rest.starts_with('>') {
            return (attributes, (at + 1).min(text.len()));
        }
        let name_end = rest
            .find(|c: char| c.is_whitespace() || matches!(c, '=' | '>' | '/'))
            .unwrap_or(rest.len())
            .max(1);
        let name = rest.get(..name_end).unwrap_or(rest);
        at += name.len();
        let Some(value) = text[at..].strip_prefix('=') else {
            attributes.insert(name, String::new());
            continue;
        };
        at += 1;
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, length) = match quote {
            Some(quote) => {
                let inner = &value[1..];
                let end = inner.find(quote).unwrap_or(inner.len());
                (&inner[..end], end + 2)
            }
            None => {
                let end = value
                    .find(|c: char| c.is_whitespace() || c == '>')
                    .unwrap_or(value.len());
                (&value[..end], end)
            }
        };
        attributes.insert(
            name,
            value
                .replace("&amp;", "&")
                .replace("&#39;", "'")
                .replace("&quot;", "\""),
        );
        at = (at + length).min(text.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(page: &str) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("a")).expect("a folder");
        std::fs::write(folder.path().join("a/page.html"), page).expect("written");
        std::fs::write(folder.path().join("other.html"), "<h1 id=\"top\">x</h1>").expect("written");
        std::fs::write(folder.path().join("style.css"), "a { color: red }").expect("written");
        check(folder.path())
            .expect("checked")
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn what_is_there_passes() {
        let page = "<link rel=\"stylesheet\" href=\"../style.css\">\n<a href=\"../other.html#top\">x</a> <a href='https://example.org'>y</a> <a href=\"#here\">z</a><p id=here></p><!-- <img src=\"http://x\"> --><script>if (a < b) document.write('<img src=\"http://x\">');</script>";
        assert_eq!(faults(page), Vec::<String>::new());
    }

    #[test]
    fn what_comes_from_elsewhere_is_found_with_its_line() {
        let found = faults(
            "<p>\n<script src=\"https://cdn.example.org/x.js\"></script>\n<link href=\"//fonts.example.org/a.css\">",
        );
        assert!(
            found[0].starts_with("book-html/a/page.html:2: <script src> loads https://cdn"),
            "{found:?}"
        );
        assert!(
            found[1].starts_with("book-html/a/page.html:3: <link href> loads //fonts"),
            "{found:?}"
        );
    }

    #[test]
    fn dead_links_are_found() {
        let found = faults(
            "<a href=\"../gone.html\">x</a><a href=\"../other.html#gone\">y</a><img src=\"gone.png\">",
        );
        assert_eq!(found.len(), 3, "{found:?}");
    }
}
