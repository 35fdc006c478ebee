//! The way through the book: where a page is on it, what comes next, and what the sidebar calls that.

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::check::minutes;
use crate::html::{block, escape};
use crate::macros;
use crate::schedule;
use crate::site::{Page, Site, link};
use crate::source::Excerpt;
use crate::tests_list::and;
use workshop_base::exercise::{Catalogue, Exercise, Kind};
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;

/// How long a line of code takes to read, in seconds.
const LINE: u32 = 3;
/// The heading of the list of what is to be done, in English; a translation keeps its id.
const TASK: &str = "## Your task";
const TASK_ID: &str = "{#your-task}";

/// The part behind the core way, for those who go on.
const AFTERWARDS: &str = "Afterwards";
/// The part that nobody reads from its beginning to its end.
const REFERENCE: &str = "Reference";
/// The parts that are books of their own, behind the course: *next* doesn't lead there.
const OTHER_BOOKS: [&str; 2] = ["The evidence", "For instructors"];

/// The pages in order, and the exercises among them.
pub struct Way<'a> {
    workspace: &'a Workspace,
    site: &'a Site,
    catalogue: &'a Catalogue,
}

/// A page as the one before it, and `just check`, announce it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ahead<'a> {
    /// The page.
    pub page: &'a Page,
    /// Its title.
    pub title: String,
    /// What it takes and what one writes there: `About 45 minutes: you write src/read.rs.`
    pub what: String,
}

impl<'a> Way<'a> {
    /// The way through these pages.
    pub fn new(workspace: &'a Workspace, site: &'a Site, catalogue: &'a Catalogue) -> Self {
        Way {
            workspace,
            site,
            catalogue,
        }
    }

    /// The expanded page with its place below its title, and what comes next at its end. It's marked at the ends of a book, so that mdBook's
    /// arrows stay within the book as well, and on the core way, which can be printed alone.
    pub fn framed(&self, page: &Page, text: &str) -> String {
        let (title, rest) = text.split_once('\n').unwrap_or((text, ""));
        let place = self.place(page).unwrap_or_default();
        let next = self.next(page).unwrap_or_default();
        let mut pages = self.site.pages.iter().filter(|one| book(one) == book(page));
        let begins = pages.next().is_some_and(|first| first.path == page.path);
        let ends = self.later(page).next().is_none();
        let mark = |holds: bool, what: &str| match holds {
            true => block(&format!("<span class=\"{what}\"></span>")),
            false => String::new(),
        };
        let is_core = self.core().any(|one| one.path == page.path);
        let marks =
            mark(begins, "book-begins") + &mark(ends, "book-ends") + &mark(is_core, "core-way");
        format!("{title}\n{place}{rest}{next}{marks}")
    }

    /// `The port, 9 of 27`, whether one can leave it out, and what it takes. Pages of a part without an exercise are read in any order, and
    /// an exercise says its minutes itself.
    fn place(&self, page: &Page) -> Option<String> {
        let part = page.part.as_ref()?;
        let pages = self.site.pages.iter();
        let pages: Vec<&Page> = pages
            .filter(|one| one.part.as_ref() == Some(part))
            .collect();
        let mut place = escape(part);
        if pages.iter().any(|one| self.exercise(one).is_some()) {
            let at = pages.iter().position(|one| *one == page)? + 1;
            place += &format!(", {at} of {}", pages.len());
        }
        if self.is_optional(page) {
            place += ", optional";
        }
        let says_minutes = page.calls().any(|call| call.name == "minutes");
        if !says_minutes && !is_reference(page) && book(page).is_none() {
            let takes = self.takes(page).replacen("About", "about", 1);
            place += &format!(" · {}", escape(takes.trim_end_matches('.')));
        }
        let is_task = |line: &str| line == TASK || line.ends_with(TASK_ID);
        if page.text.lines().any(is_task) {
            place += " · <a href=\"#your-task\">to the task</a>";
        }
        Some(block(&format!("<p class=\"place\">{place}</p>")))
    }

