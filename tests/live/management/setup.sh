#!/bin/sh
# Fetches Ansible, its collection community.proxysql and Prometheus' client library into one
# directory: a Python environment, and `collections` in it. Idempotent; exits with 1 and says why
# when something cannot be had.
#
# usage: setup.sh DIRECTORY
set -eu
here=$(cd "$(dirname "$0")" && pwd)
target=${1:?usage: setup.sh DIRECTORY}
mkdir -p "$target"
target=$(cd "$target" && pwd)

# tests run side by side
exec 9>"$target.lock"
flock 9

stamp=$(cat "$here/requirements.txt" "$here/setup.sh" | cksum)
[ "$(cat "$target/stamp" 2>/dev/null)" = "$stamp" ] && exit 0

[ -x "$target/bin/python" ] || python3 -m venv "$target"
"$target/bin/pip" install -q -r "$here/requirements.txt"
# The package holds every collection there is and would fill half a gigabyte: one is unpacked.
rm -rf "$target/package" "$target/collections"
"$target/bin/pip" download -q --no-deps --only-binary=:all: -d "$target/package" ansible==12.3.0
"$target/bin/python" - "$target" <<'PY'
import glob, sys, zipfile
target = sys.argv[1]
(wheel,) = glob.glob(target + "/package/ansible-*.whl")
with zipfile.ZipFile(wheel) as package:
    wanted = "ansible_collections/community/proxysql/"
    names = [name for name in package.namelist() if name.startswith(wanted)]
    package.extractall(target + "/collections", names)
PY
rm -rf "$target/package"
echo "$stamp" >"$target/stamp"
