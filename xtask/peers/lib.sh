# shellcheck shell=bash disable=SC2034,SC2086
# Settings and functions shared by the measuring scripts. Source it; it starts nothing.
# Everything is kept below $PEERS (default /tmp/peers). The measured server's data lie on a loop-mounted
# volume of their own, so that the volume's line in /proc/diskstats counts this server and nobody else.
set -u
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
export PEERS=${PEERS:-/tmp/peers}
DATA=$PEERS/data                 # where the measured volume is mounted
export FS=${FS:-ext4}            # its file system: ext4 or xfs
IMG=$PEERS/data.img
IMG_SIZE=${IMG_SIZE:-12G}
DOMAIN=bench.test PASSWORD=secret NUSERS=${NUSERS:-200}
# ports of Postfix and Dovecot; nelumbo's follow from its offset, see nelumbo_ports
SMTP_PORT=${SMTP_PORT:-2525} IMAP_PORT=${IMAP_PORT:-1143} POP3_PORT=${POP3_PORT:-1110} LMTP_PORT=${LMTP_PORT:-2424}
NELUMBO_OFFSET=${NELUMBO_OFFSET:-3000}
VMAIL_UID=5000

# Limits that let NUSERS people work at once, each with an IMAP connection of their own and some that are being closed.
# A process of smtpd serves one connection; a tenth of the people sends at the same moment, at most.
IMAP_PROCESSES=$((NUSERS * 2 + 400))
LOGIN_CLIENTS=$((NUSERS * 2 + 1000))
SMTP_PROCESSES=$((NUSERS / 10 > 100 ? NUSERS / 10 : 100))
[ "$SMTP_PROCESSES" -le 600 ] || SMTP_PROCESSES=600

# Where processes are counted. cgroup v1: cpuacct for CPU, and the v2 twin for bpftrace's filter. cgroup v2 alone: both.
# Neither: a file of process ids, and CPU from /proc/PID/stat.
TOP=$(basename "$PEERS")
if [ -d /sys/fs/cgroup/cpuacct ]; then CG=/sys/fs/cgroup/cpuacct/$TOP CG2=/sys/fs/cgroup/unified/$TOP
elif [ -w /sys/fs/cgroup/cgroup.procs ]; then CG=/sys/fs/cgroup/$TOP CG2=$CG
else CG=$PEERS/groups CG2=/nowhere; fi

# every server may open as many files as the system lets it
ulimit -n "$(ulimit -Hn)" 2>/dev/null

log() { echo "[peers] $*" >&2; }
die() { log "$*"; exit 1; }

users() { local i; for i in $(seq 1 "$NUSERS"); do printf 'u%04d@%s\n' "$i" "$DOMAIN"; done; }

nelumbo_ports() { SMTP_PORT=$((2025 + NELUMBO_OFFSET)) IMAP_PORT=$((2143 + NELUMBO_OFFSET)) POP3_PORT=$((2110 + NELUMBO_OFFSET)); }

# render TEMPLATE OUT: every @NAME@ becomes the value of the shell variable NAME
render() {
  local out=$2 n text; text=$(cat "$1")
  for n in $(grep -oE '@[A-Z0-9_]+@' "$1" | tr -d @ | sort -u); do
    [ -n "${!n+x}" ] || die "template $1: $n is not set"
    text=${text//@$n@/${!n}}
  done
  mkdir -p "$(dirname "$out")"; printf '%s\n' "$text" > "$out"
}

# make_fs IMAGE: a new, empty file system of the kind $FS
make_fs() {
  case $FS in
    ext4) mkfs.ext4 -q -F -m 0 -E lazy_itable_init=0,lazy_journal_init=0 "$1" ;;
    xfs) command -v mkfs.xfs >/dev/null || die "FS=xfs needs mkfs.xfs: apt-get install xfsprogs"
      mkfs.xfs -q -f "$1" ;;
    *) die "FS is ext4 or xfs, not $FS" ;;
  esac || die "mkfs.$FS failed"
}
# fresh_volume: a new, empty file system at $DATA (without loop devices, or when PLAIN_FOLDER is set: a plain directory;
# device figures are then missing)
fresh_volume() {
  drop_volume
  mkdir -p "$DATA"; chmod 755 "$PEERS" "$DATA"
  [ -z "${PLAIN_FOLDER:-}" ] || return 0
  local l; l=$(losetup -f 2>/dev/null) || { log "no loop device: bytes on the device are not measured"; return 0; }
  rm -f "$IMG"; truncate -s "$IMG_SIZE" "$IMG"
  make_fs "$IMG"
  l=$(losetup -f --show "$IMG") || die "losetup failed"
  echo "$l" > "$PEERS/loopdev"
  mount -o noatime "$l" "$DATA" || die "cannot mount $l"
  chmod 755 "$DATA"
}
drop_volume() {
  if mountpoint -q "$DATA"; then umount "$DATA" || die "$DATA is busy"; else rm -rf "$DATA"; fi
  if [ -f "$PEERS/loopdev" ]; then losetup -d "$(cat "$PEERS/loopdev")" 2>/dev/null; rm -f "$PEERS/loopdev"; fi
  return 0
}

# in_group NAME[/PART] CMD...: become CMD inside the server's group, which its children inherit.
# A PART is counted within NAME and also alone.
in_group() {
  local n=$1 top=${1%%/*}; shift
  mkdir -p "$CG/$n"
  if [ "$CG2" != /nowhere ]; then mkdir -p "$CG2/$top" 2>/dev/null; fi
  ( echo "$BASHPID" >> "$CG/$n/cgroup.procs"
    if [ "$CG2" != "$CG" ] && [ -d "$CG2/$top" ]; then echo "$BASHPID" > "$CG2/$top/cgroup.procs"; fi
    exec "$@" )
}
group_pids() {
  local p
  for p in $(cat "$CG/$1/cgroup.procs" "$CG/$1"/*/cgroup.procs 2>/dev/null); do [ -d "/proc/$p" ] && echo "$p"; done
}
# stop_group NAME: TERM, then KILL, for exactly the processes that are in the group
stop_group() {
  local sig p i
  [ -d "$CG/$1" ] || return 0
  for sig in TERM KILL; do
    for p in $(group_pids "$1"); do kill -$sig "$p" 2>/dev/null; done
    for i in $(seq 1 100); do [ -z "$(group_pids "$1")" ] && break 2; sleep 0.1; done
  done
  [ -z "$(group_pids "$1")" ] || die "processes of $1 are still there: $(group_pids "$1" | tr '\n' ' ')"
  case $CG in "$PEERS"/*) rm -rf "${CG:?}/$1" ;; esac
  # the empty groups go too; others of the same TOP may still be in use
  rmdir "$CG/$1"/*/ "$CG/$1" "$CG" "$CG2/$1" "$CG2" 2>/dev/null
  return 0
}
wait_port() { # wait_port PORT [seconds]
  local i; for i in $(seq 1 $(( ${2:-15} * 10 ))); do
    (exec 3<>/dev/tcp/127.0.0.1/"$1") 2>/dev/null && return 0; sleep 0.1; done
  die "nothing listens on 127.0.0.1:$1"
}
