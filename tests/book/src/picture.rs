//! `{{#picture move}}`: the drawing of `book/pictures/move.txt`, made of boxes, arrows and words, with a description that is read aloud.
//!
//! One thing per line, in units of twenty pixels; what is drawn as text comes after bars, one line of it each:
//!
//! ```text
//! title A value moves
//! about What the picture shows, for those who don't see it.
//! size WIDTH HEIGHT
//! box NAME X Y WIDTH HEIGHT KIND | line | line
//! arrow FROM TO KIND | label          (from and to: a box, or X,Y)
//! text X Y KIND | words
//! ```

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::fault::PageFault;
use crate::html::{block, escape};
use crate::site::Site;
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// Where the pictures are, from the root of the checkout.
const FOLDER: &str = "book/pictures";
/// Pixels of a unit.
const UNIT: f64 = 20.0;
/// Pixels that a letter takes, at most on average.
const LETTER: f64 = 8.4;
/// The fewest letters of a description that describes.
const DESCRIPTION: usize = 120;

const BOXES: [&str; 6] = ["plain", "rust", "kotlin", "gone", "struck", "bad"];
const ARROWS: [&str; 4] = ["owns", "lends", "gone", "bad"];
const TEXTS: [&str; 4] = ["plain", "faint", "strong", "code"];

type Point = (f64, f64);

/// A place with a width and a height.
#[derive(Clone, Copy)]
struct Area {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
}

impl Area {
    fn center(self) -> Point {
        (self.x + self.width / 2.0, self.y + self.height / 2.0)
    }

    /// Where the line from the center to this point leaves the area.
    fn edge(self, to: Point) -> Point {
        let (x, y) = self.center();
        let (dx, dy) = (to.0 - x, to.1 - y);
        let scale = |half: f64, way: f64| match way.abs() > f64::EPSILON {
            true => half / way.abs(),
            false => f64::INFINITY,
        };
        let scale = scale(self.width / 2.0, dx).min(scale(self.height / 2.0, dy));
        match scale < 1.0 {
            true => (x + dx * scale, y + dy * scale),
            false => (x, y),
        }
    }
}

/// A picture while its lines are read.
#[derive(Default)]
struct Picture {
    title: String,
    about: String,
    size: Point,
    boxes: HashMap<String, Area>,
    /// What is drawn: arrows go below boxes and words.
    arrows: String,
    shapes: String,
}

/// The picture, in the page itself.
pub fn render(workspace: &Workspace, name: &str) -> anyhow::Result<String> {
    let file = Path::new(FOLDER).join(format!("{name}.txt"));
    let text = files::text(&workspace.root().join(&file))?;
    let drawn = draw(&file, name, &text).map_err(|fault| Trouble::new(fault.to_string()))?;
    Ok(block(&drawn))
}

/// What is wrong with the pictures of the book.
pub fn check(workspace: &Workspace, site: &Site) -> anyhow::Result<Vec<PageFault>> {
    let calls = site.pages.iter().flat_map(|page| page.calls());
    let shown = calls.filter(|call| call.name == "picture");
    let shown: HashSet<String> = shown.flat_map(|call| call.arguments).collect();
    let mut faults = Vec::new();
    for (file, text) in all(workspace)? {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        faults.extend(draw(&file, &name, &text).err());
        if !shown.contains(name.as_ref()) {
            let trouble = Trouble::new("no page shows this picture").next(format!(
                "show it with {{{{#picture {name}}}}}, or remove it"
            ));
            faults.push(PageFault::new(&file, 0, trouble));
        }
    }
    Ok(faults)
}

/// The pictures' files, from the root of the checkout, with their text.
fn all(workspace: &Workspace) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let mut found = Vec::new();
    // Checkouts of tests have no pictures.
    for entry in std::fs::read_dir(workspace.root().join(FOLDER))
        .into_iter()
        .flatten()
    {
        let path = entry?.path();
        let text = files::text(&path)?;
        found.push((path.strip_prefix(workspace.root())?.to_path_buf(), text));
    }
    found.sort();
    Ok(found)
}

