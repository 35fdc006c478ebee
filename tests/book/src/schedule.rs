//! The course's time: the minutes of an exercise, and the day that they add up to.

use std::path::Path;

use crate::html::{block, escape};
use crate::site::{Site, link};
use workshop_base::exercise::{Catalogue, Exercise, Minutes};

/// When a day starts, in minutes after midnight.
const START: u32 = 9 * 60;
/// No exercise ends later than this, unless it is the first of its day.
const END: u32 = 17 * 60 + 30;
/// After so many minutes of work people need a break.
const STRETCH: u32 = 90;
/// A break, in minutes.
const BREAK: u32 = 15;
/// From here on the next break is lunch.
const NOON: u32 = 11 * 60 + 45;
/// Lunch, in minutes.
const LUNCH: u32 = 60;

/// One line of the schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slot {
    /// A new day, from 2.
    Day(u32),
    /// A break: its name, from, to.
    Break(&'static str, u32, u32),
    /// An exercise: its place in the list, from, to.
    Work(usize, u32, u32),
}

/// The day's course of these exercises: a break before work would go on for more than about 90 minutes, lunch around
/// noon, a new day when the evening comes.
pub fn plan(minutes: &[Minutes]) -> Vec<Slot> {
    let mut slots = Vec::new();
    let (mut day, mut clock, mut worked, mut lunched) = (1, START, 0, false);
    for (index, minutes) in minutes.iter().enumerate() {
        let total = minutes.total();
        if worked > 0 && worked + total > STRETCH {
            let lunch = !lunched && clock >= NOON;
            let (name, length) = if lunch {
                ("Lunch", LUNCH)
            } else {
                ("Break", BREAK)
            };
            if clock + length + total > END {
                day += 1;
                (clock, lunched) = (START, false);
                slots.push(Slot::Day(day));
            } else {
                slots.push(Slot::Break(name, clock, clock + length));
                clock += length;
                lunched |= lunch;
            }
            worked = 0;
        }
        slots.push(Slot::Work(index, clock, clock + total));
        clock += total;
        worked += total;
    }
    slots
}

/// `{{#schedule}}`: the table of all exercises, seen from this page.
pub fn table(site: &Site, page: &Path, catalogue: &Catalogue) -> String {
    let exercises: Vec<&Exercise> = catalogue.iter().collect();
    let minutes: Vec<Minutes> = exercises.iter().map(|exercise| exercise.minutes).collect();
    let mut rows = String::new();
    let mut part = None;
    for slot in plan(&minutes) {
        match slot {
            Slot::Day(day) => rows.push_str(&format!("<tr class=\"schedule-day\"><th colspan=\"6\" scope=\"rowgroup\">Day {day}</th></tr>\n")),
            Slot::Break(name, from, to) => rows.push_str(&format!(
                "<tr class=\"schedule-break\"><td>{}</td><td colspan=\"5\">{name}, {} minutes</td></tr>\n",
                span(from, to),
                to - from
            )),
            Slot::Work(index, from, to) => {
                let exercise = exercises[index];
                let there = site.exercise_page(exercise.number);
                let here = there.and_then(|there| there.part.clone());
                if here.is_some() && here != part {
                    let name = escape(here.as_deref().unwrap_or_default());
                    rows.push_str(&format!("<tr class=\"schedule-part\"><th colspan=\"6\" scope=\"rowgroup\">{name}</th></tr>\n"));
                    part = here;
                }
                let title = format!("{}. {}", exercise.number, escape(&exercise.title));
                let name = there.map_or(title.clone(), |there| format!("<a href=\"{}\">{title}</a>", escape(&link(page, &there.path))));
                let Minutes { reading, doing, reviewing } = exercise.minutes;
                rows.push_str(&format!(
                    "<tr><td>{}</td><th scope=\"row\">{name}</th><td>{reading}</td><td>{doing}</td><td>{reviewing}</td><td>{}</td></tr>\n",
                    span(from, to),
                    exercise.minutes.total()
                ));
            }
        }
    }
    let sum = |of: fn(&Minutes) -> u32| minutes.iter().map(of).sum::<u32>();
    let foot = format!(
        "<tr><td></td><th scope=\"row\">All exercises</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
        sum(|minutes| minutes.reading),
        sum(|minutes| minutes.doing),
        sum(|minutes| minutes.reviewing),
        sum(|minutes| minutes.total())
    );
    block(&format!(
        "<div class=\"table-wrapper\" tabindex=\"0\" role=\"region\" aria-label=\"Schedule\">\n<table class=\"schedule\">\n<caption>The course from {} on, in minutes</caption>\n<thead><tr><th scope=\"col\">Clock</th><th scope=\"col\">Exercise</th><th scope=\"col\">Reading</th><th scope=\"col\">Doing</th><th scope=\"col\">Reviewing</th><th scope=\"col\">In all</th></tr></thead>\n<tbody>\n{rows}</tbody>\n<tfoot>{foot}</tfoot>\n</table>\n</div>",
        clock(START)
    ))
}

