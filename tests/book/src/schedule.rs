//! The course's time: the minutes of an exercise, and the days of a plan by the clock.

use std::path::Path;

use crate::html::{block, escape};
use crate::macros::MacroCall;
use crate::plans::{DayPlan, FILE, SLOTS, Slots, Takes, What};
use crate::site::{Site, link};
use workshop_base::cases::DebugCase;
use workshop_base::exercise::{Catalogue, Exercise, Minutes};
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// When a day starts, in minutes after midnight.
const START: u32 = 9 * 60;
/// When it ends at the latest: seven hours a day, breaks included.
const END: u32 = START + 7 * 60;
/// After so many minutes of work people need a break.
const STRETCH: u32 = 90;
/// Nobody needs a break sooner than that, however long the next piece of work is.
const FRESH: u32 = 30;
/// A break, in minutes.
const BREAK: u32 = 15;
/// From here on the next break is lunch, and it comes before another exercise is begun.
const NOON: u32 = 11 * 60 + 45;
/// Lunch, in minutes.
const LUNCH: u32 = 45;

/// One line of a timetable.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Entry {
    /// A new day, from 1.
    Day(u32),
    /// A break: its name, from, to.
    Break(&'static str, u32, u32),
    /// A block, or the part of it between two breaks.
    Work(Work),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Work {
    /// Its place in the list.
    block: usize,
    from: u32,
    to: u32,
    slots: Slots,
}

/// Blocks on the clock.
#[derive(Debug, Clone, Default)]
struct Timetable {
    entries: Vec<Entry>,
    days: u32,
    clock: u32,
    worked: u32,
    lunched: bool,
}

impl Timetable {
    /// These blocks, in order: a break before work would go on for more than about 90 minutes, lunch around noon, a new day
    /// before a block that would end too late.
    fn of(blocks: &[Slots]) -> Timetable {
        let mut table = Timetable::default();
        table.morning();
        for (block, slots) in blocks.iter().enumerate() {
            let before = table.clone();
            let whole = slots.iter().sum::<u32>();
            if !table.lunched && table.clock >= NOON && table.is_tiring(whole) {
                table.pause();
            }
            table.place(block, slots);
            if table.clock > END && before.clock > START {
                table = before;
                table.evening();
                table.morning();
                table.place(block, slots);
            }
        }
        table.evening();
        table
    }

    /// A new day.
    fn morning(&mut self) {
        self.days += 1;
        self.entries.push(Entry::Day(self.days));
        (self.clock, self.worked, self.lunched) = (START, 0, false);
    }

    /// What is left of the day is in reserve.
    fn evening(&mut self) {
        if self.clock < END {
            self.entries
                .push(Entry::Break("In reserve", self.clock, END));
        }
    }

    fn place(&mut self, block: usize, slots: &Slots) {
        for (slot, length) in slots.iter().enumerate().filter(|(_, length)| **length > 0) {
            if self.is_tiring(*length) {
                self.pause();
            }
            let from = self.clock;
            self.clock += length;
            self.worked += length;
            if let Some(Entry::Work(work)) = self.entries.last_mut()
                && work.block == block
            {
                work.to = self.clock;
                work.slots[slot] = *length;
                continue;
            }
            let mut work = Work {
                block,
                from,
                to: self.clock,
                slots: Slots::default(),
            };
            work.slots[slot] = *length;
            self.entries.push(Entry::Work(work));
        }
    }

    /// Whether people need a break before so many minutes more.
    fn is_tiring(&self, minutes: u32) -> bool {
        self.worked >= FRESH && self.worked + minutes > STRETCH
    }

    fn pause(&mut self) {
        let is_lunch = !self.lunched && self.clock >= NOON;
        let (name, length) = match is_lunch {
            true => ("Lunch", LUNCH),
            false => ("Break", BREAK),
        };
        let to = self.clock + length;
        self.entries.push(Entry::Break(name, self.clock, to));
        self.lunched |= is_lunch;
        (self.clock, self.worked) = (to, 0);
    }
}

/// `{{#plan one-day}}`: the timetable of a plan, seen from this page.
pub fn plan(
    workspace: &Workspace,
    site: &Site,
    page: &Path,
    catalogue: &Catalogue,
    name: &str,
) -> anyhow::Result<String> {
    let plan = DayPlan::of(workspace, name)?;
    let blocks = plan.blocks(catalogue, &Takes::read(workspace)?)?;
    let slots: Vec<Slots> = blocks.iter().map(|(_, slots)| *slots).collect();
    let table = Timetable::of(&slots);
    if table.days > plan.days {
        let (planned, days) = (plan.days, table.days);
        return Trouble::new(format!(
                "the plan {name} should take {planned} days of seven hours, breaks included, and takes {days}"
            )).next(format!("take an exercise, a measurement or a hunt out of it in {FILE}")).err();
    }
    let mut part = None;
    let mut last = None;
    let mut rows = String::new();
    for row in &table.entries {
        match row {
            Entry::Day(day) => rows.push_str(&heading("schedule-day", &format!("Day {day}"))),
            Entry::Break(name, from, to) => rows.push_str(&format!(
                "<tr class=\"schedule-break\"><td>{}</td><td colspan=\"6\">{name}, {} minutes</td></tr>\n",
                span(*from, *to),
                to - from
            )),
            Entry::Work(work) => {
                let what = blocks[work.block].0;
                if let What::Exercise(exercise) = what {
                    let here = site.exercise_page(exercise.number);
                    let here = here.and_then(|there| there.part.as_deref());
                    if here.is_some() && here != part {
                        rows.push_str(&heading("schedule-part", here.unwrap_or_default()));
                        part = here;
                    }
                }
                let goes_on = if last == Some(work.block) { ", continued" } else { "" };
                last = Some(work.block);
                rows.push_str(&format!(
                    "<tr><td>{}</td><th scope=\"row\">{}{goes_on}</th>{}</tr>\n",
                    span(work.from, work.to),
                    in_words(what, site, page),
                    cells(&work.slots)
                ));
            }
        }
    }
    let sums = std::array::from_fn(|slot| slots.iter().map(|slots| slots[slot]).sum());
    let columns = SLOTS.map(|slot| format!("<th scope=\"col\">{slot}</th>"));
    Ok(block(&format!(
        "<div class=\"table-wrapper\" tabindex=\"0\" role=\"group\" aria-label=\"Plan: {name}\">\n<table class=\"schedule\">\n<caption>In minutes</caption>\n<thead><tr><th scope=\"col\">Clock</th><th scope=\"col\">What</th>{}</tr></thead>\n<tbody>\n{rows}</tbody>\n<tfoot><tr><td></td><th scope=\"row\">In all</th>{}</tr></tfoot>\n</table>\n</div>\n{}",
        columns.concat(),
        cells(&sums),
        left_out(&plan, catalogue)
    )))
}

/// A line over the whole table.
fn heading(class: &str, text: &str) -> String {
    let text = escape(text);
    format!("<tr class=\"{class}\"><th colspan=\"7\" scope=\"rowgroup\">{text}</th></tr>\n")
}

/// The minutes of each slot; empty where there are none.
fn cells(slots: &Slots) -> String {
    let cells = slots.map(|minutes| match minutes {
        0 => "<td></td>".to_owned(),
        minutes => format!("<td>{minutes}</td>"),
    });
    cells.concat()
}

fn in_words(what: What<'_>, site: &Site, page: &Path) -> String {
    match what {
        What::Exercise(exercise) => {
            let title = escape(&numbered(exercise));
            let Some(there) = site.exercise_page(exercise.number) else {
                return title;
            };
            let target = escape(&link(page, &there.path));
            format!("<a href=\"{target}\">{title}</a>")
        }
        What::Hunt(exercise) => format!("Bug hunt, <code>just hunt {}</code>", exercise.name()),
        What::Case(case) => {
            let (title, name) = (escape(&case.title), escape(&case.name));
            format!("Debug: {title}, <code>just hunt {name}</code>")
        }
        What::Closing => "The last half hour".to_owned(),
    }
}

/// A sentence about the exercises that a plan does not have.
fn left_out(plan: &DayPlan, catalogue: &Catalogue) -> String {
    let exercises = catalogue.iter();
    let others = exercises.filter(|exercise| !plan.exercises.contains(&exercise.number));
    let others: Vec<String> = others.map(|exercise| escape(&numbered(exercise))).collect();
    match others.is_empty() {
        true => String::new(),
        false => format!("<p>Left out: {}.</p>", others.join("; ")),
    }
}

/// `3. Read a record`.
fn numbered(exercise: &Exercise) -> String {
    format!("{}. {}", exercise.number, exercise.title)
}

/// The debugging case whose minutes this macro says.
pub fn case(workspace: &Workspace, call: &MacroCall) -> Option<DebugCase> {
    let name = call.arguments.first()?;
    DebugCase::named(workspace, name).ok()
}

/// `{{#minutes exercise-3}}`: one sentence.
pub fn minutes(minutes: Minutes) -> String {
    let Minutes {
        reading,
        doing,
        reviewing,
    } = minutes;
    format!(
        "<span class=\"minutes\">About {} minutes: {reading} reading, {doing} doing (an estimate), {reviewing} reviewing.</span>",
        minutes.total()
    )
}

/// `09:05–09:45`.
fn span(from: u32, to: u32) -> String {
    let clock = |minutes: u32| format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60);
    format!("{}–{}", clock(from), clock(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(blocks: &[Slots]) -> Timetable {
        Timetable::of(blocks)
    }

    fn work(block: usize, from: u32, to: u32, slots: Slots) -> Entry {
        Entry::Work(Work {
            block,
            from,
            to,
            slots,
        })
    }

    #[test]
    fn a_break_comes_between_two_slots_and_the_exercise_goes_on_after_it() {
        assert_eq!(
            table(&[[15, 10, 30, 0, 5], [0, 20, 25, 5, 5]]).entries,
            [
                Entry::Day(1),
                work(0, 540, 600, [15, 10, 30, 0, 5]),
                work(1, 600, 620, [0, 20, 0, 0, 0]),
                Entry::Break("Break", 620, 635),
                work(1, 635, 670, [0, 0, 25, 5, 5]),
                Entry::Break("In reserve", 670, END),
            ]
        );
    }

    #[test]
    fn around_noon_the_break_is_lunch_and_comes_once() {
        let rows = table(&[[0, 0, 80, 0, 0]; 4]).entries;
        let lunches = rows.iter();
        let lunches: Vec<_> = lunches
            .filter(|row| matches!(row, Entry::Break("Lunch", ..)))
            .collect();
        let noon = START + 80 + BREAK + 80;
        assert_eq!(lunches, [&Entry::Break("Lunch", noon, noon + LUNCH)]);
    }

    #[test]
    fn lunch_comes_before_an_exercise_rather_than_into_it() {
        let rows = table(&[[0, 0, 80, 0, 0], [0, 0, 75, 0, 0], [0, 20, 30, 0, 0]]).entries;
        let begins = START + 80 + BREAK + 75;
        assert_eq!(rows[4], Entry::Break("Lunch", begins, begins + LUNCH));
    }

    #[test]
    fn a_block_that_would_end_too_late_is_the_next_days_first() {
        let table = table(&[[0, 20, 60, 0, 0]; 6]);
        assert_eq!(table.days, 2);
        let place = table.entries.iter().position(|row| *row == Entry::Day(2));
        let place = place.expect("a second day");
        assert!(
            matches!(&table.entries[place + 1], Entry::Work(work) if work.from == START),
            "{table:?}"
        );
        for row in &table.entries {
            assert!(
                !matches!(row, Entry::Work(work) if work.to > END),
                "{row:?}"
            );
        }
    }

    #[test]
    fn the_minutes_are_one_sentence() {
        let sentence = minutes(Minutes {
            reading: 8,
            doing: 25,
            reviewing: 7,
        });
        assert!(
            sentence.contains("About 40 minutes: 8 reading, 25 doing (an estimate), 7 reviewing."),
            "{sentence}"
        );
    }
}
