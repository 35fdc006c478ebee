//! Stage 3: a report is made once, however often it is sent, and can be read.

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use workshop_base::wait;
use workshop_harness::contract::{
    Answer, Client, Context, Failure, TestError, TestResult, contract_tests, expect, expect_eq,
};
use workshop_harness::http::Body;
use workshop_harness::outage::RECOVERY_LIMIT;
use workshop_harness::reports_faults::BadDays;
use workshop_harness::reports_releases::Release;

use super::asking::{
    IDEMPOTENCY_KEY, current, expect_problem, expect_problem_about, id_of, ids_in_pages, json_of,
    made, made_many, made_patiently, patch, post, post_patiently, post_text, raw, raw_post, report,
};

contract_tests! {
    reports: [
        a_report_is_made,
        a_report_can_be_read,
        an_unknown_id_answers_404,
        an_id_that_is_none_is_refused,
        the_same_key_again_gives_the_same_answer,
        the_same_report_in_other_bytes_gives_the_same_answer,
        the_same_key_with_another_report_answers_422,
        the_first_answer_stays_when_the_report_has_changed,
        of_many_at_once_with_one_key_all_get_one_answer,
        of_two_reports_at_once_with_one_key_one_is_made,
        keys_belong_to_an_api_key,
        many_keys_at_once_make_a_report_each,
        a_missing_idempotency_key_answers_400,
        a_malformed_idempotency_key_answers_400,
        a_refused_report_uses_up_no_key,
        a_body_that_is_not_said_to_be_json_answers_415,
        a_body_that_is_no_json_answers_400,
        an_unknown_member_answers_422_and_is_named,
        a_missing_member_answers_422_and_is_named,
        a_wrong_value_answers_422_and_its_member_is_named,
        a_text_is_counted_in_characters,
        a_text_is_kept_without_the_blanks_at_its_ends,
        a_body_over_the_limit_answers_413,
        a_version_that_the_client_has_answers_304,
        another_version_answers_the_report,
    ],
    reports_faults: [
        reports_and_keys_survive_a_killed_service,
        a_service_killed_in_the_middle_has_made_each_report_once_or_not,
        an_answer_503_uses_up_no_key,
        a_client_that_hangs_up_leaves_a_report_or_none,
    ],
    reports_releases: [
        a_key_is_kept_for_a_day,
        a_key_is_forgotten_after_two_days,
    ],
}

/// The maximum size of a body, in bytes.
const LARGEST_BODY: usize = 16_384;

async fn a_report_is_made(context: &Context) -> TestResult {
    let answer = post(&context.client, "a-report", &report(2001)).await?;
    let made = json_of(answer.expect_status(201)?)?;
    let id = id_of(&made);
    answer
        .expect_header("Location", &format!("/reports/{id}"))?
        .expect_header("ETag", "\"1\"")?;
    answer.expect(id > 0, "a positive id", made["id"].to_string())?;
    let reported_at = made["reported_at"].as_str().unwrap_or_default();
    let is_utc =
        reported_at.len() >= 20 && (reported_at.ends_with('Z') || reported_at.ends_with("+00:00"));
    answer.expect(
        is_utc,
        "reported_at such as 2026-05-01T09:30:00Z",
        reported_at,
    )?;
    let mut expected = report(2001);
    expected["id"] = json!(id);
    expected["status"] = json!("open");
    expected["version"] = json!(1);
    expected["reported_at"] = json!(reported_at);
    expect_eq("the report", made, expected)
}

async fn a_report_can_be_read(context: &Context) -> TestResult {
    let made = made(&context.client, "to-be-read", 2002).await?;
    let answer = context
        .client
        .get(&format!("/reports/{}", id_of(&made)))
        .await?;
    answer.expect_status(200)?.expect_header("ETag", "\"1\"")?;
    expect_eq("the report", json_of(&answer)?, made)
}

async fn an_unknown_id_answers_404(context: &Context) -> TestResult {
    for id in ["0", "9223372036854775807"] {
        expect_problem(&context.client.get(&format!("/reports/{id}")).await?, 404)?;
    }
    Ok(())
}

async fn an_id_that_is_none_is_refused(context: &Context) -> TestResult {
    for id in ["abc", "0x1", "9223372036854775808", "1.0", "%00"] {
        let answer = context.client.get(&format!("/reports/{id}")).await?;
        let status = match answer.status() {
            refused @ (400 | 422) => refused,
            _ => 404,
        };
        expect_problem(&answer, status)?;
    }
    Ok(())
}

