#!/bin/bash
# stop-nelumbo.sh: an ordered stop, then whatever is left in the group.
. "$(dirname "$0")/lib.sh"
NELUMBO_BIN=${NELUMBO_BIN:-$ROOT/target/release/nelumbo}
"$NELUMBO_BIN" stop "$DATA/nelumbo" >&2
stop_group nelumbo
log "nelumbo is down"
