#!/bin/bash
# start-nelumbo.sh: the demo server with 200 users and no mail, on the measured volume.
. "$(dirname "$0")/lib.sh"
NELUMBO_BIN=${NELUMBO_BIN:-$ROOT/target/release/nelumbo}
nelumbo_ports
[ -d "$DATA/nelumbo" ] || die "run setup-nelumbo.sh first"
out=$PEERS/nelumbo.out
in_group nelumbo "$NELUMBO_BIN" demo --data "$DATA/nelumbo" --port-offset "$NELUMBO_OFFSET" --domain $DOMAIN \
  --password $PASSWORD --users "$NUSERS" --no-mail >"$out" 2>"$PEERS/nelumbo.err" </dev/null &
for i in $(seq 1 600); do
  grep -q '^ready' "$out" 2>/dev/null && break
  kill -0 $! 2>/dev/null || { tail -5 "$PEERS/nelumbo.err" >&2; die "the server ended at start"; }
  sleep 0.1
done
grep -q '^ready' "$out" || die "the server was not ready within 60 s"
log "nelumbo is up: smtp $SMTP_PORT, imap $IMAP_PORT"
