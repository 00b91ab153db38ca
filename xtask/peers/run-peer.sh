#!/bin/bash
# run-peer.sh nelumbo|dovecot-sdbox|dovecot-mdbox [bench.py options]
# Sets the server up from nothing, starts it, puts the load on it, stops it. Result: $PEERS/results/NAME.json,
# or the file named by OUT
. "$(dirname "$0")/lib.sh"
[ $# -ge 1 ] || die "which server? nelumbo, dovecot-sdbox or dovecot-mdbox"
N=$1; shift
case $N in
  nelumbo)     script=nelumbo arg=; nelumbo_ports ;;
  dovecot-*)   script=dovecot-postfix arg=${N#dovecot-} ;;
  *)           die "unknown server $N" ;;
esac
"$HERE/setup-$script.sh" $arg && "$HERE/start-$script.sh" $arg || exit 1
settle=
[ -x "$HERE/settle-$script.sh" ] && settle=$HERE/settle-$script.sh
mkdir -p "$PEERS/results"
timeout "${LIMIT:-1500}" python3 "$HERE/load/bench.py" --name "$N" --data "$DATA" --group "$CG/$N" --group2 "$CG2/$N" \
  --smtp "$SMTP_PORT" --imap "$IMAP_PORT" --pop3 "$POP3_PORT" --users "$NUSERS" --settle "$settle" --out "${OUT:-$PEERS/results/$N.json}" "$@"; rc=$?
"$HERE/stop-$script.sh" $arg
exit $rc
