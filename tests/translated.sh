#!/bin/sh
# Which pages of a translation were made from an older page: tests/translated.sh de, which reads book-de. Below its heading, a translated
# page names what it was made from, as `git hash-object` names it: <!-- from 231b4de1… -->
set -eu
cd "$(dirname "$0")/.."
language=${1:-de}
[ -d "book-$language" ] || {
    echo "there is no book-$language" >&2
    exit 2
}
status=0
for page in $(find "book-$language" -name '*.md' | sort); do
    english=book/${page#"book-$language/"}
    from=$(sed -n 's/^<!-- from \([0-9a-f]*\) -->$/\1/p' "$page")
    now=$(git hash-object "$english" 2>/dev/null) || now=none
    if [ "$from" = "$now" ]; then
        echo "current  $page"
    elif [ "$now" = none ]; then
        echo "gone     $page: there is no $english"
        status=1
    else
        echo "old      $page: git diff ${from:-HASH} HEAD:$english"
        status=1
    fi
done
exit "$status"
