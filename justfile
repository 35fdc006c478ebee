# The face of the workshop. Each recipe prints the command that it runs, with "$@" for what you typed: a key may be in it.
# A target is exercise-N or N (yours), solution-N (the reference), kotlin, or a service beside the port: spring, node, python … `just check`
# and some others take the exercise that you're at where there is none. `just RECIPE --help` has the options.

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
[no-exit-message]
tour:
    ./justw tour

# What is here, what is missing, and the exact command that fixes it
[group('start here')]
[no-exit-message]
doctor: tool
    {{ workshop }} doctor

# The book as files, into book-html
[group('start here')]
[no-exit-message]
book: tool
    {{ workshop }} book

# The book as one PDF, by Node and the system's Chromium (--core: the core way alone)
[group('start here')]
pdf file *options: book
    npm --prefix tests/book/browser ci --ignore-scripts --omit=optional --no-audit --no-fund --silent
    node tests/book/browser/pdf.mjs "$@"

# The book at a local address, rebuilt at every change
[group('start here')]
[no-exit-message]
serve *options: tool (bring "mdbook")
    {{ workshop }} serve "$@"

# Build, start and test
[group('exercises')]
[no-exit-message]
check *options: tool
    {{ workshop }} check "$@"

# Check again at every change, with keys for a hint, the first red test and the reference
[group('exercises')]
[no-exit-message]
watch *options: tool
    {{ workshop }} watch "$@"

# Start it with a database of its own and leave it running, to try requests by hand
[group('exercises')]
[no-exit-message]
run *options: tool
    {{ workshop }} run "$@"

# Check each `query_as!` beside a database with the exercise's schema, and keep what that says in .sqlx
[group('exercises')]
[no-exit-message]
prepare target: tool
    {{ workshop }} prepare "$@"

# A service of prices for exercise 12, as slow and as broken as you like
[group('exercises')]
[no-exit-message]
upstream *options: tool
    {{ workshop }} upstream "$@"

# The next hint, chosen by what failed last
[group('exercises')]
[no-exit-message]
hint *options: tool
    {{ workshop }} hint "$@"

# The difference between your files and the reference
[group('exercises')]
[no-exit-message]
solution target *options: tool
    {{ workshop }} solution "$@"

# What a starter has that the reference before it hasn't, hunk by hunk, and why
[group('exercises')]
[no-exit-message]
what-is-new *target: tool
    {{ workshop }} what-is-new "$@"

# After green: what clippy says about Kotlin in your Rust, what a reviewer asks, and what to remember
[group('exercises')]
[no-exit-message]
review target: tool
    {{ workshop }} review "$@"

# Back to the starter; your files are kept in .workshop/attempts
[group('exercises')]
[no-exit-message]
reset target: tool
    {{ workshop }} reset "$@"

# On to exercise-N: its starter, and the earlier ones that aren't green count as skipped
[group('exercises')]
[no-exit-message]
catch-up target: tool
    {{ workshop }} catch-up "$@"

# A bug hunt: the reference with one mistake in it, for you to find; or a service to debug
[group('exercises')]
[no-exit-message]
hunt target *options: tool
    {{ workshop }} hunt "$@"

# Where you are
[group('exercises')]
[no-exit-message]
progress *options: tool
    {{ workshop }} progress "$@"

# The exercise's measurement, Kotlin and Rust side by side
[group('measuring')]
[no-exit-message]
measure target *options: tool (bring "oha" "hyperfine")
    {{ workshop }} measure "$@"

# A release build for a Raspberry Pi, copied there
[group('measuring')]
[no-exit-message]
build target *options: tool
    {{ workshop }} build "$@"

# All your results on one page, with your predictions scored
[group('measuring')]
[no-exit-message]
report: tool
    {{ workshop }} report

# Everybody's results on one page
[group('measuring')]
[no-exit-message]
board dir *options: tool
    {{ workshop }} board "$@"

