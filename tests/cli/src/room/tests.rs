//! A room of laptops in a temporary folder.

use std::fs;
use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;

use super::line::ENDING;
use super::seat::lines_file;
use super::*;
use crate::state::{CheckOutcome, Fault, LastCheck};
use workshop_base::exercise::Catalogue;
use workshop_base::workspace::Workspace;

fn people(folder: &Path) -> anyhow::Result<Vec<Person>> {
    Ok(Room::at(folder).look()?.people)
}

fn checked(workspace: &Workspace, number: u8, red: Option<&str>) -> anyhow::Result<()> {
    let catalogue = Catalogue::read(&Workspace::find()?)?;
    let (outcome, faults) = match red {
        None => (CheckOutcome::Passed, Vec::new()),
        Some(test) => (CheckOutcome::Failed, vec![Fault::new(test, "")]),
    };
    note(
        workspace,
        catalogue.get(number)?,
        &LastCheck::now(outcome, faults),
    );
    Ok(())
}

fn laptop(folder: &Path, number: usize) -> anyhow::Result<Workspace> {
    let root = folder.join(format!("laptop-{number}"));
    fs::create_dir_all(&root)?;
    Ok(Workspace::at(root))
}

#[test]
fn twenty_people_write_at_the_same_time_and_two_may_have_one_name() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let room = folder.path().join("room");
    fs::create_dir(&room)?;
    let laptops: Vec<Workspace> = (0..20)
        .map(|number| laptop(folder.path(), number))
        .collect::<anyhow::Result<_>>()?;
    std::thread::scope(|scope| {
        for laptop in &laptops {
            scope.spawn(|| {
                Seat::take(laptop, &room, "Ada / the 1st").expect("a seat");
                for number in 0..10 {
                    let red = (number < 9).then_some("a_known_id_answers_its_record");
                    checked(laptop, 3, red).expect("a line");
                }
            });
        }
    });
    let people = people(&room)?;
    assert_eq!(people.len(), 20);
    assert!(
        people
            .iter()
            .all(|person| person.lines.len() == 10 && person.last().is_some_and(|line| line.green))
    );
    Ok(())
}

#[test]
fn a_room_that_was_away_gets_all_lines_with_the_next_check() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (room, away) = (folder.path().join("room"), folder.path().join("away"));
    fs::create_dir(&room)?;
    let laptop = laptop(folder.path(), 1)?;
    Seat::take(&laptop, &room, "Ada")?;
    checked(&laptop, 3, Some("a_test"))?;
    fs::rename(&room, &away)?;
    checked(&laptop, 3, Some("another_test"))?;
    assert!(!room.exists(), "a share that is away is not made anew");
    fs::rename(&away, &room)?;
    Seat::take(&laptop, &room, "Grace")?;
    checked(&laptop, 3, None)?;
    let found = people(&room)?;
    let called: Vec<&str> = found.iter().map(Person::name).collect();
    assert_eq!(called, ["Grace"], "who takes another name stays one person");
    let reds: Vec<_> = people(&room)?[0]
        .lines
        .iter()
        .map(|line| line.red.clone())
        .collect();
    assert_eq!(
        reds,
        [
            Some("a_test".to_owned()),
            Some("another_test".to_owned()),
            None
        ]
    );
    Seat::give_up(&laptop)?;
    checked(&laptop, 4, None)?;
    assert_eq!(
        people(&room)?[0].lines.len(),
        3,
        "who has given up the seat leaves no line"
    );
    Ok(())
}

#[test]
fn a_name_has_to_fit_the_board_and_the_folder_has_to_be_there() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let laptop = laptop(folder.path(), 1)?;
    for name in [
        "",
        " \t",
        "a name that is longer than thirty characters",
        "a\u{7}",
    ] {
        assert!(
            Seat::take(&laptop, folder.path(), name).is_err(),
            "{name:?}"
        );
    }
    assert!(Seat::take(&laptop, &folder.path().join("nowhere"), "Ada").is_err());
    assert_eq!(Seat::of(&laptop), None);
    let seat = Seat::take(&laptop, folder.path(), "  Ada   Lovelace ")?;
    assert_eq!(
        Seat::take(&laptop, folder.path(), "Ada")?.id,
        seat.id,
        "who is renamed stays one person"
    );
    assert_eq!(seat.name, "Ada Lovelace");
    Ok(())
}

