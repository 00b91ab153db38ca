#!/bin/bash
# start-dovecot-postfix.sh sdbox|mdbox
. "$(dirname "$0")/lib.sh"
FORMAT=${1:-sdbox}; N=dovecot-$FORMAT; CONF=$PEERS/etc/$N
[ -d "$DATA/dovecot" ] || die "run setup-dovecot-postfix.sh $FORMAT first"
in_group $N dovecot -c "$CONF/dovecot.conf" || die "dovecot did not start"
in_group $N/postfix postfix -c "$CONF" start 2>/dev/null || die "postfix did not start"
if [ "$CG2" = /nowhere ]; then cat "$DATA/dovecot/run/master.pid" >> "$CG/$N/cgroup.procs"
  cat "$DATA/postfix/spool/pid/master.pid" >> "$CG/$N/postfix/cgroup.procs"; fi
wait_port $LMTP_PORT; wait_port $IMAP_PORT; wait_port $POP3_PORT; wait_port $SMTP_PORT
log "$N is up: smtp $SMTP_PORT, lmtp $LMTP_PORT, imap $IMAP_PORT, pop3 $POP3_PORT"