# Compare the measuring with itself: no difference, and a planted one
[group('measuring')]
[no-exit-message]
calibrate *options: tool (bring "oha" "hyperfine")
    {{ workshop }} calibrate "$@"

# Make a data set: small (10 000 rows), pi (1 000 000) or full (10 000 000)
[group('the database')]
[no-exit-message]
seed data_set *options: tool
    {{ workshop }} seed "$@"

# The image of a service, built, tried out and removed again
[group('measuring')]
[no-exit-message]
image target *options: tool
    {{ workshop }} image "$@"

# Remove the server, the containers and the databases that the course started
[group('the database')]
[no-exit-message]
clean: tool
    {{ workshop }} clean

# Make the offline kit, for machines without a network
[group('for instructors')]
[no-exit-message]
kit dir: tool (bring "just" "mdbook" "oha" "hyperfine")
    {{ workshop }} kit "$@"

# Do what a day in the room does, timed, on this machine
[group('for instructors')]
[no-exit-message]
rehearse *options: tool (bring "oha" "hyperfine")
    {{ workshop }} rehearse "$@"

# What shows in minutes that the course works here
[group('authors')]
[no-exit-message]
test:
    ./justw test

tests := "--workspace --exclude 'node-*' --lib --test house --test golden --test server --test seeding --test faults --test commands"

# Every test (--anew: also what was green before and has not changed) but for those of each night: just test-night
[group('authors')]
test-all *options: tool (bring "oha")
    @.ci/part "formatting" cargo fmt --all --check
    @.ci/part "the Kotlin service's own tests" mvn --batch-mode --no-transfer-progress --file exercises/kotlin-service test
    @.ci/part "building the tests" cargo test --quiet {{ tests }} --no-run
    @.ci/part "cargo test" cargo test {{ tests }} --no-fail-fast -- --skip tls:: --skip robustness:: --skip add_an_exercise::
    @.ci/part "lints" cargo clippy --quiet --workspace --all-targets -- --deny warnings
    @.ci/part "verify" {{ workshop }} verify all --quick "$@"
    @.ci/part "the book's check" just book-check

# The tests of each night: the references' own, TLS to the database, generated requests, adding an exercise
[group('authors')]
test-night: tool (bring "oha")
    @.ci/part "the references' own tests" cargo test --quiet --package 'solution-*' --bins --no-fail-fast
    @.ci/part "tests of the night" cargo test --workspace --exclude 'node-*' --test commands --no-fail-fast -- tls:: robustness:: add_an_exercise::

# What another provider of PostgreSQL can break beside the contract, which `just test` judges: the server, seeding, faults
[group('authors')]
test-provider: tool
    @.ci/part "server, seeding, faults, other provider" cargo test --workspace --exclude 'node-*' --test server --test seeding --test faults
    @.ci/part "databases, other provider" cargo test --workspace --exclude 'node-*' --test commands -- database::

# What is wrong in the book, with file and line
[group('authors')]
[no-exit-message]
book-check: tool
    {{ workshop }} book-check

# The author's gate for exercise-N, or all: starter red as declared, reference green, each mistake caught
[group('authors')]
[no-exit-message]
verify target: tool
    {{ workshop }} verify "$@"

# After a change in a reference: merge it into its starter, its mistakes, and every later state
[group('authors')]
[no-exit-message]
carry target *options: tool
    {{ workshop }} carry "$@"

# Every file of a new exercise that continues another one
[group('authors')]
[no-exit-message]
new-exercise number from origin *options: tool
    {{ workshop }} new-exercise "$@"

# After a change in a starter: write the patch that makes it out of its reference
[group('authors')]
[no-exit-message]
starter-patch target: tool
    {{ workshop }} starter-patch "$@"

# How long the loop of edit and check takes, compared with its limits (--from-nothing: tour and test in an empty clone)
[group('authors')]
bench-loop *options: tool (bring "hyperfine")
    tests/bench-loop.sh "$@"

[private]
[no-exit-message]
tool:
    @./justw --tool

[private]
[no-exit-message]
bring +tools:
    @./justw --bring "$@"
