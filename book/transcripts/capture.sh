#!/bin/sh
# Captures what the tool and the compiler say, for the pages that show it. Nothing in these files is typed.
# Run it from the checkout's root when a message has changed: sh book/transcripts/capture.sh
# demos.sh beside it does the same for what instructors show.
set -u

root=$(pwd)
out="$root/book/transcripts"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset RUST_BACKTRACE
export NO_COLOR=1 CARGO_TERM_COLOR=never CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}"

# What differs from machine to machine is shortened: paths of the library sources, of the checkout, of this copy.
tidy() { sed -E "s#/[^ ]*/registry/src/[^/ ]*/#…/#g; s#$work/[a-z-]*/?##g; s#$root/?##g; s#[[:space:]]+\$##"; }

# The first error the compiler finds after this edit of a reference: slug, exercise folder, sed script, file, lines to keep.
error() {
    copy="$work/$1"
    cp -r "$root/solutions/$2" "$copy"
    cp "$root/Cargo.lock" "$copy/"
    {
        printf '[package]\nname = "copy"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n'
        sed -n '/^\[workspace.dependencies\]/,/^$/p' "$root/Cargo.toml" | grep -E '^(rocket|sqlx|serde|env_logger|log|subtle|thiserror|tracing|tracing-subscriber|uuid) '
        sed -n '/^\[profile.dev/,$p' "$root/Cargo.toml"
    } >"$copy/Cargo.toml"
    sed -i -E "$3" "$copy/src/$4"
    (cd "$copy" && cargo check --offline --quiet 2>&1) | tidy | sed -n "/^error/,\$p" | sed -n "1,$5p" >"$out/$1.txt"
    [ -s "$out/$1.txt" ] || echo "capture: $1 gave no error" >&2
}

# What a check prints, without cargo's own lines: slug, target.
check() {
    cargo run --quiet --package workshop -- check "$2" 2>/dev/null | tidy >"$out/$1.txt"
    [ -s "$out/$1.txt" ] || echo "capture: $1 printed nothing" >&2
}

error from-row 03-read-a-record 's/FromRow, //; /use sqlx::FromRow/d' record.rs 11
error executor 03-read-a-record 's/pool\.inner\(\)/pool/' read.rs 7
error question-mark 03-read-a-record 's/let id = id\.map_err.*/let id = id?;/' read.rs 7
error no-await 03-read-a-record 's/\.fetch_optional\(pool\.inner\(\)\)/.fetch_optional(pool.inner());/; /^ *\.await\?;/d' read.rs 10
error unsigned 03-read-a-record 's/id: i32/id: u32/' record.rs 6
error choice 04-api-key '/^            \.into\(\)$/d' api_key.rs 7
error conflicting 05-fail-the-same-way 's/Query\(#\[source\]/Query(#[from]/' error.rs 8
error transaction 06-change-things 's/fetch_all\(&mut \*transaction\)/fetch_all(\&mut transaction)/' visits.rs 7
error borrowed 06-change-things 's/&mut \*transaction/\&mut *connection/' visits.rs 11
error finished 06-change-things '/return Ok\(missing\);/d' visits.rs 11
error not-covered 06-change-things '/BodyTooLarge => Status/d' error.rs 14
error unpin 07-ten-million-rows 's/ \+ Unpin//' export.rs 14
error no-trait 02-first-route 's/Connection, PgConnection/PgConnection/' ready.rs 10

error owner 03-read-a-record 's/settings\.url\.clone\(\)/settings.url/' main.rs 9
error after-move 02-first-route 's/^( *)\.manage\(settings\)$/&\n\1.manage(settings.port)/' main.rs 14

# The same for a small program of tests/book/examples: slug, program, sed script, lines to keep.
snippet() {
    mkdir -p "$work/$1/src"
    printf '[package]\nname = "copy"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n[dependencies]\n' >"$work/$1/Cargo.toml"
    grep '^tokio ' "$root/Cargo.toml" >>"$work/$1/Cargo.toml"
    cp "$root/Cargo.lock" "$work/$1/"
    sed -E "$3" "$root/tests/book/examples/$2.rs" >"$work/$1/src/main.rs"
    (cd "$work/$1" && cargo check --offline --quiet 2>&1) | tidy | sed -n "/^error/,\$p" | sed -n "1,$4p" >"$out/$1.txt"
    [ -s "$out/$1.txt" ] || echo "capture: $1 gave no error" >&2
}

