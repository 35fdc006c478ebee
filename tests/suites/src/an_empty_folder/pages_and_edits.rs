//! Stage 4: pages that miss nothing, and changes that lose none.

use futures_util::future::{join_all, try_join_all};
use serde_json::{Value, json};
use workshop_harness::contract::{
    Client, Context, Failure, TestResult, contract_tests, expect, expect_eq,
};

use super::asking::{
    current, expect_problem, expect_problem_about, id_of, ids_in_pages, json_of, made, made_many,
    page, patch,
};

contract_tests! {
    reports: [
        open_reports_come_in_pages,
        a_page_of_a_tag_holds_no_others,
        closed_reports_are_left_out,
        twenty_come_when_nobody_says_how_many,
        up_to_a_hundred_may_be_asked_for,
        a_malformed_parameter_answers_400,
        who_follows_next_misses_nothing_while_others_close,
        who_follows_next_misses_nothing_while_others_write,
        a_change_without_if_match_answers_428,
        a_change_of_the_known_version_is_made,
        a_change_of_another_version_answers_412,
        a_weak_tag_never_matches,
        a_list_matches_when_one_of_its_tags_does,
        a_star_matches_any_report_there_is,
        an_unknown_report_cannot_be_changed,
        a_change_that_says_nothing_of_use_answers_422,
        a_closed_report_can_be_opened_again,
        of_many_changes_at_once_one_is_made,
        no_edit_is_lost_in_a_hundred_rounds_of_two_writers,
    ],
}

async fn open_reports_come_in_pages(context: &Context) -> TestResult {
    let ids = made_many(&context.client, 3001, 5).await?;
    let first = page(&context.client, "tag=3001&limit=2").await?;
    expect_eq("the first page", &first.ids[..], &ids[..2])?;
    expect_eq("its next", first.next, Some(ids[1]))?;
    let second = page(
        &context.client,
        &format!("tag=3001&limit=2&after={}", ids[1]),
    )
    .await?;
    expect_eq("the second page", &second.ids[..], &ids[2..4])?;
    let last = page(
        &context.client,
        &format!("tag=3001&limit=2&after={}", ids[3]),
    )
    .await?;
    expect_eq("the last page", &last.ids[..], &ids[4..])?;
    expect_eq("its next", last.next, None)?;
    let full = page(&context.client, "tag=3001&limit=5").await?;
    expect_eq(
        "the next of a full page with nothing after it",
        full.next,
        None,
    )
}

async fn a_page_of_a_tag_holds_no_others(context: &Context) -> TestResult {
    let client = &context.client;
    let one = made(client, "of-one", 3002).await?;
    let other = made(client, "of-the-other", 3003).await?;
    expect_eq(
        "reports of 3002",
        ids_in_pages(client, 3002, 10).await?,
        vec![id_of(&one)],
    )?;
    let of_all = page(client, &format!("after={}&limit=100", id_of(&one) - 1)).await?;
    let both = [&one, &other]
        .iter()
        .all(|report| of_all.ids.contains(&id_of(report)));
    expect(
        both,
        "reports of all tags where no tag is asked for",
        format!("{:?}", of_all.ids),
    )
}

async fn closed_reports_are_left_out(context: &Context) -> TestResult {
    let ids = made_many(&context.client, 3004, 3).await?;
    let closed = json!({"status": "closed"});
    patch(&context.client, ids[1], Some("\"1\""), &closed)
        .await?
        .expect_status(200)?;
    expect_eq(
        "open reports",
        ids_in_pages(&context.client, 3004, 1).await?,
        vec![ids[0], ids[2]],
    )?;
    current(&context.client, ids[1]).await?;
    Ok(())
}

async fn twenty_come_when_nobody_says_how_many(context: &Context) -> TestResult {
    let ids = made_many(&context.client, 3005, 21).await?;
    let page = page(&context.client, "tag=3005").await?;
    expect_eq("the page", &page.ids[..], &ids[..20])?;
    expect_eq("its next", page.next, Some(ids[19]))
}

async fn up_to_a_hundred_may_be_asked_for(context: &Context) -> TestResult {
    let keys: Vec<String> = (0..101).map(|number| format!("hundred-{number}")).collect();
    try_join_all(keys.iter().map(|key| made(&context.client, key, 3006))).await?;
    let page = page(&context.client, "tag=3006&limit=100").await?;
    expect_eq("the reports on the page", page.ids.len(), 100)
}

async fn a_malformed_parameter_answers_400(context: &Context) -> TestResult {
    for query in [
        "limit=0",
        "limit=101",
        "limit=-1",
        "limit=abc",
        "limit=",
        "after=-1",
        "after=abc",
        "after=9223372036854775808",
        "tag=0",
        "tag=abc",
        "tag=2147483648",
        "tag=",
    ] {
        expect_problem(
            &context.client.get(&format!("/reports?{query}")).await?,
            400,
        )?;
    }
    Ok(())
}