/// The figure that these lines describe.
fn draw(file: &Path, name: &str, text: &str) -> Result<String, PageFault> {
    let mut picture = Picture::default();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.is_empty()) {
        let drawn = picture.line(line);
        drawn.map_err(|what| {
            let next = "see the first lines of tests/book/src/picture.rs";
            PageFault::new(file, number, Trouble::new(what).next(next))
        })?;
    }
    let missing = match () {
        () if picture.title.is_empty() => Some("this picture has no title"),
        () if picture.about.len() < DESCRIPTION => {
            Some("this picture has no description for those who don't see it")
        }
        () => None,
    };
    if let Some(what) = missing {
        let next =
            "write a line `title …`, and a line `about …` that says all that the picture shows";
        return Err(PageFault::new(file, 0, Trouble::new(what).next(next)));
    }
    Ok(picture.figure(&escape(name)))
}

impl Picture {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        match what {
            "title" => self.title = rest.trim().to_owned(),
            "about" => self.about = rest.trim().to_owned(),
            "size" => {
                let [width, height] = words(rest)?;
                self.size = (pixels(width)?, pixels(height)?);
            }
            "box" => self.rectangle(rest)?,
            "arrow" => self.arrow(rest)?,
            "text" => self.words(rest)?,
            other => return Err(format!("a picture has no {other}")),
        }
        Ok(())
    }

    fn rectangle(&mut self, rest: &str) -> Result<(), String> {
        let (head, lines) = rest.split_once('|').unwrap_or((rest, ""));
        let [name, x, y, width, height, kind] = words(head)?;
        let area = Area {
            x: pixels(x)?,
            y: pixels(y)?,
            width: pixels(width)?,
            height: pixels(height)?,
        };
        known(kind, &BOXES)?;
        self.holds((area.x + area.width, area.y + area.height))?;
        let Area {
            x,
            y,
            width,
            height,
        } = area;
        let _ = writeln!(
            self.shapes,
            "<rect class=\"picture-box picture-{kind}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\"/>"
        );
        let lines: Vec<&str> = lines.split('|').map(str::trim).collect();
        let (middle, center) = area.center();
        let mut baseline = center + 5.5 - UNIT * (lines.len() - 1) as f64 / 2.0;
        for line in lines {
            if line.chars().count() as f64 * LETTER > area.width {
                return Err(format!("{line:?} is wider than its box"));
            }
            let _ = writeln!(
                self.shapes,
                "<text class=\"picture-{kind}\" x=\"{middle}\" y=\"{baseline}\" text-anchor=\"middle\">{}</text>",
                escape(line)
            );
            baseline += UNIT;
        }
        self.boxes.insert(name.to_owned(), area);
        Ok(())
    }

    fn arrow(&mut self, rest: &str) -> Result<(), String> {
        let (head, label) = rest.split_once('|').unwrap_or((rest, ""));
        let [from, to, kind] = words(head)?;
        known(kind, &ARROWS)?;
        let (from, to) = (self.place(from)?, self.place(to)?);
        let (start, end) = (from.edge(to.center()), to.edge(from.center()));
        let _ = writeln!(
            self.arrows,
            "<path class=\"picture-arrow picture-{kind}\" d=\"M{} {} L{} {}\"/>\n<path class=\"picture-head picture-{kind}\" d=\"{}\"/>",
            round(start.0),
            round(start.1),
            round(end.0),
            round(end.1),
            head_of(start, end)
        );
        let (x, y) = ((start.0 + end.0) / 2.0, (start.1 + end.1) / 2.0 - 6.0);
        if !label.trim().is_empty() {
            let _ = writeln!(
                self.shapes,
                "<text class=\"picture-label\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                round(x),
                round(y),
                escape(label.trim())
            );
        }
        Ok(())
    }

    fn words(&mut self, rest: &str) -> Result<(), String> {
        let (head, line) = rest.split_once('|').unwrap_or((rest, ""));
        let [x, y, kind] = words(head)?;
        known(kind, &TEXTS)?;
        let (x, y, line) = (pixels(x)?, pixels(y)?, line.trim());
        self.holds((x + line.chars().count() as f64 * LETTER, y))?;
        let _ = writeln!(
            self.shapes,
            "<text class=\"picture-{kind}\" x=\"{x}\" y=\"{y}\">{}</text>",
            escape(line)
        );
        Ok(())
    }

    /// A box by its name, or a point.
    fn place(&self, text: &str) -> Result<Area, String> {
        let point = |text: &str| {
            let (x, y) = text.split_once(',')?;
            let (x, y) = (pixels(x).ok()?, pixels(y).ok()?);
            let (width, height) = (0.0, 0.0);
            Some(Area {
                x,
                y,
                width,
                height,
            })
        };
        let area = self.boxes.get(text).copied().or_else(|| point(text));
        area.ok_or_else(|| format!("{text} isn't a box above this line, and isn't X,Y"))
    }

    fn holds(&self, (x, y): Point) -> Result<(), String> {
        match x <= self.size.0 && y <= self.size.1 {
            true => Ok(()),
            false => Err("this goes beyond the size of the picture".to_owned()),
        }
    }

    fn figure(&self, name: &str) -> String {
        let Picture {
            title,
            about,
            size: (width, height),
            arrows,
            shapes,
            ..
        } = self;
        let (title, about) = (escape(title), escape(about));
        format!(
            "<figure class=\"picture\">\n<div class=\"picture-frame\">\n\
             <svg viewBox=\"-4 -4 {} {}\" role=\"img\" aria-labelledby=\"picture-{name}\" aria-describedby=\"about-{name}\">\n\
             <title id=\"picture-{name}\">{title}</title>\n<desc id=\"about-{name}\">{about}</desc>\n\
             {arrows}{shapes}</svg>\n</div>\n<figcaption>{title}</figcaption>\n</figure>",
            width + 8.0,
            height + 8.0
        )
    }
}

