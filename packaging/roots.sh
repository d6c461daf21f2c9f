# Clean Debian roots made by debootstrap, as shell functions for test-packages and test-matrix. They are entered by chroot,
# with /proc, /sys and shared memory of their own, which are unmounted however the script ends. As root.

# The mirror that this machine's own packages come from.
mirror() {
  own=$(. /etc/os-release && echo "$VERSION_CODENAME")
  apt-get indextargets --format '$(REPO_URI)' "Codename: $own" | head -n 1
}

can_make_roots() { [ "$(id -u)" -eq 0 ] && command -v debootstrap >/dev/null; }

mounted=
unmount() {
  for at in $mounted; do umount -l "$at" || true; done
  mounted=
}
trap unmount EXIT
trap 'exit 1' HUP INT TERM  # then the one above

# make_root SUITE ROOT: a minimal Debian in ROOT, unless it is there already.
make_root() {
  [ ! -e "$2/complete" ] || return 0
  rm -rf "$2"
  debootstrap --variant=minbase "$1" "$2" "$(mirror)" || return 1
  # What this machine's apt needs to reach its sources, the new root's needs as well.
  cp -R /etc/apt/apt.conf.d/. "$2/etc/apt/apt.conf.d/"
  touch "$2/complete"
}

# mount_at ROOT DIRECTORY ARGUMENTS…: `mount ARGUMENTS` there.
mount_at() {
  at=$1/$2
  shift 2
  mkdir -p "$at"
  mount "$@" "$at"
  mounted="$at $mounted"
}

# enter ROOT: gives it /proc, /sys, shared memory and an empty /tmp: Open MPI 5 does not start where a job that was killed, with
# the number that its process has now, has left a directory. in_root ROOT COMMAND: runs it there.
enter() {
  mount_at "$1" proc -t proc proc
  mount_at "$1" sys -t sysfs -o ro sysfs
  mount_at "$1" dev/shm -t tmpfs tmpfs
  mount_at "$1" tmp -t tmpfs tmpfs
}
in_root() {
  chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    OMPI_MCA_mpi_yield_when_idle=1 sh -eu -c "$2"
}
