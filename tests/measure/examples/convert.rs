use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;
use workshop_measure::tables;
use workshop_results::file::*;
use workshop_results::metrics::verdict;
use workshop_results::statistics::Interval;

fn amount(key: &str) -> bool {
    matches!(
        key.split("_at_").next().unwrap_or(key),
        "memory"
            | "pss"
            | "threads"
            | "size"
            | "cpu_per_request"
            | "cpu_per_row"
            | "start_up_cpu"
            | "image"
            | "database_per_request"
            | "cpu_load"
            | "cpu_in_all"
            | "cpu_once"
    )
}
fn judge(c: &mut Value, better: &str) {
    let b: Better = serde_json::from_value(better.into()).unwrap();
    let f = |k: &str| c[k].as_f64();
    if let Some(ratio) = f("ratio") {
        let i = Interval {
            mean: ratio,
            low: f("low").unwrap_or(ratio),
            high: f("high").unwrap_or(ratio),
        };
        c["verdict"] = serde_json::to_value(verdict(i, b)).unwrap();
    }
}
fn walk(v: &mut Value, better: &str) {
    match v {
        Value::Object(o) if o.contains_key("verdict") && o.contains_key("against") => {
            judge(v, better)
        }
        Value::Object(o) => o.values_mut().for_each(|v| walk(v, better)),
        Value::Array(a) => a.iter_mut().for_each(|v| walk(v, better)),
        _ => {}
    }
}
fn of<T: DeserializeOwned>(v: Option<Value>) -> Option<T> {
    v.map(|v| serde_json::from_value(v).unwrap())
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (from, to) = (args.next().unwrap(), args.next().unwrap());
    for entry in std::fs::read_dir(&from).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let mut v: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let mut claims = None;
        let mut planted = 0.0;
        if v.get("claims").is_some() {
            walk(&mut v["claims"], "higher");
            claims = Some(v["claims"].take());
            planted = v["planted_us"].as_f64().unwrap();
            v = v["result"].take();
        }
        let o = v.as_object_mut().unwrap();
        o.insert("schema".into(), 2.into());
        for m in o["metrics"].as_array_mut().unwrap() {
            if m["better"] == "lower" && amount(m["key"].as_str().unwrap()) {
                m["better"] = "less".into();
            }
            let b = m["better"].as_str().unwrap().to_owned();
            walk(&mut m["comparisons"], &b);
            let known: Vec<String> = m["values"]
                .as_array()
                .unwrap()
                .iter()
                .map(|v| v["side"].as_str().unwrap().to_owned())
                .collect();
            m["comparisons"].as_array_mut().unwrap().retain(|c| {
                !(c["reason"]
                    .as_str()
                    .is_some_and(|r| r.ends_with("it could not be measured on both sides"))
                    && [&c["side"], &c["against"]]
                        .iter()
                        .any(|s| !known.contains(&s.as_str().unwrap().to_owned())))
            });
        }
        let mut take = |k: &str| {
            o.remove(k).map(|mut v| {
                walk(&mut v, "lower");
                v
            })
        };
        let (wrong_key, stall, pool, paging, article, program, calls, ladder) = (
            take("wrong_key"),
            take("stall"),
            take("pool"),
            take("paging"),
            take("article"),
            take("program"),
            take("calls"),
            take("ladder"),
        );
        let mut r: ResultFile = serde_json::from_value(v).unwrap();
        if let Some(d) = of::<tables::guard::WrongKey>(wrong_key) {
            r.tables = vec![tables::guard::wrong_key(&d)];
        }
        if let Some(d) = of::<tables::stall::Stall>(stall) {
            r.tables = vec![tables::stall::counted_twice(&r, &d)];
            r.charts = vec![tables::stall::course(&r, &d)];
        }
        if let Some(d) = of::<tables::pool::PoolSweep>(pool) {
            r.tables = vec![tables::pool::pools(&r, &d)];
            r.charts = vec![tables::pool::throughput(&r, &d)];
        }
        if let Some(d) = of::<tables::export::Paging>(paging) {
            r.tables = vec![tables::export::paging(&d)];
        }
        if let Some(d) = of::<tables::article::Article>(article) {
            r.tables = tables::article::tables(&r, &d);
        }
        if let Some(d) = of::<tables::program::ProgramTimes>(program) {
            r.tables = vec![tables::program::by_itself(&d)];
        }
        if let Some(mut d) = calls {
            let d: Vec<tables::calls::CallTime> =
                serde_json::from_value(d["calls"].take()).unwrap();
            r.tables = vec![tables::calls::calls(&d)];
        }
        if let Some(mut d) = ladder {
            let d: Vec<tables::ladder::Tier> = serde_json::from_value(d["tiers"].take()).unwrap();
            r.tables = tables::ladder::tables(&r, &d);
        }
        if let Some(c) = claims {
            let c: Vec<tables::calibration::Claim> = serde_json::from_value(c).unwrap();
            r.tables = vec![tables::calibration::claims(
                &c.into_iter()
                    .map(|c| tables::calibration::Claim {
                        claim: c.claim.replace("held against", "compared with"),
                        ..c
                    })
                    .collect::<Vec<_>>(),
                "throughput",
            )];
            r.notes.insert(
                1,
                format!("the slowed side waits busily for {planted:.1} µs in every read"),
            );
        }
        r.write(&Path::new(&to).join(path.file_name().unwrap()))
            .unwrap();
    }
}