/// The head of an arrow that ends here.
fn head_of(start: Point, end: Point) -> String {
    let angle = (end.1 - start.1).atan2(end.0 - start.0);
    let corner = |turn: f64| {
        let angle = angle + turn;
        format!(
            "{} {}",
            round(end.0 - 10.0 * angle.cos()),
            round(end.1 - 10.0 * angle.sin())
        )
    };
    let (x, y) = (round(end.0), round(end.1));
    format!("M{x} {y} L{} L{}z", corner(0.45), corner(-0.45))
}

fn words<const N: usize>(text: &str) -> Result<[&str; N], String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let count = words.len();
    words
        .try_into()
        .map_err(|_| format!("{N} words belong here, not {count}"))
}

fn pixels(units: &str) -> Result<f64, String> {
    let units: f64 = units
        .parse()
        .map_err(|_| format!("{units} isn't a number"))?;
    Ok(units * UNIT)
}

fn round(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}

fn known(kind: &str, kinds: &[&str]) -> Result<(), String> {
    match kinds.contains(&kind) {
        true => Ok(()),
        false => Err(format!("{kind} isn't one of {}", kinds.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(lines: &str) -> Result<String, String> {
        let about = "What it shows. ".repeat(10);
        let text = format!("title A & B\nabout {about}\nsize 20 10\n{lines}");
        draw(Path::new("book/pictures/x.txt"), "x", &text).map_err(|fault| fault.to_string())
    }

    #[test]
    fn an_arrow_goes_from_edge_to_edge() {
        let svg =
            drawn("box a 0 0 4 2 rust | a\nbox b 10 0 4 2 plain | b | c\narrow a b owns | T\n")
                .expect("a picture");
        assert!(svg.contains("d=\"M80 20 L200 20\""), "{svg}");
        assert!(
            svg.contains("<title id=\"picture-x\">A &amp; B</title>"),
            "{svg}"
        );
        assert!(svg.contains("aria-describedby=\"about-x\""), "{svg}");
    }

    #[test]
    fn what_cannot_be_drawn_is_a_fault_with_its_line() {
        for (line, what) in [
            ("box a 0 0 4 2 rust | much too long", "wider than its box"),
            ("box a 18 0 4 2 rust | a", "beyond the size"),
            ("arrow a b owns | T", "a isn't a box"),
            ("box a 0 0 4 2 green | a", "green isn't one of"),
            ("circle 1", "no circle"),
        ] {
            let fault = drawn(line).expect_err(line);
            assert!(
                fault.starts_with("book/pictures/x.txt:4: ") && fault.contains(what),
                "{fault}"
            );
        }
    }

    #[test]
    fn a_picture_without_a_description_is_a_fault() {
        let draw = |text| {
            draw(Path::new("x.txt"), "x", text)
                .expect_err("a fault")
                .to_string()
        };
        let mute = draw("title A\nabout An arrow.\nsize 1 1\n");
        assert!(
            mute.starts_with("x.txt: this picture has no description"),
            "{mute}"
        );
        assert!(draw("size 1 1\n").contains("no title"));
    }

    #[test]
    fn each_picture_of_the_book_has_a_description_and_a_page() -> anyhow::Result<()> {
        let workspace = Workspace::find()?;
        assert!(all(&workspace)?.len() >= 12);
        let faults = check(&workspace, &Site::read(&workspace)?)?;
        let told: Vec<_> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(told, Vec::<String>::new());
        Ok(())
    }
}
