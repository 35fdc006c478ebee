//! Suite `notes-on-records` (exercise 10): what the pull request should do. It judges the reference; learners review, and write no code.

use futures_util::future::{join, join_all, try_join};
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use workshop_harness::contract::{
    Answer, Client, Context, Failure, TestError, TestResult, contract_tests, expect, expect_eq,
};
use workshop_harness::http::Body;
use workshop_harness::stand_in::StandIn;
use workshop_harness::workbench::Workbench;

contract_tests! {
    steady: [
        a_database_with_records_gets_ready,
        a_note_is_kept_and_shown,
        a_note_without_a_text_answers_422,
        a_record_that_is_not_there_gets_no_note,
        a_long_note_is_shown_by_its_beginning,
        a_search_is_a_text_and_no_sql,
        two_notes_at_once_do_not_pass_the_limit,
    ],
    own: [
        a_hook_is_told_of_a_note,
        a_hook_that_is_away_answers_502,
        the_hooks_address_is_told_to_nobody,
        no_more_notes_are_told_at_once_than_there_are_places,
    ]
}

/// The key that services of a workbench are started with.
const KEY: &str = "valid_key";
/// The secret in the address of a hook.
const SECRET: &str = "let-me-in-4711";
/// A hook where nothing listens.
const AWAY: &str = "http://127.0.0.1:1/let-me-in-4711";
/// The maximum number of concurrent calls to the hook.
const PLACES: u32 = 4;

async fn post(client: &Client, record: u32, text: &str) -> Result<Answer, Failure> {
    let body = json!({ "text": text }).to_string();
    let path = format!("/records/{record}/notes");
    client.post_body(&path, Body::json(&body)).await
}