    /// The page after this one, and where the core way goes on if that one isn't on it.
    fn next(&self, page: &Page) -> Option<String> {
        let ahead = self.after(page)?;
        let to = |ahead: &Ahead<'_>, lead: &str| {
            format!(
                "<p class=\"way-on\"><a href=\"{}\"><span>{lead}</span> <strong>{}</strong></a> <span>{}</span></p>\n",
                escape(&link(&page.path, &ahead.page.path)),
                escape(&ahead.title),
                escape(&ahead.what)
            )
        };
        let leaves = self.is_optional(ahead.page) && !self.is_optional(page);
        let lead = if leaves { "Next, optional:" } else { "Next:" };
        let mut next = to(&ahead, lead);
        if leaves {
            let way = |page: &&Page| !self.is_optional(page) && !is_reference(page);
            let core = self.later(ahead.page).find(way);
            next += &core.map_or_else(String::new, |core| {
                to(&self.ahead(core), "The core way goes on with:")
            });
        }
        Some(block(&next))
    }

    /// What comes after this page.
    pub fn after(&self, page: &Page) -> Option<Ahead<'a>> {
        self.later(page).next().map(|next| self.ahead(next))
    }

    fn later(&self, page: &Page) -> impl Iterator<Item = &'a Page> {
        let pages = self.site.pages.iter();
        let mut pages = pages.skip_while(move |one| one.path != page.path);
        pages.next();
        pages.take_while(move |one| book(one) == book(page))
    }

    fn ahead(&self, page: &'a Page) -> Ahead<'a> {
        Ahead {
            page,
            title: title(page),
            what: self.takes(page),
        }
    }

    /// What a page takes and what one writes there, as `Ahead` has it.
    fn takes(&self, page: &Page) -> String {
        let reading = self.reading(page);
        let exercise = self.exercise(page);
        let case = page
            .calls()
            .filter(|call| exercise.is_none() && call.name == "minutes")
            .find_map(|call| schedule::case(self.workspace, &call));
        let planned = exercise.map(|exercise| exercise.minutes);
        let planned = planned.or(case.as_ref().map(|case| case.minutes));
        let minutes = planned.map_or(reading, |planned| {
            reading + planned.doing + planned.reviewing
        });
        let writes = match exercise {
            Some(exercise) => writes(exercise),
            None if case.is_some() => "you debug a service".to_owned(),
            None => match minutes::turns(page) {
                0 => "reading".to_owned(),
                1 => "you edit code once".to_owned(),
                turns => format!("you edit code {turns} times"),
            },
        };
        let plural = if minutes == 1 { "" } else { "s" };
        format!("About {minutes} minute{plural}: {writes}.")
    }

    /// The minutes that the words and the code of this page take to read.
    fn reading(&self, page: &Page) -> u32 {
        let mut lines = 0;
        let mut count = |place: &str| {
            // What cannot be read is a fault of that page, told there.
            let code = Excerpt::parse(place).and_then(|place| place.read(self.workspace.root()));
            lines += code.map_or(0, |code| code.lines().count());
        };
        for call in page.calls() {
            match call.name.as_str() {
                "panes" | "code" => {
                    let places = call.arguments.iter();
                    places
                        .filter_map(|argument| argument.split_once('='))
                        .for_each(|(_, place)| count(place));
                }
                "include" => call
                    .arguments
                    .iter()
                    .for_each(|place| count(&page.beside(place).to_string_lossy())),
                _ => {}
            }
        }
        let lines = u32::try_from(lines).unwrap_or(u32::MAX / LINE);
        (minutes::reading(page) + (lines * LINE).div_ceil(60)).max(1)
    }

    /// The exercise whose page this is.
    fn exercise(&self, page: &Page) -> Option<&'a Exercise> {
        let number = page.exercise("minutes")?;
        let is_its_page = |there: &Page| there.path == page.path;
        self.site
            .exercise_page(number)
            .filter(|there| is_its_page(there))?;
        self.catalogue.get(number).ok()
    }

    /// True on an optional exercise's page and on those that lead to it; after the last exercise of a part, as that one is. Also behind
    /// the core way.
    fn is_optional(&self, page: &Page) -> bool {
        if page.part.as_deref() == Some(AFTERWARDS) {
            return true;
        }
        let of_part = |one: &&Page| one.part == page.part;
        let mut ahead = self.later(page).filter(of_part);
        let here = self.exercise(page);
        let here = here.or_else(|| ahead.find_map(|one| self.exercise(one)));
        let before = || {
            let pages = self.site.pages.iter().filter(of_part);
            pages.filter_map(|one| self.exercise(one)).next_back()
        };
        here.or_else(before).is_some_and(|exercise| !exercise.core)
    }

    /// The pages of the core way: from the preface to the last one before the reference.
    pub fn core(&self) -> impl Iterator<Item = &'a Page> {
        let pages = self.site.pages.iter();
        let way = pages.take_while(|page| !is_reference(page));
        way.filter(|page| !self.is_optional(page))
    }

    /// A part as the sidebar has it: with the hours of its exercises, and whether all of them are optional.
    pub fn part(&self, part: &str) -> String {
        let pages = self.site.pages.iter();
        let pages = pages.filter(|page| page.part.as_deref() == Some(part));
        let exercises: Vec<&Exercise> = pages.filter_map(|page| self.exercise(page)).collect();
        let minutes: u32 = exercises.iter().map(|one| one.minutes.total()).sum();
        if minutes == 0 {
            return part.to_owned();
        }
        let optional = exercises.iter().all(|one| !one.core);
        let optional = if optional { ", optional" } else { "" };
        format!("{part} · {}{optional}", hours(minutes))
    }

    /// A chapter as the sidebar has it: an exercise says whether it's optional where its part doesn't, and whether it's measured.
    pub fn chapter(&self, page: &Page, name: &str) -> String {
        let Some(exercise) = self.exercise(page) else {
            return name.to_owned();
        };
        let of_part = |one: &&Page| one.part == page.part;
        let pages = self.site.pages.iter().filter(of_part);
        let mut others = pages.filter_map(|one| self.exercise(one));
        let mut name = name.to_owned();
        if !exercise.core && others.any(|other| other.core) {
            name += " (optional)";
        }
        let target = Target::Exercise(exercise.number).to_string();
        if self.workspace.own_result(target).is_file() {
            name += " ✓";
        }
        name
    }
}