# The same for a planted mistake of exercise 0: its slug, lines to keep.
kata() {
    mistake="$root/solutions/00-warm-up/mistakes/$1.patch"
    rm -rf "$work/katas"
    mkdir "$work/katas"
    cp -r "$root/solutions/00-warm-up/tests" "$work/katas/"
    printf '[package]\nname = "copy"\nversion = "0.0.0"\nedition = "2024"\n[workspace]\n' >"$work/katas/Cargo.toml"
    patch --quiet --directory "$work/katas" --strip 1 <"$mistake"
    (cd "$work/katas" && cargo check --offline --quiet --tests 2>&1) | tidy | sed -n "/^error/,\$p" | sed -n "1,$2p" >"$out/kata-${1%%-*}.txt"
    [ -s "$out/kata-${1%%-*}.txt" ] || echo "capture: $1 gave no error" >&2
}

# What such a program prints: slug, program.
output() { cargo run --quiet --package workshop-book --example "$2" 2>/dev/null >"$out/$1.txt"; }

kata 01-used-after-the-move 13
kata 02-removed-while-looping 11
kata 03-added-with-plus 8
kata 04-no-default-arguments 5
kata 05-no-smart-cast 5
kata 06-nobody-converts 5
kata 07-a-variant-is-no-type 8
kata 08-filter-on-a-slice 7
kata 09-everything-has-equals 5
kata 10-whose-loan 7
kata 11-changed-through-a-loan 5
kata 12-moved-the-loan 10

snippet not-moved tasks 's/async move/async/' 10
snippet not-send tasks 's/sync::Arc/rc::Rc/; s/Arc::/Rc::/g' 24
snippet unnamed loans "s/<'r>//; s/&'r /\&/g" 11
snippet unpromised promise 's/unsafe \{ (taken_back\(data, length\)) \}/\1/' 7
output cancelled cancelled
output waits waits
output parsed parsed
output several several
output printer printer
output radio radio

# What comes out of such a program after this edit, which is the answer to a box *Your turn*: slug, program, sed script. A program that
# the system ends says why on standard error.
edited() {
    mkdir -p "$work/$1/examples"
    printf '[package]\nname = "copy"\nversion = "0.0.0"\nedition = "2024"\nautobins = false\n[lib]\npath = "lib.rs"\n[workspace]\n[dependencies]\n' >"$work/$1/Cargo.toml"
    grep '^tokio ' "$root/Cargo.toml" >>"$work/$1/Cargo.toml"
    : >"$work/$1/lib.rs"
    cp "$root/Cargo.lock" "$work/$1/"
    sed -E "$3" "$root/tests/book/examples/$2.rs" >"$work/$1/examples/$2.rs"
    (cd "$work/$1" && cargo build --offline --quiet --example "$2" && "$CARGO_TARGET_DIR/debug/examples/$2" 2>&1) | tidy >"$out/$1.txt"
    [ -s "$out/$1.txt" ] || echo "capture: $1 printed nothing" >&2
}