/// The texts that a list shows.
async fn texts(client: &Client, path: &str) -> Result<Vec<String>, Failure> {
    let answer = client.get(path).await?;
    let list: Value = serde_json::from_slice(answer.expect_status(200)?.body()).unwrap_or_default();
    let Some(notes) = list["notes"].as_array() else {
        return Err(answer.failure(r#"{"notes":[…]}"#, answer.text()));
    };
    let texts = notes.iter().filter_map(|note| note["text"].as_str());
    Ok(texts.map(str::to_owned).collect())
}

async fn a_database_with_records_gets_ready(context: &Context) -> TestResult {
    context.client.get("/ready").await?.expect_status(200)?;
    Ok(())
}

async fn a_note_is_kept_and_shown(context: &Context) -> TestResult {
    let answer = post(&context.client, 1, "The door sticks").await?;
    answer.expect_status(201)?;
    let texts = texts(&context.client, "/records/1/notes").await?;
    expect_eq("notes", texts, vec!["The door sticks".to_owned()])
}

async fn a_note_without_a_text_answers_422(context: &Context) -> TestResult {
    for text in [" ", &"é".repeat(2001)] {
        post(&context.client, 2, text).await?.expect_status(422)?;
    }
    let answer = context
        .client
        .post_body("/records/2/notes", Body::json("{}"))
        .await?;
    answer.expect_status(422)?;
    Ok(())
}

async fn a_record_that_is_not_there_gets_no_note(context: &Context) -> TestResult {
    let answer = post(&context.client, context.rows + 1, "Lost").await?;
    answer.expect_status(409)?;
    Ok(())
}

async fn a_long_note_is_shown_by_its_beginning(context: &Context) -> TestResult {
    let long = format!("x{}", "é".repeat(400));
    post(&context.client, 3, &long).await?.expect_status(201)?;
    let shown: String = long.chars().take(280).collect();
    let texts = texts(&context.client, "/records/3/notes").await?;
    expect_eq("notes", texts, vec![shown])
}

async fn a_search_is_a_text_and_no_sql(context: &Context) -> TestResult {
    let client = &context.client;
    post(client, 4, "The warden's key")
        .await?
        .expect_status(201)?;
    let found = texts(client, "/records/4/notes?contains=warden%27s").await?;
    expect_eq("notes with a quote", found.len(), 1)?;
    let found = texts(client, "/records/4/notes?contains=%27%20OR%20true%20--").await?;
    expect_eq("notes with SQL in them", found.len(), 0)
}

async fn two_notes_at_once_do_not_pass_the_limit(context: &Context) -> TestResult {
    let mut database = context.database.lock().await;
    let locked = nineteen_notes_and_a_lock(&mut database).await;
    locked.map_err(anyhow::Error::new)?;
    let posts = try_join(
        post(&context.client, 5, "The twentieth"),
        post(&context.client, 5, "One too many"),
    );
    let (answers, released) = join(posts, release_when_two_wait(&mut database)).await;
    released.map_err(anyhow::Error::new)?;
    let (one, other) = answers?;
    let mut statuses = [one.status(), other.status()];
    statuses.sort_unstable();
    expect(
        statuses == [201, 409],
        "one note that is kept, and one that has no room",
        format!("{statuses:?}"),
    )
}

/// Locks the table so that notes can be counted, but not written.
async fn nineteen_notes_and_a_lock(database: &mut PgConnection) -> sqlx::Result<()> {
    let notes = "INSERT INTO notes (record, text) SELECT 5, 'A note' FROM generate_series(1, 19)";
    sqlx::query(notes).execute(&mut *database).await?;
    let counted = "UPDATE records SET notes = 19 WHERE id = 5";
    sqlx::query(counted).execute(&mut *database).await?;
    sqlx::query("BEGIN").execute(&mut *database).await?;
    let lock = "LOCK TABLE notes IN EXCLUSIVE MODE";
    sqlx::query(lock).execute(&mut *database).await?;
    Ok(())
}

/// Lets both continue once both wait, for the table or for each other. A service that waits for neither continues as well.
async fn release_when_two_wait(database: &mut PgConnection) -> sqlx::Result<()> {
    const WAITING: &str = "SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted AND pid IN \
         (SELECT pid FROM pg_locks WHERE relation = 'records'::regclass)";
    for _ in 0..200 {
        let waiting: i64 = sqlx::query_scalar(WAITING)
            .fetch_one(&mut *database)
            .await?;
        if waiting >= 2 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(4)).await;
    }
    sqlx::query("COMMIT").execute(&mut *database).await?;
    database.ping().await
}

/// A service that calls this hook.
async fn telling(bench: &Workbench, hook: &str) -> Result<Client, TestError> {
    let service = bench.service(&[("NOTES_HOOK", hook)]).await?;
    let client = service.client.with_key(KEY);
    // The migrations may still run.
    for _ in 0..500 {
        if client.get("/ready").await?.status() == 200 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    Ok(client)
}

async fn a_hook_is_told_of_a_note(bench: &Workbench) -> TestResult {
    let hook = StandIn::ready("hook")?;
    let client = telling(bench, &format!("http://{}/{SECRET}", hook.address())).await?;
    post(&client, 11, "Snow").await?.expect_status(201)?;
    let head = hook.asked().await?;
    let expected = format!("POST /{SECRET} ");
    expect(head.starts_with(&expected), expected, head)
}

async fn a_hook_that_is_away_answers_502(bench: &Workbench) -> TestResult {
    let client = telling(bench, AWAY).await?;
    post(&client, 12, "Snow").await?.expect_status(502)?;
    let texts = texts(&client, "/records/12/notes").await?;
    expect_eq("notes that are kept", texts.len(), 1)
}

async fn the_hooks_address_is_told_to_nobody(bench: &Workbench) -> TestResult {
    let client = telling(bench, AWAY).await?;
    let answer = post(&client, 13, "Snow").await?;
    let is_secret = !answer.text().contains(SECRET);
    answer.expect(is_secret, "an answer without the address", answer.text())?;
    Ok(())
}

async fn no_more_notes_are_told_at_once_than_there_are_places(bench: &Workbench) -> TestResult {
    let hook = StandIn::silent("hook")?;
    let client = telling(bench, &format!("http://{}/{SECRET}", hook.address())).await?;
    let told = join_all((0..PLACES).map(|record| post(&client, 20 + record, "Snow")));
    let one_too_many = async {
        for _ in 0..PLACES {
            hook.asked().await?;
        }
        let answer = post(&client, 30, "Snow").await;
        hook.answer();
        answer?.expect_status(503)?;
        TestResult::Ok(())
    };
    join(told, one_too_many).await.1
}