/// Compares a second answer to a report with the first.
fn expect_same(first: &Answer, second: &Answer) -> Result<(), Failure> {
    second.expect_status(201)?;
    for header in ["Location", "ETag"] {
        second.expect_header(header, &first.header(header).unwrap_or_default())?;
    }
    second.expect(first.body() == second.body(), first.text(), second.text())?;
    Ok(())
}

async fn the_same_key_again_gives_the_same_answer(context: &Context) -> TestResult {
    let first = post(&context.client, "again", &report(2003)).await?;
    first.expect_status(201)?;
    for _ in 0..3 {
        expect_same(
            &first,
            &post(&context.client, "again", &report(2003)).await?,
        )?;
    }
    expect_eq(
        "the reports",
        ids_in_pages(&context.client, 2003, 10).await?.len(),
        1,
    )
}

async fn the_same_report_in_other_bytes_gives_the_same_answer(context: &Context) -> TestResult {
    let client = &context.client;
    let first = post_text(
        client,
        "bytes",
        r#"{"tag":2004,"kind":"other","text":"Mud, \u00e4 lot"}"#,
    )
    .await?;
    first.expect_status(201)?;
    for other in [
        r#"{"kind":"other","text":"Mud, ä lot","tag":2004}"#,
        "{ \"text\": \"  Mud, ä lot\\n\",\r\n \"tag\": 2004, \"kind\": \"other\" }",
    ] {
        expect_same(&first, &post_text(client, "bytes", other).await?)?;
    }
    Ok(())
}

async fn the_same_key_with_another_report_answers_422(context: &Context) -> TestResult {
    let client = &context.client;
    let first = post(client, "another", &report(2005)).await?;
    first.expect_status(201)?;
    for (member, value) in [
        ("tag", json!(2006)),
        ("kind", json!("other")),
        ("text", json!("Two of them")),
    ] {
        let mut another = report(2005);
        another[member] = value;
        expect_problem(&post(client, "another", &another).await?, 422)?;
    }
    expect_same(&first, &post(client, "another", &report(2005)).await?)?;
    let made =
        ids_in_pages(client, 2005, 10).await?.len() + ids_in_pages(client, 2006, 10).await?.len();
    expect_eq("the reports", made, 1)
}

async fn the_first_answer_stays_when_the_report_has_changed(context: &Context) -> TestResult {
    let client = &context.client;
    let first = post(client, "changes", &report(2007)).await?;
    let id = id_of(&json_of(first.expect_status(201)?)?);
    let change = json!({"status": "closed", "text": "Sawn up"});
    patch(client, id, Some("\"1\""), &change)
        .await?
        .expect_status(200)?;
    expect_same(&first, &post(client, "changes", &report(2007)).await?)?;
    expect_eq(
        "the status now",
        &current(client, id).await?["status"],
        &json!("closed"),
    )
}

async fn of_many_at_once_with_one_key_all_get_one_answer(context: &Context) -> TestResult {
    let client = &context.client;
    for round in 0..3 {
        let key = format!("at-once-{round}");
        let report = report(2010 + round);
        let answers = join_all((0..50).map(|_| post(client, &key, &report))).await;
        let answers = answers.into_iter().collect::<Result<Vec<_>, _>>()?;
        for answer in &answers {
            expect_same(&answers[0], answer)?;
        }
        expect_eq(
            "the reports",
            ids_in_pages(client, 2010 + round, 10).await?.len(),
            1,
        )?;
    }
    Ok(())
}

async fn of_two_reports_at_once_with_one_key_one_is_made(context: &Context) -> TestResult {
    let client = &context.client;
    for round in 0..5 {
        let (one, mut other) = (report(2020), report(2020));
        other["text"] = json!("Another tree");
        let key = format!("either-{round}");
        let (ones, others) = tokio::join!(
            join_all((0..5).map(|_| post(client, &key, &one))),
            join_all((0..5).map(|_| post(client, &key, &other)))
        );
        let statuses = |answers: Vec<Result<Answer, Failure>>| {
            let statuses = answers
                .into_iter()
                .map(|answer| answer.map(|answer| answer.status()));
            statuses.collect::<Result<Vec<_>, _>>()
        };
        let (ones, others) = (statuses(ones)?, statuses(others)?);
        let either = [(201, 422), (422, 201)].into_iter().any(|(made, refused)| {
            ones.iter().all(|status| *status == made)
                && others.iter().all(|status| *status == refused)
        });
        expect(
            either,
            "201 to all of one report, 422 to all of the other",
            format!("{ones:?} and {others:?}"),
        )?;
    }
    expect_eq(
        "the reports",
        ids_in_pages(client, 2020, 100).await?.len(),
        5,
    )
}