#[test]
fn minutes_count_from_the_first_check_to_the_first_green_one() {
    let line = |minute: i64, exercise, green| RoomLine {
        at: Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_mins(minute),
        name: "Ada".into(),
        exercise,
        green,
        red: None,
    };
    let person = |took: i64| Person {
        id: String::new(),
        lines: vec![
            line(0, 3, false),
            line(took, 3, true),
            line(99, 3, true),
            line(100, 4, false),
        ],
    };
    let minutes = minutes(&[person(10), person(40), person(30)]);
    assert_eq!(
        minutes.get(&3),
        Some(&RoomMinutes {
            people: 3,
            median: 30
        })
    );
    assert_eq!(minutes.get(&4), None, "nobody was green");
    let minutes = super::minutes(&[person(10), person(40), person(-55)]);
    assert_eq!(minutes.get(&3).map(|minutes| minutes.median), Some(25));
}

#[test]
fn files_of_others_that_hold_no_lines_are_left_out() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(format!("{name}.{ENDING}"));
    let line = |name: &str, red: &str| {
        let (name, red) = (serde_json::json!(name), serde_json::json!(red));
        format!(
            "{{\"at\":\"2026-01-01T00:00:00Z\",\"name\":{name},\"exercise\":3,\"green\":false,\"red\":{red}}}\n"
        )
    };
    fs::write(file("a"), line("A\u{1b}[2J\u{202e}da", "a_test\nanother"))?;
    fs::write(file("b"), "[".repeat(5_000_000))?;
    nix::unistd::mkfifo(&file("c"), nix::sys::stat::Mode::S_IRWXU)?;
    let Look { people, notes } = Room::at(folder.path()).look()?;
    assert_eq!(people.len(), 1);
    // Nobody waits for a pipe.
    for (note, why) in notes.iter().zip(["has more than", "isn't a file"]) {
        assert!(note.contains(why), "{note}");
    }
    assert_eq!(notes.len(), 2, "{notes:?}");
    let line = people[0].last().expect("a line");
    assert_eq!(
        (&*line.name, line.red.as_deref()),
        ("A [2Jda", Some("a_test another"))
    );
    Ok(())
}

fn reds(person: &Person) -> Vec<&str> {
    let reds = person.lines.iter().map(|line| line.red.as_deref());
    reds.map(|red| red.unwrap_or("green")).collect()
}

#[test]
fn laptops_that_are_copies_of_one_with_a_seat_become_two_people() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let room = folder.path().join("room");
    fs::create_dir(&room)?;
    let image = laptop(folder.path(), 0)?;
    Seat::take(&image, &room, "Ada")?;
    checked(&image, 2, Some("of_the_image"))?;
    let laptops = [laptop(folder.path(), 1)?, laptop(folder.path(), 2)?];
    for (copy, name) in laptops.iter().zip(["Ada", "Grace"]) {
        let kept = copy.state().join("room");
        fs::create_dir_all(&kept)?;
        for file in ["seat.toml", "lines.jsonl"] {
            fs::copy(image.state().join("room").join(file), kept.join(file))?;
        }
        Seat::take(copy, &room, name)?;
    }
    let [ada, grace] = &laptops;
    checked(ada, 3, Some("of_ada"))?;
    checked(grace, 3, Some("of_grace"))?;
    checked(ada, 3, None)?;
    checked(grace, 4, Some("of_grace_too"))?;
    let people = people(&room)?;
    let names: Vec<&str> = people.iter().map(Person::name).collect();
    assert_eq!(names, ["Ada", "Grace"]);
    assert_eq!(reds(&people[0]), ["of_the_image", "of_ada", "green"]);
    let of_grace = ["of_the_image", "of_grace", "of_grace_too"];
    assert_eq!(reds(&people[1]), of_grace);
    Ok(())
}

#[test]
fn what_a_power_cut_leaves_of_a_line_costs_no_other_line() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let room = folder.path().join("room");
    fs::create_dir(&room)?;
    let laptop = laptop(folder.path(), 1)?;
    let seat = Seat::take(&laptop, &room, "Ada")?;
    checked(&laptop, 3, Some("one"))?;
    for left in ["{\"at\":\"2026-01-01T00:0", "\0\0\0\0"] {
        let mut kept = fs::read_to_string(lines_file(&laptop))?;
        kept += left;
        fs::write(lines_file(&laptop), kept)?;
        checked(&laptop, 3, Some("another"))?;
    }
    assert_eq!(reds(&people(&room)?[0]), ["one", "another", "another"]);
    let look = Room::at(&room).look()?;
    assert!(
        look.notes.is_empty(),
        "the room has whole lines only: {look:?}"
    );
    assert_eq!(Seat::of(&laptop), Some(seat), "these are no other laptop's");
    Ok(())
}

