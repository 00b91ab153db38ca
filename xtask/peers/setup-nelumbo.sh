#!/bin/bash
# setup-nelumbo.sh: a fresh volume for this project's server, with the release binary built beforehand (./run builds it).
. "$(dirname "$0")/lib.sh"
NELUMBO_BIN=${NELUMBO_BIN:-$ROOT/target/release/nelumbo}
[ -x "$NELUMBO_BIN" ] || die "$NELUMBO_BIN is missing: cargo build --release -p nelumbo"
stop_group nelumbo
fresh_volume
mkdir -p "$DATA/nelumbo"
log "ready: $DATA/nelumbo"