async fn who_follows_next_misses_nothing_while_others_close(context: &Context) -> TestResult {
    let client = &context.client;
    let ids = made_many(client, 3007, 12).await?;
    let first = page(client, "tag=3007&limit=4").await?;
    let closed = json!({"status": "closed"});
    for id in &first.ids[..3] {
        patch(client, *id, Some("\"1\""), &closed)
            .await?
            .expect_status(200)?;
    }
    let next = first.next.unwrap_or_default();
    let second = page(client, &format!("tag=3007&limit=4&after={next}")).await?;
    expect_eq(
        "the second page, when three of the first are closed",
        &second.ids[..],
        &ids[4..8],
    )
}

async fn who_follows_next_misses_nothing_while_others_write(context: &Context) -> TestResult {
    let client = &context.client;
    let write = async |writer: usize| {
        let mut ids = Vec::new();
        for number in 0..25 {
            ids.push(id_of(
                &made(client, &format!("meanwhile-{writer}-{number}"), 3008).await?,
            ));
        }
        Ok::<_, Failure>(ids)
    };
    let mut all_written = std::pin::pin!(try_join_all((0..12).map(write)));
    let mut seen = Vec::new();
    let mut written = None;
    // Reads on from the last id that it has seen, and once more after the last write.
    loop {
        let done = written.is_some();
        loop {
            let after = seen.last().copied().unwrap_or_default();
            let query = format!("tag=3008&limit=100&after={after}");
            let next = page(client, &query);
            let page = tokio::select! {
                biased;
                page = next => page?,
                ids = &mut all_written, if written.is_none() => {
                    written = Some(ids?.concat());
                    continue;
                }
            };
            if page.ids.is_empty() {
                break;
            }
            seen.extend(page.ids);
        }
        if done {
            break;
        }
        if written.is_none() {
            // Lets the writers continue.
            tokio::select! {
                ids = &mut all_written => written = Some(ids?.concat()),
                () = tokio::task::yield_now() => {}
            }
        }
    }
    let mut written = written.unwrap_or_default();
    written.sort_unstable();
    let missed = written.iter().filter(|id| !seen.contains(id)).count();
    expect_eq(
        "reports that were written while somebody read, and never seen",
        missed,
        0,
    )?;
    expect_eq("the ids that were seen, in their order", seen, written)
}

async fn a_change_without_if_match_answers_428(context: &Context) -> TestResult {
    let id = id_of(&made(&context.client, "unconditional", 3010).await?);
    let answer = patch(&context.client, id, None, &json!({"status": "closed"})).await?;
    expect_problem(&answer, 428)?;
    expect_eq(
        "the version",
        &current(&context.client, id).await?["version"],
        &json!(1),
    )
}

async fn a_change_of_the_known_version_is_made(context: &Context) -> TestResult {
    let client = &context.client;
    let mut expected = made(client, "to-be-changed", 3011).await?;
    let id = id_of(&expected);
    for (number, (member, value)) in [("text", json!("Sawn up")), ("status", json!("closed"))]
        .into_iter()
        .enumerate()
    {
        let known = format!("\"{}\"", number + 1);
        let answer = patch(client, id, Some(&known), &json!({ member: value.clone() })).await?;
        expected[member] = value;
        expected["version"] = json!(number + 2);
        answer
            .expect_status(200)?
            .expect_header("ETag", &format!("\"{}\"", number + 2))?;
        expect_eq("the changed report", json_of(&answer)?, expected.clone())?;
        expect_eq(
            "the report read again",
            current(client, id).await?,
            expected.clone(),
        )?;
    }
    Ok(())
}

async fn a_change_of_another_version_answers_412(context: &Context) -> TestResult {
    let client = &context.client;
    let id = id_of(&made(client, "changed-since", 3012).await?);
    patch(client, id, Some("\"1\""), &json!({"text": "First"}))
        .await?
        .expect_status(200)?;
    for known in ["\"1\"", "\"3\"", "\"02\"", "\"abc\"", "\"22\""] {
        let answer = patch(client, id, Some(known), &json!({"text": "Second"})).await?;
        expect_problem(&answer, 412)?;
    }
    expect_eq(
        "the text",
        &current(client, id).await?["text"],
        &json!("First"),
    )
}

async fn a_weak_tag_never_matches(context: &Context) -> TestResult {
    let id = id_of(&made(&context.client, "weak", 3013).await?);
    for known in ["W/\"1\"", "W/\"1\", \"7\""] {
        expect_problem(
            &patch(&context.client, id, Some(known), &json!({"text": "x"})).await?,
            412,
        )?;
    }
    Ok(())
}

