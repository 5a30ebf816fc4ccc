#!/bin/sh
# Fetches what the driver programs need into one directory and prints, one line a driver,
# "ready DRIVER" or "missing DRIVER: why". Idempotent; exits 0 even when something is missing.
#
# usage: setup.sh DIRECTORY
set -u
here=$(cd "$(dirname "$0")" && pwd)
target=${1:?usage: setup.sh DIRECTORY}
mkdir -p "$target"
target=$(cd "$target" && pwd)

report() { # driver, exit code of its setup, its log
    if [ "$2" -eq 0 ]; then
        echo "ready $1"
    else
        echo "missing $1: $(tail -n 3 "$3" | tr '\n' ' ')"
    fi
}

# Runs a step unless its inputs are those of the last success.
step() { # driver, input file..., then -- and the function
    driver=$1
    shift
    inputs=""
    while [ "$1" != -- ]; do
        inputs="$inputs $1"
        shift
    done
    shift
    # shellcheck disable=SC2086
    stamp=$(cat $inputs "$here/setup.sh" | cksum)
    if [ "$(cat "$target/$driver.stamp" 2>/dev/null)" = "$stamp" ]; then
        echo "ready $driver"
        return
    fi
    "$@" >"$target/$driver.log" 2>&1
    code=$?
    [ $code -eq 0 ] && echo "$stamp" >"$target/$driver.stamp"
    report "$driver" $code "$target/$driver.log"
}

have() {
    command -v "$1" >/dev/null || { echo "there is no $1 here" && false; }
}

python_step() {
    have python3 || return 1
    [ -x "$target/venv/bin/python" ] || python3 -m venv "$target/venv" || return 1
    "$target/venv/bin/pip" install -q -r "$here/python/requirements.txt"
}

node_step() {
    have node && have npm || return 1
    mkdir -p "$target/node" || return 1
    cp "$here"/node/*.js* "$target/node/" || return 1
    (cd "$target/node" && npm ci --silent)
}

go_step() {
    have go || return 1
    (cd "$here/go" && GOFLAGS=-mod=readonly go build -o "$target/go-suite" .)
}

java_step() {
    have mvn && have javac || return 1
    mkdir -p "$target/java" || return 1
    cp -r "$here/java/." "$target/java/" || return 1
    (cd "$target/java" && mvn -q -B package dependency:copy-dependencies)
}

rust_step() {
    [ "${TIDEGATE_LIVE:-}" = full ] || { echo "built for TIDEGATE_LIVE=full alone" && return 1; }
    have cargo || return 1
    CARGO_TARGET_DIR="$target/rust" cargo build -q --locked --manifest-path "$here/rust/Cargo.toml"
}

php_step() {
    have php || return 1
    # shellcheck disable=SC2016
    php -r '
        $loaded = get_loaded_extensions();
        $missing = array_diff(["PDO", "pdo_mysql", "mysqli", "pcntl"], $loaded);
        foreach (["Illuminate/Database", "Doctrine/DBAL"] as $library) {
            if (!stream_resolve_include_path("$library/autoload.php")) {
                $missing[] = $library;
            }
        }
        echo $missing ? "php lacks " . implode(", ", $missing) . "\n" : "";
        exit($missing ? 1 : 0);
    '
}

ruby_step() {
    have ruby || return 1
    ruby -e 'require "active_record"; require "mysql2"'
}

step python "$here/python/requirements.txt" -- python_step &
step node "$here"/node/*.js* -- node_step &
step go "$here"/go/*.go "$here/go/go.mod" -- go_step &
step java "$here"/java/pom.xml "$here"/java/src/main/java/*.java -- java_step &
step rust-tls "$here"/rust/Cargo.* "$here/../src/bin/rust-suite.rs" -- rust_step &
step php "$here"/php/*.php -- php_step &
step ruby "$here"/ruby/*.rb -- ruby_step &
wait