async fn keys_belong_to_an_api_key(context: &Context) -> TestResult {
    let other = context.client.with_key("another_valid_key");
    let first = made(&context.client, "of-mine", 2030).await?;
    let second = made(&other, "of-mine", 2031).await?;
    expect(
        id_of(&first) != id_of(&second),
        "another report for another API key",
        second.to_string(),
    )?;
    let again = made(&other, "of-mine", 2031).await?;
    expect_eq("the second report again", again, second)
}

async fn many_keys_at_once_make_a_report_each(context: &Context) -> TestResult {
    let keys: Vec<String> = (0..50).map(|number| format!("each-{number}")).collect();
    let answers = join_all(keys.iter().map(|key| made(&context.client, key, 2032))).await;
    let reports = answers.into_iter().collect::<Result<Vec<Value>, _>>()?;
    let mut ids: Vec<i64> = reports.iter().map(id_of).collect();
    ids.sort_unstable();
    expect_eq(
        "the ids of open reports",
        ids_in_pages(&context.client, 2032, 100).await?,
        ids,
    )
}

async fn a_missing_idempotency_key_answers_400(context: &Context) -> TestResult {
    let body = report(2033).to_string();
    let answer = context
        .client
        .post_body("/reports", Body::json(&body))
        .await?;
    expect_problem(&answer, 400)?;
    expect_eq(
        "the reports",
        ids_in_pages(&context.client, 2033, 10).await?.len(),
        0,
    )
}

async fn a_malformed_idempotency_key_answers_400(context: &Context) -> TestResult {
    let (longest, too_long) = ("k".repeat(64), "k".repeat(65));
    for key in ["", "two words", "a.b", "schlüssel", "a,b", &too_long] {
        expect_problem(&post(&context.client, key, &report(2034)).await?, 400)?;
    }
    for key in [&*longest, "A-z_0-9", "-"] {
        made(&context.client, key, 2034).await?;
    }
    Ok(())
}

async fn a_refused_report_uses_up_no_key(context: &Context) -> TestResult {
    let client = &context.client;
    expect_problem(&post_text(client, "refused", "{").await?, 400)?;
    expect_problem(&post(client, "refused", &report(0)).await?, 422)?;
    let with_key = client.with(IDEMPOTENCY_KEY, Some("refused"));
    expect_problem(
        &with_key
            .post_body("/reports", Body::new("text/plain", "x"))
            .await?,
        415,
    )?;
    made(client, "refused", 2035).await?;
    Ok(())
}

async fn a_body_that_is_not_said_to_be_json_answers_415(context: &Context) -> TestResult {
    let body = report(2036).to_string();
    let client = context.client.with(IDEMPOTENCY_KEY, Some("media"));
    for media_type in [
        None,
        Some("text/plain"),
        Some("application/x-www-form-urlencoded"),
        Some("application/vnd.trail+json"),
    ] {
        let answer = client
            .post_body("/reports", Body::new(media_type, &body))
            .await?;
        expect_problem(&answer, 415)?;
    }
    let with_parameter = Body::new("application/json; charset=utf-8", &body);
    client
        .post_body("/reports", with_parameter)
        .await?
        .expect_status(201)?;
    Ok(())
}

async fn a_body_that_is_no_json_answers_400(context: &Context) -> TestResult {
    let trailing = format!("{}}}", report(2045));
    for body in ["", "{", "tag=1", &trailing, "\u{1}"] {
        expect_problem(&post_text(&context.client, "no-json", body).await?, 400)?;
    }
    Ok(())
}

async fn an_unknown_member_answers_422_and_is_named(context: &Context) -> TestResult {
    for member in ["colour", "id", "status"] {
        let mut unknown = report(2037);
        unknown[member] = json!(1);
        let answer = post(&context.client, "unknown-member", &unknown).await?;
        expect_problem_about(&answer, 422, member)?;
    }
    Ok(())
}

