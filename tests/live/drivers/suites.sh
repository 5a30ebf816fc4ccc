#!/bin/sh
# Fetches what drivers test themselves with into one directory: the suites that the registries give.
# Prints, one line a suite, "ready SUITE" or "missing SUITE: why"; exits 0 even so. Idempotent.
#
# usage: suites.sh DIRECTORY
set -u
GO=github.com/go-sql-driver/mysql@v1.10.1
# the last archive that has its tests in it
PYMYSQL=0.10.1
target=${1:?usage: suites.sh DIRECTORY}
mkdir -p "$target" && cd "$target" || exit 1

go_suite() {
    command -v go >/dev/null || { echo "there is no go here" && return 1; }
    [ -x go-sql-driver/suite ] && return
    folder=$(go mod download -json "$GO" | sed -n 's/^.*"Dir": "\(.*\)",$/\1/p')
    [ -n "$folder" ] || { echo "no module $GO" && return 1; }
    rm -rf go-sql-driver && cp -r "$folder" go-sql-driver && chmod -R u+w go-sql-driver &&
        (cd go-sql-driver && go test -c -o suite .)
}

pymysql_suite() {
    command -v python3 >/dev/null || { echo "there is no python3 here" && return 1; }
    [ -x venv/bin/pytest ] && [ -d "PyMySQL-$PYMYSQL" ] && return
    python3 -m venv venv && venv/bin/pip install -q pytest mock cryptography &&
        venv/bin/pip download -q --no-binary :all: --no-deps "PyMySQL==$PYMYSQL" &&
        tar xzf "PyMySQL-$PYMYSQL.tar.gz"
}

for suite in go pymysql; do
    if "${suite}_suite" >"$suite.log" 2>&1; then
        echo "ready $suite"
    else
        echo "missing $suite: $(tail -n 3 "$suite.log" | tr '\n' ' ')"
    fi
done