snippet answer-tasks tasks 's/^    task\.await\?;/    println!("{name} is served");\n&/' 22
edited answer-loans loans "s/fn header<'r>/fn header/; s/&'r Request/\&Request/; s/Option<&'r str>/Option<String>/; s/Some\(value\)/Some(value.clone())/"
edited answer-cancelled-order cancelled 's/^    let _connection.*/    let _permit = Borrowed("the permit");\n&/'
edited answer-cancelled-sleep cancelled 's/^use tokio::time::\{sleep, timeout\};/use tokio::time::timeout;/; s/sleep\(Duration::from_secs\(60\)\)\.await/std::thread::sleep(Duration::from_secs(2))/'
edited answer-closures closures '/^fn toll/,/^\}/{s/-> &.static str/-> String/; s/return "stop"/return "stop".to_owned()/; s/"" => "unreadable"/"" => "unreadable".to_owned()/; s/"4 euros"/"4 euros".to_owned()/; /plate if residents/d; s/^        _ =>/        plate => match residents.iter().position(|resident| resident == plate) {\n            Some(at) => format!("free, resident {}", at + 1),\n            None =>/; s/"4 euros"\.to_owned\(\),/&\n        },/}; s/"A-KB 31"\.to_owned\(\)\]/"A-KB 31".to_owned(), "BL-A 2".to_owned()]/; s/Some\("M-XY 12"\)/Some("BL-A 2"), &/'
edited answer-waits waits 's/^    sleep\(Duration::from_millis\(milliseconds\)\)\.await;/    std::thread::sleep(Duration::from_millis(milliseconds));/; s/, time::sleep//'
edited answer-waits-place waits 's/let _place = places\.acquire\(\)\.await;/let _ = places.acquire().await;/; /drop\(_place\)/d'
edited answer-promise promise '/let bytes = unsafe/{p; s/let bytes/let again/}'
error answer-proof 04-api-key 's/^    Json\(Health/    with(crate::api_key::ApiKey(()));\n&/; $a fn with(_key: crate::api_key::ApiKey) {}' health.rs 12

# What `just prepare` says of reference 6 with a checked query in `visit.rs`, after one more edit: slug, sed script, file, lines to keep. The
# reference is edited where it is, and comes back. The line of the server's own source differs from version to version.
prepared() {
    reference="$root/solutions/06-change-things"
    cp -r "$reference" "$work/$1"
    sed -i -E 's/query_as\($/query_as!(\n                Record,/; s/divisible_by_3, visited",$/&\n                id/; /\.bind\(id\)/d' "$reference/src/visit.rs"
    sed -i -E 's/^    ([a-z_0-9]+): /    pub \1: /' "$reference/src/record.rs"
    sed -i -E "$2" "$reference/$3"
    cargo run --quiet --package workshop -- prepare solution-6 2>&1 | tidy | sed -E 's/ at line [0-9]+$//' |
        sed -n "/^\(error\|1 query\)/,\$p" | sed -n "1,$4p" >"$out/$1.txt"
    cp "$work/$1"/src/*.rs "$reference/src/"
    cp "$work/$1"/migrations/*.sql "$reference/migrations/"
    rm -rf "$reference/.sqlx"
    [ -s "$out/$1.txt" ] || echo "capture: $1 printed nothing" >&2
}

prepared answer-checked 's/divisible_by_3, visited",/divisible_by_3, visted",/' src/visit.rs 9
prepared checked-null 's/value text NOT NULL/value text/' migrations/0001_create_records.sql 10

# What Kotlin's compiler finds after this edit of a starter: slug, exercise folder, sed script, file.
kotlin() {
    mkdir -p "$work/$1"
    cp -r "$root/exercises/$2/kotlin" "$root/exercises/$2/pom.xml" "$work/$1"
    sed -i -E "$3" "$work/$1/kotlin/$4"
    (cd "$work/$1" && mvn --quiet --batch-mode -Dkotlin.service.jar="$root/exercises/kotlin-service/target/kotlin-service.jar" compile 2>&1) |
        sed -n 's#^.*\[ERROR\] file://#error: #p' | tidy | head -n 1 >"$out/$1.txt"
    [ -s "$out/$1.txt" ] || echo "capture: $1 gave no error" >&2
}

kotlin kotlin-import 17-a-process-away 's/^(.*) override suspend fun png/\1 private val places = Semaphore(atOnce)\n&/' ProcessQrCodes.kt

if [ "${1:-}" != --compiler-only ]; then
    check red-0 exercise-0
    check red exercise-2
    check red-3 exercise-3
    # Of this one only the first failure is shown.
    sed -i -n '/FAIL  a_known_id/,/Responding with/p' "$out/red-3.txt"
    check green-2 solution-2
    check green-3 solution-3
    check green-4 solution-4
    check green-5 solution-5
    check green-6 solution-6
    check green-7 solution-7
    check green-8 solution-8
    check green-17 solution-17
    check green-18 solution-18
    check green-19 solution-19
    check green-20 solution-20
    check green-12 solution-12
    check green-13 solution-13
    check green-14 solution-14
    check green-21 solution-21
fi
