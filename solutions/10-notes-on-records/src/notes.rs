//! `POST` and `GET /records/<id>/notes`: the notes that wardens write about a record.

use std::sync::Arc;

use rocket::{
    State, get,
    http::Status,
    post,
    response::status,
    serde::json::{self, Json},
};
use serde::{Deserialize, Serialize};
use sqlx::{Connection, FromRow, PgConnection};

use crate::{api_key::ApiKey, database::Database, error::Error, hook::Hook, object::Object};

/// The maximum number of notes per record.
const MAX_NOTES: i32 = 20;
/// The maximum length of a note, in characters.
const MAX_TEXT: usize = 2000;
/// The length of a note's preview in a list, in characters.
const PREVIEW: usize = 280;

/// The body of the request.
#[derive(Deserialize)]
pub struct NewNote {
    text: String,
}

/// A note, as it is stored.
#[derive(Clone, FromRow, Serialize)]
pub struct Note {
    id: i64,
    record: i32,
    text: String,
}

/// The notes of a record.
#[derive(Serialize)]
pub struct Notes {
    notes: Vec<Note>,
}

/// Stores a note, and notifies the hook. Answers 409 if the record doesn't exist or already
/// has `MAX_NOTES` notes, and 502 if the note is stored but the hook can't be notified.
#[post("/records/<id>/notes", data = "<note>")]
pub async fn add(
    _key: ApiKey,
    id: Result<i32, &str>,
    note: Result<Json<Object<NewNote>>, json::Error<'_>>,
    database: &State<Database>,
    hooks: &State<Arc<Hook>>,
) -> Result<status::Custom<Json<Note>>, Error> {
    let id = id.map_err(|_| Error::BadRequest("id must be a 32-bit integer"))?;
    let Object(NewNote { text }) = note.map_err(unusable)?.into_inner();
    if text.trim().is_empty() || text.chars().count() > MAX_TEXT {
        return Err(Error::UnusableNote);
    }
    let hook = Arc::clone(hooks);
    let _place = hooks.place()?;
    let kept = database
        .run(async |connection| keep(connection, id, &text).await)
        .await?;
    let note = kept.ok_or(Error::NoRoom(id))?;
    hook.tell(&note).await?;
    Ok(status::Custom(Status::Created, Json(note)))
}

/// The error for a body that is JSON, but not a note.
fn unusable(error: json::Error<'_>) -> Error {
    match Error::from(error) {
        Error::UnusableBody => Error::UnusableNote,
        other => other,
    }
}

/// Stores a note if there is room for it. Counting the notes locks the record, so of two
/// concurrent requests, the second also counts the first one's note.
async fn keep(connection: &mut PgConnection, id: i32, text: &str) -> sqlx::Result<Option<Note>> {
    let mut transaction = connection.begin().await?;
    let counted = sqlx::query("UPDATE records SET notes = notes + 1 WHERE id = $1 AND notes < $2")
        .bind(id)
        .bind(MAX_NOTES)
        .execute(&mut *transaction)
        .await?;
    if counted.rows_affected() == 0 {
        transaction.rollback().await?;
        return Ok(None);
    }
    let note = sqlx::query_as(
        "INSERT INTO notes (record, text) VALUES ($1, $2) RETURNING id, record, text",
    )
    .bind(id)
    .bind(text)
    .fetch_one(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(Some(note))
}

/// Responds with previews of all notes of a record, or only of those that contain a string.
#[get("/records/<id>/notes?<contains>")]
pub async fn list(
    _key: ApiKey,
    id: Result<i32, &str>,
    contains: Option<&str>,
    database: &State<Database>,
) -> Result<Json<Notes>, Error> {
    let id = id.map_err(|_| Error::BadRequest("id must be a 32-bit integer"))?;
    let contains = contains.unwrap_or_default();
    let mut notes: Vec<Note> = database
        .read(async |connection| {
            sqlx::query_as(
                "SELECT id, record, text FROM notes \
                 WHERE record = $1 AND strpos(text, $2) > 0 ORDER BY id",
            )
            .bind(id)
            .bind(contains)
            .fetch_all(connection)
            .await
        })
        .await?;
    for note in &mut notes {
        note.text = preview(&note.text);
    }
    Ok(Json(Notes { notes }))
}

/// The beginning of a note's text.
fn preview(text: &str) -> String {
    text.chars().take(PREVIEW).collect()
}