fn is_reference(page: &Page) -> bool {
    page.part.as_deref() == Some(REFERENCE)
}

/// The part that is a book of its own; none is the course.
fn book(page: &Page) -> Option<&str> {
    let part = page.part.as_deref();
    part.filter(|part| OTHER_BOOKS.contains(part))
}

/// `50 min`, `7 h`, `2½ h`.
fn hours(minutes: u32) -> String {
    let halves = (minutes + 15) / 30;
    match (halves / 2, halves % 2) {
        (0, _) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, _) => format!("{hours}½ h"),
    }
}

/// What an exercise has one write.
fn writes(exercise: &Exercise) -> String {
    const NAMED: usize = 3;
    let files = exercise.edit.iter();
    let files: Vec<String> = files
        .map(|file| file.to_string_lossy().replace('\\', "/"))
        .collect();
    let (named, more) = files.split_at(files.len().min(NAMED));
    let mut named = named.to_vec();
    match more.len() {
        0 => {}
        1 => named.extend(more.iter().cloned()),
        more => named.push(format!("{more} more files")),
    }
    match exercise.kind {
        Kind::Crate => format!("you write {}", and(&named)),
        Kind::Own => "you write a service of your own".to_owned(),
        Kind::Form => format!("you fill in {}", and(&named)),
        Kind::Review => "you review a pull request".to_owned(),
        Kind::Katas => format!("{} katas", files.len()),
    }
}

