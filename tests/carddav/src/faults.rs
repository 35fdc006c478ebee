//! Tests: the database goes away, and the service is killed.

use crate::book::{BOOK, path};
use crate::cards::card;
use crate::client::{AddressBook, sync_collection};
use workshop_base::wait;
use workshop_harness::contacts_faults::Faults;
use workshop_harness::contract::{Answer, Failure, TestResult};
use workshop_harness::outage::{PATIENCE, RECOVERY_LIMIT, expect_no_database};

pub async fn without_a_database_it_answers_503(faults: &Faults) -> TestResult {
    let ada = AddressBook::of(&faults.client);
    ada.keep("outage.vcf", &card("outage", "Before")).await?;
    faults.cut().await;
    let text = card("outage", "During");
    let sync = sync_collection("", None);
    let (health, ready, get, put, delete, propfind, report) = tokio::join!(
        faults.client.get("/health"),
        faults.client.get("/ready"),
        ada.get("outage.vcf"),
        ada.put("outage.vcf", &text),
        ada.delete("outage.vcf"),
        ada.propfind(BOOK, "1", None),
        ada.report(&sync),
    );
    // Who may not come in hears nothing of the outage.
    let stranger = faults.client.without_key().get(&path("outage.vcf")).await;
    faults.restore().await;
    health?.expect_status(200)?;
    stranger?.expect_status(401)?;
    for answer in [ready?, get?, put?, delete?, propfind?, report?] {
        let (limit, took) = (format!("an answer within {PATIENCE:?}"), answer.took());
        expect_no_database(&answer)?.expect(took < PATIENCE, limit, format!("{took:?}"))?;
    }
    let works =
        |answer: &Result<Answer, Failure>| answer.as_ref().is_ok_and(|got| got.status() == 200);
    let get = async || ada.get("outage.vcf").await;
    let _ = wait::last_within(RECOVERY_LIMIT, get, works).await?;
    ada.expect_unchanged("outage.vcf", "Before").await?;
    ada.keep("outage.vcf", &card("outage", "After")).await?;
    Ok(())
}

pub async fn a_kill_loses_neither_contacts_nor_tokens(faults: &Faults) -> TestResult {
    let ada = AddressBook::of(&faults.client);
    ada.keep("killed-1.vcf", &card("killed-1", "1")).await?;
    let token = ada.token().await?;
    let tag = ada.keep("killed-2.vcf", &card("killed-2", "2")).await?;
    ada.delete("killed-1.vcf").await?.expect_status(204)?;
    faults.kill_and_start().await?;

    let kept = ada.get("killed-2.vcf").await?;
    kept.expect_status(200)?.expect_header("ETag", &tag)?;
    let changes = ada.sync(&token, None).await?;
    let changed = changes.contact("killed-2.vcf")?;
    changed.expect_text("D:getetag", &tag)?;
    changes.contact("killed-1.vcf")?.expect_status(404)?;
    let again = card("killed-2", "3");
    let later = ada.if_match(&tag).put("killed-2.vcf", &again).await?;
    later.expect_status(204)?;
    let later = ada.sync(&changes.token()?, None).await?;
    later.expect_contacts(&["killed-2.vcf"])
}
