#!/bin/sh
# Installs the Debian packages that the whole test suite needs; does nothing when they are there.
#
#   kcat               a small client over librdkafka, one of the clients the compatibility tests run
#   bash, zsh, fish    the shells whose completion is tested
#   e2fsprogs, mount   mkfs.ext4, losetup and mount, for the power-cut and full-disk tests
#   nftables, iproute2   partitions of the network in namespaces, for make faults
#   gcc, libc6-dev     compile what a wheel has compiled
#   chromium           the browser that the console is tested in
#   default-jdk-headless, maven   Java 17 and the way to Kafka's own tools
set -eu

PATH="$PATH:/usr/sbin:/sbin"
missing=""

need() { # need COMMAND PACKAGE
    command -v "$1" >/dev/null 2>&1 || missing="$missing $2"
}

need kcat kcat
need bash bash
need zsh zsh
need fish fish
need mkfs.ext4 e2fsprogs
need losetup mount
need mount mount
need nft nftables
need ip iproute2
need gcc "gcc libc6-dev"
need java default-jdk-headless
need mvn maven
need chromium chromium

[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
    echo "missing packages:$missing; as root, run: apt-get install$missing" >&2
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086  # a list of package names, split on purpose
apt-get install -qq -y --no-install-recommends $missing >/dev/null