async fn a_list_matches_when_one_of_its_tags_does(context: &Context) -> TestResult {
    let id = id_of(&made(&context.client, "listed", 3014).await?);
    for known in ["\"7\", \"1\"", "W/\"2\" ,\"2\"", "\"a,b\",\"3\""] {
        patch(&context.client, id, Some(known), &json!({"text": "x"}))
            .await?
            .expect_status(200)?;
    }
    Ok(())
}

async fn a_star_matches_any_report_there_is(context: &Context) -> TestResult {
    let id = id_of(&made(&context.client, "star", 3015).await?);
    for version in 2..5 {
        let answer = patch(&context.client, id, Some("*"), &json!({"text": "x"})).await?;
        answer
            .expect_status(200)?
            .expect_header("ETag", &format!("\"{version}\""))?;
    }
    Ok(())
}

async fn an_unknown_report_cannot_be_changed(context: &Context) -> TestResult {
    for known in ["*", "\"1\""] {
        let change = json!({"status": "closed"});
        let answer = patch(
            &context.client,
            9_223_372_036_854_775_807,
            Some(known),
            &change,
        )
        .await?;
        expect_problem(&answer, 404)?;
    }
    Ok(())
}

async fn a_change_that_says_nothing_of_use_answers_422(context: &Context) -> TestResult {
    let id = id_of(&made(&context.client, "of-no-use", 3016).await?);
    let too_long = "x".repeat(501);
    for (change, word) in [
        (json!({"tag": 1}), "tag"),
        (json!({"status": "gone"}), "status"),
        (json!({"text": ""}), "text"),
        (json!({"text": too_long}), "text"),
        (json!({"text": null, "status": "closed"}), "text"),
    ] {
        let answer = patch(&context.client, id, Some("\"1\""), &change).await?;
        expect_problem_about(&answer, 422, word)?;
    }
    expect_problem(
        &patch(&context.client, id, Some("\"1\""), &json!({})).await?,
        422,
    )?;
    expect_eq(
        "the version",
        &current(&context.client, id).await?["version"],
        &json!(1),
    )
}

async fn a_closed_report_can_be_opened_again(context: &Context) -> TestResult {
    let id = id_of(&made(&context.client, "reopened", 3017).await?);
    for (known, status) in [("\"1\"", "closed"), ("\"2\"", "open")] {
        let change = json!({ "status": status });
        patch(&context.client, id, Some(known), &change)
            .await?
            .expect_status(200)?;
    }
    expect_eq(
        "open reports",
        ids_in_pages(&context.client, 3017, 10).await?,
        vec![id],
    )
}

async fn of_many_changes_at_once_one_is_made(context: &Context) -> TestResult {
    let id = id_of(&made(&context.client, "many-changes", 3018).await?);
    for version in 1..=5 {
        let (known, change) = (
            format!("\"{version}\""),
            json!({ "text": format!("From {version}") }),
        );
        let answers =
            join_all((0..20).map(|_| patch(&context.client, id, Some(&known), &change))).await;
        let mut statuses = Vec::new();
        for answer in answers {
            statuses.push(answer?.status());
        }
        statuses.sort_unstable();
        let expected = [vec![200], vec![412; 19]].concat();
        expect_eq(
            "the answers to twenty changes of one version",
            statuses,
            expected,
        )?;
    }
    Ok(())
}

async fn no_edit_is_lost_in_a_hundred_rounds_of_two_writers(context: &Context) -> TestResult {
    let client = &context.client;
    let id = id_of(&made(client, "two-writers", 3019).await?);
    let (one, other) = tokio::join!(edits(client, id, "one"), edits(client, id, "other"));
    let (mut versions, others) = (one?, other?);
    versions.extend(others);
    versions.sort_unstable();
    let expected: Vec<i64> = (2..=201).collect();
    expect_eq(
        "the versions that two hundred edits made",
        versions,
        expected,
    )?;
    expect_eq(
        "the version now",
        &current(client, id).await?["version"],
        &json!(201),
    )
}

/// A hundred edits, each tried until it succeeds; returns the versions that they made.
async fn edits(client: &Client, id: i64, writer: &str) -> Result<Vec<i64>, Failure> {
    let mut versions = Vec::new();
    for round in 0..100 {
        let change: Value = json!({ "text": format!("{writer}, {round}") });
        loop {
            let known = format!("\"{}\"", current(client, id).await?["version"]);
            let answer = patch(client, id, Some(&known), &change).await?;
            if answer.status() != 412 {
                let changed = json_of(answer.expect_status(200)?)?;
                versions.push(changed["version"].as_i64().unwrap_or_default());
                break;
            }
        }
    }
    Ok(versions)
}
