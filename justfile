# The face of the workshop. Each recipe prints the command that it runs, with "$@" for what you typed: a key may be in it.
# TARGET is exercise-N (yours), solution-N (the reference), kotlin, or a service beside the port: spring, node, python …

# A recipe gets its arguments as they were typed: an address with & in it, a key with $.
set positional-arguments

# As seen from where just or justw was called: recipes run in the checkout.
export WORKSHOP_CALLED_FROM := env("WORKSHOP_CALLED_FROM", invocation_directory())
export PATH := justfile_directory() / ".workshop/tools/bin" + ":" + env("PATH")

workshop := quote(env("CARGO_TARGET_DIR", "target") / "debug/workshop")

# List the recipes
[private]
default:
    @just --list --unsorted

# Database, data, Kotlin and Rust side by side: checked, measured, shown in the book
[group('start here')]
tour:
    ./justw tour

# What is here, what is missing, and the exact command that fixes it
[group('start here')]
[no-exit-message]
doctor: tool
    {{ workshop }} doctor

# The book as files, into book-html
[group('start here')]
book: tool
    {{ workshop }} book

# The book at a local address, rebuilt at every change
[group('start here')]
serve *options: tool (bring "mdbook")
    {{ workshop }} serve "$@"

# Build, start and test (add --timings for how long each step took)
[group('exercises')]
[no-exit-message]
check target *options: tool
    {{ workshop }} check "$@"

# Check again at every change (hunt: with a clock, if its time is counted)
[group('exercises')]
[no-exit-message]
watch target: tool
    {{ workshop }} watch "$@"

# Start it with a database of its own and leave it running, to try requests by hand
[group('exercises')]
[no-exit-message]
run target *options: tool
    {{ workshop }} run "$@"

# Check each `query_as!` beside a database with the exercise's schema, and keep what that says in .sqlx (as cargo sqlx prepare does)
[group('exercises')]
[no-exit-message]
prepare target: tool
    {{ workshop }} prepare "$@"

# A service of prices for exercise 14, as slow and as broken as you like (--delay 5000 --jitter 100 --failures 10 --hang-ups 5)
[group('exercises')]
upstream *options: tool
    {{ workshop }} upstream "$@"

# The next hint, chosen by what failed last (--level 1 to 3: one of them again)
[group('exercises')]
hint target *options: tool
    {{ workshop }} hint "$@"

# The difference between your files and the reference (--apply takes it over and keeps yours; --ways shows other good answers; of exercise 18, --axum or --rocket)
[group('exercises')]
solution target *options: tool
    {{ workshop }} solution "$@"

# After green: what clippy says about Kotlin in your Rust, and what a reviewer asks
[group('exercises')]
[no-exit-message]
review target: tool
    {{ workshop }} review "$@"

# Back to the starter; your files are kept in .workshop/attempts
[group('exercises')]
reset target: tool
    {{ workshop }} reset "$@"

# On to exercise-N: its starter, and the earlier ones that aren't green count as skipped; your files are kept
[group('exercises')]
catch-up target: tool
    {{ workshop }} catch-up "$@"

# A bug hunt: the reference with one mistake in it, for you to find (--minutes 10: count the time)
[group('exercises')]
hunt target *options: tool
    {{ workshop }} hunt "$@"

# Where you are
[group('exercises')]
progress *options: tool
    {{ workshop }} progress "$@"

# The exercise's measurement (--quick: a minute or two, --thorough: the long one; --rounds 10: narrower intervals; --at URL: load a service that you have started elsewhere); endurance --requests 30000000: hours, in chunks
[group('measuring')]
[no-exit-message]
measure target *options: tool (bring "oha" "hyperfine")
    {{ workshop }} measure "$@"

# A release build for a Raspberry Pi (--for pi), copied there with user@pi
[group('measuring')]
build target *options: tool
    {{ workshop }} build "$@"

# All your results on one page, with your predictions scored
[group('measuring')]
report: tool
    {{ workshop }} report

# Everybody's results on one page: DIR holds a folder per person, with that person's results folder in it
[group('measuring')]
board dir *options: tool
    {{ workshop }} board "$@"