/// The words of the page's heading.
pub fn title(page: &Page) -> String {
    let events = macros::parser(&page.text);
    let heading = events.skip_while(|event| !matches!(event, Event::Start(Tag::Heading { .. })));
    let heading = heading.take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let words = heading.filter_map(|event| match event {
        Event::Text(words) | Event::Code(words) => Some(words.to_string()),
        _ => None,
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_base::cases::DebugCase;

    fn checkout() -> Workspace {
        Workspace::at(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
    }

    fn page(path: &str, part: &str, text: &str) -> Page {
        Page {
            path: path.into(),
            part: Some(part.to_owned()),
            text: text.to_owned(),
        }
    }

    /// A piece of the course: an exercise, a page that leads to an optional one, and what the core way goes on with.
    fn site() -> Site {
        let words = "word ".repeat(1000);
        Site {
            pages: vec![
                page(
                    "exercises/a.md",
                    "The port",
                    "# Exercise 8: Ship it\n\n{{#minutes exercise-8}}\n\n## Your task\n",
                ),
                page(
                    "b.md",
                    "The ladder",
                    &format!("# `Four` depths\n\n{words}\n\n**Your turn.** Type.\n"),
                ),
                page(
                    "exercises/c.md",
                    "The ladder",
                    "# Exercise 17: A process away\n\n{{#minutes exercise-17}}\n",
                ),
                page("d.md", "The ladder", "# More\n"),
                page("e.md", "After", "# Should we?\n\nNo.\n"),
            ],
        }
    }

    fn framed(at: usize) -> String {
        let (workspace, site) = (checkout(), site());
        let catalogue = Catalogue::read(&workspace).expect("the exercises");
        let page = &site.pages[at];
        Way::new(&workspace, &site, &catalogue).framed(page, &page.text)
    }

    #[test]
    fn a_page_says_where_it_is_and_what_comes_next() {
        let first = framed(0);
        assert!(
            first.starts_with("# Exercise 8: Ship it\n\n\n<p class=\"place\">The port, 1 of 1 · <a href=\"#your-task\">"),
            "{first}"
        );
        assert!(
            first.contains("<a href=\"../b.md\"><span>Next, optional:</span> <strong>Four depths</strong></a> <span>About 5 minutes: you edit code once.</span>"),
            "{first}"
        );
        assert!(
            first.contains("<a href=\"../e.md\"><span>The core way goes on with:</span> <strong>Should we?</strong></a> <span>About 1 minute: reading."),
            "{first}"
        );
    }

    #[test]
    fn an_exercise_is_announced_with_what_one_writes() {
        let page = framed(1);
        assert!(page.contains("The ladder, 1 of 3, optional"), "{page}");
        assert!(
            page.contains("<strong>Exercise 17: A process away</strong>"),
            "{page}"
        );
        assert!(page.contains(": you write src/main.rs"), "{page}");
        assert!(!page.contains("core way"), "{page}");
    }

    #[test]
    fn a_debugging_case_is_announced_with_its_own_minutes() {
        let (workspace, mut site) = (checkout(), site());
        site.pages[4].text = "# Debug: it hangs\n\n{{#minutes hang}}\n".to_owned();
        let catalogue = Catalogue::read(&workspace).expect("the exercises");
        let (way, page) = (Way::new(&workspace, &site, &catalogue), &site.pages[3]);
        let case = DebugCase::named(&workspace, "hang").expect("the case");
        let minutes = 1 + case.minutes.doing + case.minutes.reviewing;
        let told = format!("About {minutes} minutes: you debug a service.");
        assert!(way.framed(page, &page.text).contains(&told));
    }

    #[test]
    fn the_last_page_has_nothing_after_it_and_is_on_no_track() {
        let page = framed(4);
        let place = "<p class=\"place\">After · about 1 minute: reading</p>";
        assert!(page.contains(place), "{page}");
        assert!(
            !page.contains("class=\"way-on\"") && !page.contains("optional"),
            "{page}"
        );
        assert!(framed(3).contains("The ladder, 3 of 3, optional"));
    }

    #[test]
    fn the_core_way_ends_before_what_comes_afterwards() {
        let (workspace, mut site) = (checkout(), site());
        site.pages[1].part = Some(AFTERWARDS.to_owned());
        site.pages[4].part = Some(REFERENCE.to_owned());
        let catalogue = Catalogue::read(&workspace).expect("the exercises");
        let way = Way::new(&workspace, &site, &catalogue);
        let core: Vec<&Page> = way.core().collect();
        assert_eq!(core, [&site.pages[0]]);
        let last = way.framed(&site.pages[0], &site.pages[0].text);
        assert!(last.contains("Next, optional:"), "{last}");
        assert!(!last.contains("The core way goes on with:"), "{last}");
    }

    #[test]
    fn no_book_leads_into_another_by_next() {
        let (workspace, mut site) = (checkout(), site());
        site.pages[4].part = Some(OTHER_BOOKS[0].to_owned());
        let catalogue = Catalogue::read(&workspace).expect("the exercises");
        let way = Way::new(&workspace, &site, &catalogue);
        let framed = |at: usize| way.framed(&site.pages[at], &site.pages[at].text);
        let (last, other) = (framed(3), framed(4));
        assert!(!last.contains("class=\"way-on\""), "{last}");
        assert!(
            last.contains("book-ends") && !last.contains("book-begins"),
            "{last}"
        );
        assert!(other.contains("book-begins"), "{other}");
    }

    #[test]
    fn the_core_way_is_marked_for_the_printer() {
        let is_marked = |at: usize| framed(at).contains("core-way\"");
        assert_eq!(
            [0, 1, 2, 3, 4].map(is_marked),
            [true, false, false, false, true]
        );
    }

    #[test]
    fn the_sidebar_says_hours_and_what_is_optional() {
        let (workspace, site) = (checkout(), site());
        let catalogue = Catalogue::read(&workspace).expect("the exercises");
        let way = Way::new(&workspace, &site, &catalogue);
        let (port, ladder) = (way.part("The port"), way.part("The ladder"));
        assert!(
            port.starts_with("The port · ") && port.ends_with(" h"),
            "{port}"
        );
        assert!(ladder.ends_with(", optional"), "{ladder}");
        assert_eq!(way.part("After"), "After");
        let mut mixed = site.clone();
        mixed.pages[0].part = Some("The ladder".to_owned());
        let way = Way::new(&workspace, &mixed, &catalogue);
        assert!(
            way.chapter(&mixed.pages[2], "Exercise 17")
                .starts_with("Exercise 17 (optional)")
        );
        assert!(
            !way.chapter(&mixed.pages[0], "Exercise 8")
                .contains("optional")
        );
    }

    #[test]
    fn hours_are_rounded_to_halves() {
        assert_eq!(
            [12, 50, 150, 415].map(hours),
            ["12 min", "1 h", "2½ h", "7 h"]
        );
    }
}