/// `{{#minutes exercise-3}}`: one sentence.
pub fn minutes(minutes: Minutes) -> String {
    let Minutes {
        reading,
        doing,
        reviewing,
    } = minutes;
    format!(
        "<span class=\"minutes\">About {} minutes: {reading} reading, {doing} doing, {reviewing} reviewing.</span>",
        minutes.total()
    )
}

/// `09:05`.
fn clock(minutes: u32) -> String {
    format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60)
}

/// `09:05–09:45`.
fn span(from: u32, to: u32) -> String {
    format!("{}–{}", clock(from), clock(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(totals: &[u32]) -> Vec<Minutes> {
        totals
            .iter()
            .map(|total| Minutes {
                reading: 0,
                doing: *total,
                reviewing: 0,
            })
            .collect()
    }

    #[test]
    fn work_runs_on_until_a_break_is_due() {
        assert_eq!(
            plan(&of(&[30, 40, 40])),
            [
                Slot::Work(0, 540, 570),
                Slot::Work(1, 570, 610),
                Slot::Break("Break", 610, 625),
                Slot::Work(2, 625, 665),
            ]
        );
    }

    #[test]
    fn around_noon_the_break_is_lunch_and_comes_once() {
        let slots = plan(&of(&[80, 80, 80, 80]));
        let lunches: Vec<_> = slots
            .iter()
            .filter(|slot| matches!(slot, Slot::Break("Lunch", ..)))
            .collect();
        assert_eq!(
            lunches,
            [&Slot::Break(
                "Lunch",
                540 + 80 + 15 + 80,
                540 + 80 + 15 + 80 + 60
            )]
        );
    }

    #[test]
    fn what_does_not_fit_a_day_starts_the_next_at_nine() {
        let slots = plan(&of(&[80; 7]));
        let place = slots
            .iter()
            .position(|slot| *slot == Slot::Day(2))
            .expect("a second day");
        assert!(
            matches!(slots[place + 1], Slot::Work(_, 540, 620)),
            "{slots:?}"
        );
        for slot in &slots {
            if let Slot::Work(_, _, to) = slot {
                assert!(*to <= END, "{slot:?}");
            }
        }
    }

    #[test]
    fn an_exercise_longer_than_a_stretch_is_no_reason_for_a_break_before_the_first() {
        assert_eq!(plan(&of(&[120])), [Slot::Work(0, 540, 660)]);
    }

    #[test]
    fn the_minutes_are_one_sentence() {
        let sentence = minutes(Minutes {
            reading: 8,
            doing: 25,
            reviewing: 7,
        });
        assert!(
            sentence.contains("About 40 minutes: 8 reading, 25 doing, 7 reviewing."),
            "{sentence}"
        );
    }
}
