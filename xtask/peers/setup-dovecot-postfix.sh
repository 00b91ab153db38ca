#!/bin/bash
# setup-dovecot-postfix.sh sdbox|mdbox
# Debian's Postfix and Dovecot with a configuration for loopback alone. May be run again at any time; the measured
# volume is made anew, so mail of an earlier run goes.
. "$(dirname "$0")/lib.sh"
FORMAT=${1:-sdbox}
case $FORMAT in sdbox|mdbox) ;; *) die "sdbox or mdbox, not $FORMAT" ;; esac

PACKAGES="postfix postfix-lmdb dovecot-core dovecot-lmtpd dovecot-imapd dovecot-pop3d"
if ! dpkg -s $PACKAGES >/dev/null 2>&1; then
  export DEBIAN_FRONTEND=noninteractive
  echo "postfix postfix/main_mailer_type select No configuration" | debconf-set-selections
  RUNLEVEL=1 apt-get install -y --no-install-recommends $PACKAGES >"$PEERS.apt.log" 2>&1 || die "apt-get failed: $PEERS.apt.log"
fi

for p in dovecot-sdbox dovecot-mdbox; do stop_group $p; done
fresh_volume
mkdir -p "$DATA"/postfix/{spool,lib} "$DATA"/dovecot/{run,state} "$DATA"/mail "$DATA"/attach
chown postfix "$DATA"/postfix/lib; chown $VMAIL_UID:$VMAIL_UID "$DATA"/mail "$DATA"/attach

# each user in IDLE needs an inotify instance; the usual limit of 128 for all makes the rest poll
WATCHES=$((NUSERS * 2 + 1024))
for limit in max_user_instances max_user_watches; do
  [ "$(cat /proc/sys/fs/inotify/$limit)" -ge $WATCHES ] || sysctl -qw fs.inotify.$limit=$WATCHES
done
# one process for each connection
[ "$(cat /proc/sys/kernel/pid_max)" -ge $((NUSERS * 4 + 8192)) ] || sysctl -qw kernel.pid_max=$((NUSERS * 4 + 8192))

CONF=$PEERS/etc/dovecot-$FORMAT
if [ "$FORMAT" = mdbox ]; then
  FORMAT_SETTINGS="mail_plugins = zlib
plugin {
  zlib_save = zstd
}
mail_attachment_dir = $DATA/attach
mail_attachment_fs = sis posix"
else
  FORMAT_SETTINGS="# no compression, no attachment store"
fi
render "$HERE/templates/dovecot.conf.in" "$CONF/dovecot.conf"
render "$HERE/templates/postfix-main.cf.in" "$CONF/main.cf"
render "$HERE/templates/postfix-master.cf.in" "$CONF/master.cf"
users | sed 's/$/ 1/' > "$CONF/vmailbox"
postmap -c "$CONF" "lmdb:$CONF/vmailbox"
postfix -c "$CONF" check
doveconf -c "$CONF/dovecot.conf" >/dev/null || die "doveconf refuses the configuration"
log "ready: $CONF"
