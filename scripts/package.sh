#!/bin/sh
# Packs a built program: package.sh amd64|arm64 DIRECTORY makes unjank_VERSION_ARCH.deb and
# unjank-VERSION-ARCH.tar.gz there, and an .rpm where rpmbuild(8) is installed. The same input gives
# the same bytes: all times are SOURCE_DATE_EPOCH, or that of the last commit.
#
# BINARY, RUN and LIBRARY are as for install.sh. DEPENDS are packages that the .deb depends on, for a
# program that is not static. COMPRESSION is that of the .deb: xz, or gzip, which is quicker. LEVEL is
# the level of compression of all packages, from 1, the quickest, to 9.
set -eu
cd "$(dirname "$0")/.."

arch=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
umask 022
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The same files for all: what `make install` puts below /usr.
stage() { # directory
    DESTDIR=$1 PREFIX=/usr ./scripts/install.sh
    find "$1/usr/share/man" -name '*.1' -exec gzip -9n {} +
    find "$1" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
}

tar_gz() {
    name=unjank-$version-$arch
    DESTDIR=$work/tar PREFIX=/usr/local ./scripts/install.sh
    mv "$work/tar/usr/local" "$work/tar/$name"
    tar --create --directory "$work/tar" --sort=name --owner=0 --group=0 --numeric-owner \
        --mtime "@$SOURCE_DATE_EPOCH" --format=gnu "$name" | gzip "-${LEVEL:-9}n" >"$out/$name.tar.gz"
}

deb() {
    tree=$work/deb
    ZSH_DIR=share/zsh/vendor-completions stage "$tree"
    mv "$tree/usr/share/doc/unjank/LICENSE-MIT" "$tree/usr/share/doc/unjank/copyright"
    gzip -9n "$tree/usr/share/doc/unjank/CHANGELOG.md"
    mv "$tree/usr/share/doc/unjank/CHANGELOG.md.gz" "$tree/usr/share/doc/unjank/changelog.gz"
    mkdir "$tree/DEBIAN"
    for script in postinst prerm postrm; do
        install -m 755 "dist/debian/$script" "$tree/DEBIAN/$script"
    done
    {
        echo "Package: unjank"
        echo "Version: $version"
        echo "Architecture: $arch"
        echo "Maintainer: The unjank developers"
        echo "Section: utils"
        echo "Priority: optional"
        echo "Installed-Size: $(du -k -s "$tree/usr" | cut -f 1)"
        [ -z "${DEPENDS:-}" ] || echo "Depends: $DEPENDS"
        echo "Suggests: qemu-system-x86"
        echo "Description: finds where a device loses time between a touch and its response"
        echo " Measures, explains and removes five delays: slow clocks at launch, swapped-out"
        echo " pages, late wake-ups, waiting for locks, and calls between processes. Explains"
        echo " one launch of a program to the nanosecond, and puts back all that it changes."
    } >"$tree/DEBIAN/control"
    (cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
    find "$tree" -exec touch --no-dereference --date "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Z"${COMPRESSION:-xz}" ${LEVEL:+-z"$LEVEL"} \
        --build "$tree" "$out/unjank_${version}_$arch.deb" >/dev/null
}

rpm() {
    tree=$work/rpm
    stage "$tree"
    case $arch in amd64) cpu=x86_64 ;; arm64) cpu=aarch64 ;; *) cpu=$arch ;; esac
    {
        echo "%define _build_id_links none"
        echo "%define __os_install_post %{nil}"
        echo "%define use_source_date_epoch_as_buildtime 1"
        echo "%define clamp_mtime_to_source_date_epoch 1"
        echo "%define _buildhost localhost"
        echo "%define _binary_payload w${LEVEL:-6}.gzdio"
        echo "Name: unjank"
        echo "Version: $version"
        echo "Release: 1"
        echo "Summary: Finds where a device loses time between a touch and its response"
        echo "License: MIT OR Apache-2.0"
        echo "AutoReqProv: no"
        echo "%description"
        echo "Measures, explains and removes five delays: slow clocks at launch, swapped-out"
        echo "pages, late wake-ups, waiting for locks, and calls between processes."
        echo "%install"
        echo "cp -a $tree/. %{buildroot}/"
        echo "%preun"
        # The last argument of a script is the number of packages that stay.
        echo 'if [ "$1" -eq 0 ]; then'
        sed -e '1,/^if \[ "\$1" = remove/d' -e '$d' dist/debian/prerm
        echo 'fi'
        echo "%post"
        echo '[ ! -d /run/systemd/system ] || systemctl daemon-reload || true'
        echo "%files"
        (cd "$tree" && find . -type f | sed 's/^\.//' | sort)
    } >"$work/unjank.spec"
    rpmbuild -bb --quiet --target "$cpu-linux" --define "_topdir $work/rpmbuild" \
        --define "_rpmdir $out" --define "_rpmfilename unjank-$version-1.$cpu.rpm" \
        "$work/unjank.spec" >"$work/rpm.log" 2>&1 || {
        cat "$work/rpm.log" >&2
        exit 1
    }
}

tar_gz
deb
if command -v rpmbuild >/dev/null 2>&1; then
    rpm
else
    echo "unjank: no .rpm: rpmbuild is not installed (package rpm)" >&2
fi
