#!/bin/bash
# settle-nelumbo.sh: checkpoints every database, truncates the write-ahead files, releases log segments; then prints
# one JSON object with what the log keeps allocated, for the space figure.
. "$(dirname "$0")/lib.sh"
NELUMBO_BIN=${NELUMBO_BIN:-$ROOT/target/release/nelumbo}
"$NELUMBO_BIN" console "$DATA/nelumbo" dbcache flush >&2 || die "dbcache flush failed"
"$NELUMBO_BIN" log status "$DATA/nelumbo" --json