# Compare the measuring with itself: no difference, and a planted one
[group('measuring')]
calibrate *options: tool (bring "oha" "hyperfine")
    {{ workshop }} calibrate "$@"

# Make a data set: small (10 000 rows), pi (1 000 000) or full (10 000 000)
[group('the database')]
seed data_set *options: tool
    {{ workshop }} seed "$@"

# The image of a service, built, tried out and removed again (--keep: it stays on the engine)
[group('exercises')]
image target *options: tool
    {{ workshop }} image "$@"

# Remove the server, the containers and the databases that the course started
[group('the database')]
clean: tool
    {{ workshop }} clean

# Make the offline kit in DIR, for machines without a network; there: ./justw --kit DIR
[group('for instructors')]
kit dir: tool (bring "just" "mdbook" "oha" "hyperfine")
    {{ workshop }} kit "$@"

# Do what a day in the room does, timed, on this machine (--plan one-day, two-days, three-days, craft or under-load; or exercise-N …)
[group('for instructors')]
rehearse *options: tool (bring "oha" "hyperfine")
    {{ workshop }} rehearse "$@"

# What shows in minutes that the course works here; says what could not be judged
[group('authors')]
test:
    ./justw test

tests := "--workspace --exclude 'node-*' --lib --test house --test golden --test server --test seeding --test faults --test commands"

# Every test (--anew: also what was green before and has not changed). Four files of tests run each night only: just test-night
[group('authors')]
test-all *options: tool (bring "oha")
    @.ci/part "formatting" cargo fmt --all --check
    @.ci/part "the Kotlin service's own tests" mvn --batch-mode --no-transfer-progress --file exercises/kotlin-service test
    @.ci/part "building the tests" cargo test --quiet {{ tests }} --no-run
    @.ci/part "cargo test" cargo test {{ tests }} --no-fail-fast -- --skip tls:: --skip robustness:: --skip add_an_exercise::
    @.ci/part "the references' own tests" cargo test --quiet --package 'solution-*' --bins --no-fail-fast
    @.ci/part "verify" {{ workshop }} verify all --quick "$@"
    @.ci/part "the book's check" just book-check
    @.ci/part "lints" cargo clippy --quiet --workspace --all-targets -- --deny warnings

# The tests that are seen a night later: TLS to the database, generated requests, adding an exercise
[group('authors')]
test-night: tool (bring "oha")
    @.ci/part "tests of the night" cargo test --workspace --exclude 'node-*' --test commands --no-fail-fast -- tls:: robustness:: add_an_exercise::

# What another provider of PostgreSQL can break beside the contract, which `just test` judges: the server, seeding, faults
[group('authors')]
test-provider: tool
    @.ci/part "server, seeding, faults, other provider" cargo test --workspace --exclude 'node-*' --test server --test seeding --test faults
    @.ci/part "databases, other provider" cargo test --workspace --exclude 'node-*' --test commands -- database::

# What is wrong in the book: includes, links, minutes, images, what it loads; with file and line
[group('authors')]
[no-exit-message]
book-check: tool
    {{ workshop }} book-check

# The author's gate for exercise-N, or all: starter red as declared, reference green, each mistake caught
[group('authors')]
[no-exit-message]
verify target: tool
    {{ workshop }} verify "$@"

# After a change in a reference: merge it into its starter, its mistakes, and every later state (--since COMMIT: if it's committed)
[group('authors')]
carry target *options: tool
    {{ workshop }} carry "$@"

# Every file of a new exercise that continues another one: just new-exercise 19 from 8 (--title "A new step")
[group('authors')]
new-exercise number from origin *options: tool
    {{ workshop }} new-exercise "$@"

# After a change in a starter: write the patch that makes it out of its reference
[group('authors')]
starter-patch target: tool
    {{ workshop }} starter-patch "$@"

# How long the loop of edit and check takes, compared with its limits (--from-nothing: tour and test in an empty clone)
[group('authors')]
bench-loop *options: tool (bring "hyperfine")
    tests/bench-loop.sh "$@"

[private]
tool:
    @./justw --tool

[private]
bring +tools:
    @./justw --bring "$@"
