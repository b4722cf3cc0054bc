#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts what `cargo build --release` made, and what belongs to it, where an agent or a master finds it. A file that is there
# is replaced as a whole, never written to: a running agent has the library in its memory.
set -eu
umask 022

usage() {
  cat <<EOF
usage: packaging/install.sh [--prefix=DIR] [--sysconfdir=DIR] [--destdir=DIR] [--from=DIR] [--uninstall]

  --prefix=DIR      below which everything goes, /usr/local by default
  --sysconfdir=DIR  where mesos-gpu/modules.json goes, /etc by default; one that is there is kept
  --destdir=DIR     put before every path that is written to, for packages
  --from=DIR        where cargo put the library and the tool, target/release by default
  --uninstall       remove all but modules.json

The variables PREFIX, SYSCONFDIR and DESTDIR stand for the first three.
EOF
}

die() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
prefix=${PREFIX:-/usr/local}
sysconfdir=${SYSCONFDIR:-/etc}
destdir=${DESTDIR:-}
from=${CARGO_TARGET_DIR:-$root/target}/release
uninstall=no

for argument in "$@"; do
  case $argument in
    --prefix=*) prefix=${argument#*=} ;;
    --sysconfdir=*) sysconfdir=${argument#*=} ;;
    --destdir=*) destdir=${argument#*=} ;;
    --from=*) from=${argument#*=} ;;
    --uninstall) uninstall=yes ;;
    --help) usage && exit 0 ;;
    *) usage >&2 && die "cannot take $argument" ;;
  esac
done

# These are written into JSON and into units, where other characters would need quoting.
for folder in "$prefix" "$sysconfdir"; do
  case $folder in
    *[!A-Za-z0-9/._+-]* | [!/]* | '') die "cannot install below '$folder': give a path that begins with / and has letters, digits and / . _ + - only" ;;
  esac
done

library=$prefix/lib/mesos/modules/libmesos_gpu.so
tool=$prefix/bin/mesos-gpu
manifest=$sysconfdir/mesos-gpu/modules.json
shared=$prefix/share/mesos-gpu
documents=$prefix/share/doc/mesos-gpu
bash=$prefix/share/bash-completion/completions/mesos-gpu
zsh=$prefix/share/zsh/site-functions/_mesos-gpu
fish=$prefix/share/fish/vendor_completions.d/mesos-gpu.fish

if [ "$uninstall" = yes ]; then
  for file in "$library" "$tool" "$shared" "$documents" "$bash" "$zsh" "$fish"; do
    rm -rf "$destdir$file"
  done
  printf 'removed from %s; %s is left\n' "$prefix" "$manifest"
  exit 0
fi

for file in libmesos_gpu.so mesos-gpu; do
  [ -f "$from/$file" ] || die "there is no $from/$file: run cargo build --release first, or say where it is with --from"
done

# put MODE PATH TEXT: a file with this text.
put() {
  mkdir -p "$destdir$(dirname "$2")"
  printf '%s\n' "$3" >"$destdir$2.new"
  chmod "$1" "$destdir$2.new"
  mv -f "$destdir$2.new" "$destdir$2"
  printf '%s\n' "$2"
}

# copy MODE PATH FILE: a copy of a file.
copy() {
  mkdir -p "$destdir$(dirname "$2")"
  cp -f "$3" "$destdir$2.new"
  chmod "$1" "$destdir$2.new"
  mv -f "$destdir$2.new" "$destdir$2"
  printf '%s\n' "$2"
}

copy 755 "$library" "$from/libmesos_gpu.so"
copy 755 "$tool" "$from/mesos-gpu"
for unit in mesos-agent mesos-master; do
  text=$(sed "s|@modules_json@|$manifest|g" "$here/systemd/$unit.service.d/mesos-gpu.conf")
  put 644 "$shared/systemd/$unit.service.d/mesos-gpu.conf" "$text"
done
for dashboard in "$root"/docs/*dashboard.json; do
  [ ! -f "$dashboard" ] || copy 644 "$shared/$(basename "$dashboard")" "$dashboard"
done
text=$("$from/mesos-gpu" completions bash)
put 644 "$bash" "$text"
text=$("$from/mesos-gpu" completions zsh)
put 644 "$zsh" "$text"
text=$("$from/mesos-gpu" completions fish)
put 644 "$fish" "$text"
copy 644 "$documents/README.md" "$root/README.md"
copy 644 "$documents/LICENSE" "$root/LICENSE"
for document in "$root"/docs/*.md; do
  copy 644 "$documents/docs/$(basename "$document")" "$document"
done
if [ -e "$destdir$manifest" ]; then
  printf '%s is kept\n' "$manifest"
else
  text=$(sed "s|\"name\": \"mesos_gpu\"|\"file\": \"$library\"|" "$root/modules.json")
  put 644 "$manifest" "$text"
fi
