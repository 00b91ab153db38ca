#!/bin/bash
# stop-dovecot-postfix.sh sdbox|mdbox: asks both to stop, then ends what is left in their group.
. "$(dirname "$0")/lib.sh"
FORMAT=${1:-sdbox}; N=dovecot-$FORMAT; CONF=$PEERS/etc/$N
[ -d "$CONF" ] || exit 0
postfix -c "$CONF" stop 2>/dev/null
doveadm -c "$CONF/dovecot.conf" stop 2>/dev/null
sleep 1
stop_group $N
log "$N is down"