async fn a_missing_member_answers_422_and_is_named(context: &Context) -> TestResult {
    for member in ["tag", "kind", "text"] {
        let mut missing = report(2038);
        missing.as_object_mut().map(|report| report.remove(member));
        let answer = post(&context.client, "missing-member", &missing).await?;
        expect_problem_about(&answer, 422, member)?;
    }
    Ok(())
}

async fn a_wrong_value_answers_422_and_its_member_is_named(context: &Context) -> TestResult {
    let too_long = "x".repeat(501);
    for (member, value) in [
        ("tag", json!(0)),
        ("tag", json!(-1)),
        ("tag", json!(2_147_483_648_u32)),
        ("tag", json!("2039")),
        ("tag", json!(1.5)),
        ("tag", Value::Null),
        ("kind", json!("tree")),
        ("kind", json!("Fallen-Tree")),
        ("kind", json!({"other": null})),
        ("text", json!("")),
        ("text", json!(" \t\n")),
        ("text", json!(too_long)),
        ("text", json!("a\u{0}b")),
        ("text", json!(["a"])),
    ] {
        let mut wrong = report(2039);
        wrong[member] = value;
        let answer = post(&context.client, "wrong-value", &wrong).await?;
        expect_problem_about(&answer, 422, member)?;
    }
    let in_a_list = "[2039, \"other\", \"x\"]";
    for no_object in ["[]", in_a_list, "\"report\"", "4711", "null"] {
        expect_problem(
            &post_text(&context.client, "wrong-value", no_object).await?,
            422,
        )?;
    }
    Ok(())
}

async fn a_text_is_counted_in_characters(context: &Context) -> TestResult {
    for (number, character) in ["x", "ä", "語", "🌲"].into_iter().enumerate() {
        let mut long = report(2040);
        long["text"] = json!(character.repeat(500));
        let answer = post(&context.client, &format!("long-{number}"), &long).await?;
        let made = json_of(answer.expect_status(201)?)?;
        expect_eq("the text", &made["text"], &long["text"])?;
        long["text"] = json!(character.repeat(501));
        let answer = post(&context.client, &format!("too-long-{number}"), &long).await?;
        expect_problem(&answer, 422)?;
    }
    Ok(())
}

async fn a_text_is_kept_without_the_blanks_at_its_ends(context: &Context) -> TestResult {
    let mut padded = report(2041);
    padded["text"] = json!("\n  Two  trees \t");
    let answer = post(&context.client, "padded", &padded).await?;
    let made = json_of(answer.expect_status(201)?)?;
    expect_eq("the text", &made["text"], &json!("Two  trees"))
}

async fn a_body_over_the_limit_answers_413(context: &Context) -> TestResult {
    let body = report(2042).to_string();
    let longest = format!("{body:LARGEST_BODY$}");
    post_text(&context.client, "longest", &longest)
        .await?
        .expect_status(201)?;
    expect_problem(
        &post_text(&context.client, "too-large", &format!("{longest} ")).await?,
        413,
    )?;
    expect_problem(
        &post_text(&context.client, "too-large", &longest.repeat(4)).await?,
        413,
    )?;
    Ok(())
}

async fn a_version_that_the_client_has_answers_304(context: &Context) -> TestResult {
    let id = id_of(&made(&context.client, "has-it", 2043).await?);
    for has in ["\"1\"", "W/\"1\"", "\"7\", \"1\"", "\"a,b\" , W/\"1\"", "*"] {
        let client = context.client.with("If-None-Match", Some(has));
        let answer = client.get(&format!("/reports/{id}")).await?;
        answer.expect_status(304)?.expect_header("ETag", "\"1\"")?;
        answer.expect(answer.body().is_empty(), "no body", answer.text())?;
    }
    Ok(())
}

async fn another_version_answers_the_report(context: &Context) -> TestResult {
    let made = made(&context.client, "has-another", 2044).await?;
    let path = format!("/reports/{}", id_of(&made));
    for has in ["\"2\"", "\"0\", W/\"11\"", "\"a\""] {
        let answer = context
            .client
            .with("If-None-Match", Some(has))
            .get(&path)
            .await?;
        expect_eq(
            "the report",
            json_of(answer.expect_status(200)?)?,
            made.clone(),
        )?;
    }
    Ok(())
}

