#!/bin/bash
# start-nelumbo.sh: the demo server with NUSERS people and no mail, on the measured volume.
. "$(dirname "$0")/lib.sh"
NELUMBO_BIN=${NELUMBO_BIN:-$ROOT/target/release/nelumbo}
nelumbo_ports
[ -d "$DATA/nelumbo" ] || die "run setup-nelumbo.sh first"
out=$PEERS/nelumbo.out

# run WORDS…: starts the program with them and waits until it is ready
run() {
  : >"$out"
  in_group nelumbo "$NELUMBO_BIN" "$@" >"$out" 2>>"$PEERS/nelumbo.err" </dev/null &
  local i pid=$!
  for i in $(seq 1 6000); do
    grep -q '^ready' "$out" 2>/dev/null && return 0
    kill -0 $pid 2>/dev/null || { tail -5 "$PEERS/nelumbo.err" >&2; die "the server ended at start"; }
    sleep 0.1
  done
  die "the server was not ready within 600 s"
}

: >"$PEERS/nelumbo.err"
run demo --data "$DATA/nelumbo" --port-offset "$NELUMBO_OFFSET" --domain $DOMAIN --password $PASSWORD \
  --users "$NUSERS" --no-mail
# SETTINGS="NAME=VALUE …": set, and the server is started again with them
if [ -n "${SETTINGS:-}" ]; then
  for setting in $SETTINGS; do
    "$NELUMBO_BIN" console "$DATA/nelumbo" set config "$setting" >&2 || die "set config $setting failed"
  done
  "$NELUMBO_BIN" stop "$DATA/nelumbo" >&2
  stop_group nelumbo
  run serve "$DATA/nelumbo"
fi
log "nelumbo is up: smtp $SMTP_PORT, imap $IMAP_PORT"