#[test]
fn a_share_that_loses_lines_takes_none_from_the_board() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let laptop = laptop(folder.path(), 1)?;
    let seat = Seat::take(&laptop, folder.path(), "Ada")?;
    checked(&laptop, 3, Some("one"))?;
    checked(&laptop, 3, Some("two"))?;
    let whole = fs::read(seat.file())?;
    let first = whole
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or_default()
        + 1;
    let mut room = Room::at(folder.path());
    room.look()?;
    let with_nul = [&whole[..first], &vec![0; whole.len() - first]].concat();
    let with_mark = ["\u{feff}".as_bytes(), &whole, b"\r\n"].concat();
    for (content, note) in [
        (&whole[..first], None),
        (&whole[..first + 30], Some("has a line that can't be read")),
        (&with_nul, Some("has a line that can't be read")),
        (b"".as_slice(), Some("is empty")),
        (&with_mark, None),
    ] {
        fs::write(seat.file(), content)?;
        let look = room.look()?;
        assert_eq!(reds(&look.people[0]), ["one", "two"]);
        let said = look.notes.join("; ");
        let is_right = note.map_or(said.is_empty(), |note| said.contains(note));
        assert!(is_right, "{said:?} instead of {note:?}");
    }
    fs::write(seat.file(), &whole[..first + 30])?;
    checked(&laptop, 3, None)?;
    assert_eq!(reds(&room.look()?.people[0]), ["one", "two", "green"]);
    fs::remove_file(seat.file())?;
    assert!(
        room.look()?.people.is_empty(),
        "the file is the owner's to delete"
    );
    Ok(())
}

#[test]
fn of_forty_seats_one_that_hangs_keeps_no_other_from_the_board() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    for number in 0..40 {
        let seat = laptop(folder.path(), number)?;
        Seat::take(&seat, folder.path(), &format!("Person {number:02}"))?;
        checked(&seat, 3, Some("one"))?;
    }
    let hangs = people(folder.path())?[7].id.clone();
    let (answer, never) = mpsc::channel::<()>();
    let (never, begun) = (Mutex::new(never), Arc::new(Mutex::new(0)));
    let counted = Arc::clone(&begun);
    let read = move |path: &Path| {
        if path.to_string_lossy().contains(&hangs) {
            *counted.lock().expect("a count") += 1;
            let _ = never.lock().expect("a share").recv();
        }
        fs::read(path).map_err(|error| error.to_string())
    };
    let mut room = Room::read_by(folder.path(), Duration::from_millis(500), read);
    for _ in 0..3 {
        let look = room.look()?;
        assert_eq!(look.people.len(), 39);
        assert_eq!(look.notes.len(), 1);
        assert!(
            look.notes[0].ends_with("doesn't answer"),
            "{:?}",
            look.notes
        );
    }
    assert_eq!(*begun.lock().expect("a count"), 1, "no thread per look");
    answer.send(())?;
    let everybody = (0..600).find_map(|_| {
        let look = room.look().ok()?;
        (look.people.len() == 40).then_some(look)
    });
    assert!(everybody.is_some(), "it is back when it answers");
    Ok(())
}

#[test]
fn a_name_may_be_of_any_script_and_has_to_be_seen() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let laptop = laptop(folder.path(), 1)?;
    let family = "👨\u{200d}👩\u{200d}👧\u{200d}👦";
    for (typed, called) in [
        ("Jose\u{301}", "Jos\u{e9}"),
        ("עדה לאבלייס", "עדה לאבלייס"),
        ("\u{200f}محمد\u{200f}", "محمد"),
        ("กฤษณพงศ์ ศรีสุวรรณวงศ์ไพบูลย์", "กฤษณพงศ์ ศรีสุวรรณวงศ์ไพบูลย์"),
        (&family.repeat(6), &family.repeat(6)),
        (
            "李雷韩梅梅李雷韩梅梅李雷韩梅梅",
            "李雷韩梅梅李雷韩梅梅李雷韩梅梅",
        ),
    ] {
        let seat = Seat::take(&laptop, folder.path(), typed)?;
        assert_eq!(seat.name, called);
        checked(&laptop, 3, None)?;
        assert_eq!(people(folder.path())?[0].name(), called);
    }
    let too_wide = "李".repeat(16);
    for nothing in [
        "\u{200b}", "\u{3164}", "\u{2800}", "\u{202e}", "\u{301}", &too_wide,
    ] {
        let taken = Seat::take(&laptop, folder.path(), nothing);
        assert!(taken.is_err(), "{nothing:?}");
    }
    Ok(())
}