async fn reports_and_keys_survive_a_killed_service(days: &BadDays) -> TestResult {
    let first = post_patiently(&days.client, "before-the-kill", &report(2050)).await?;
    let made = json_of(first.expect_status(201)?)?;
    days.kill_and_start().await?;
    days.ready().await?;
    expect_eq(
        "the report",
        current(&days.client, id_of(&made)).await?,
        made,
    )?;
    expect_same(
        &first,
        &post_patiently(&days.client, "before-the-kill", &report(2050)).await?,
    )?;
    Ok(())
}

async fn a_service_killed_in_the_middle_has_made_each_report_once_or_not(
    days: &BadDays,
) -> TestResult {
    let client = &days.client;
    let keys: Vec<String> = (0..40).map(|number| format!("middle-{number}")).collect();
    let report = report(2051);
    let (before, killed) = tokio::join!(
        join_all(keys.iter().map(|key| post(client, key, &report))),
        async {
            // Some are made, others aren't.
            let some = async || {
                ids_in_pages(client, 2051, 100)
                    .await
                    .ok()
                    .filter(|ids| ids.len() > 3)
            };
            workshop_base::wait::within(std::time::Duration::from_secs(3), some).await;
            days.kill_and_start().await
        }
    );
    killed?;
    days.ready().await?;
    for (key, before) in keys.iter().zip(before) {
        let again = post_patiently(client, key, &report).await?;
        match before {
            Ok(first) if first.status() == 201 => expect_same(&first, &again)?,
            _ => drop(again.expect_status(201)?),
        }
    }
    expect_eq(
        "the reports of forty keys",
        ids_in_pages(client, 2051, 100).await?.len(),
        40,
    )
}

async fn an_answer_503_uses_up_no_key(days: &BadDays) -> TestResult {
    days.cut().await;
    expect_problem(&post(&days.client, "in-vain", &report(2052)).await?, 503)?;
    days.restore().await;
    days.ready().await?;
    made_patiently(&days.client, "in-vain", 2052).await?;
    expect_eq(
        "the reports",
        ids_in_pages(&days.client, 2052, 10).await?.len(),
        1,
    )
}

async fn a_client_that_hangs_up_leaves_a_report_or_none(days: &BadDays) -> TestResult {
    let body = report(2053).to_string();
    let keys: Vec<String> = (0..20).map(|number| format!("hangs-up-{number}")).collect();
    for key in &keys {
        let connection: TcpStream = raw(days.address, &raw_post(key, &body, body.len())).await?;
        drop(connection);
    }
    for key in &keys {
        made_patiently(&days.client, key, 2053).await?;
    }
    expect_eq(
        "the reports of twenty keys",
        ids_in_pages(&days.client, 2053, 100).await?.len(),
        20,
    )
}

/// How many keys grow old.
const OLD_KEYS: usize = 20;

/// Makes keys that are two days old and one that is not yet a day old, starts the service again, and waits until it has removed the
/// old ones.
async fn old_keys_are_removed(release: &Release) -> Result<(Client, Vec<i64>, i64), TestError> {
    let client = release.start_ready().await?;
    let old = made_many(&client, 2092, OLD_KEYS).await?;
    release.pass(26).await?;
    let of_yesterday = id_of(&made(&client, "of-yesterday", 2090).await?);
    release.pass(23).await?;
    let before = release.rows().await?;
    let client = release.start_ready().await?;
    let removed = wait::within(RECOVERY_LIMIT, async || {
        let rows = release.rows().await.unwrap_or(before);
        (rows + OLD_KEYS as i64 <= before).then_some(())
    });
    let expected = format!("{OLD_KEYS} rows less, a moment after a start: keys of two days ago");
    expect(removed.await.is_some(), expected, "they are all there")?;
    Ok((client, old, of_yesterday))
}

async fn a_key_is_kept_for_a_day(release: &Release) -> TestResult {
    let (client, _, of_yesterday) = old_keys_are_removed(release).await?;
    let again = id_of(&made(&client, "of-yesterday", 2090).await?);
    expect_eq("the id of the report of this key", again, of_yesterday)
}

async fn a_key_is_forgotten_after_two_days(release: &Release) -> TestResult {
    let (client, old, _) = old_keys_are_removed(release).await?;
    let again = id_of(&made(&client, "of-2092-0", 2092).await?);
    expect(
        !old.contains(&again),
        "a new report for a key that was forgotten",
        format!("report {again} again"),
    )
}
