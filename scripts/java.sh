#!/bin/sh
# The Java library and the measuring application of `unjank jitter jvm`:
#   java.sh build     makes both jars, with the native half for this machine's architecture and,
#                     with a cross compiler, for the other
#   java.sh install   puts them into this user's Maven repository, with sources and documentation
#   java.sh deploy    puts the library into the Maven repository in the directory REPOSITORY
#   java.sh test      runs their tests on every JDK of this machine, and deploys
#   java.sh lint      checks their documentation
#   java.sh jdks      lists the JDKs in JAVA_HOME, PATH and /usr/lib/jvm; the first compiles
# Maven fetches its plugins on the first run. NATIVE=debug takes this machine's native half from
# cargo's debug directory, and leaves out the other one.
set -eu
cd "$(dirname "$0")/.."

# Homes of JDKs are one a line, and may contain blanks.
IFS='
'

JDK_NEEDED=17
target=${CARGO_TARGET_DIR:-target}
case "$target" in /*) ;; *) target=$PWD/$target ;; esac
native=$target/java-native

die() {
    echo "unjank: $*" >&2
    exit 1
}

# The major version of a JDK: 17; for 1.8.0_392, 8. Nothing if it is not a JVM.
major() { # home
    [ -x "$1/bin/java" ] && [ -r "$1/release" ] || return 0
    sed -n 's/^JAVA_VERSION="\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' "$1/release"
}

# Homes of all JVMs that are new enough, one a line, the oldest first.
jdks() {
    on_path=$(command -v java || true)
    for home in ${JAVA_HOME:+"$JAVA_HOME"} \
        ${on_path:+"$(dirname "$(dirname "$(readlink -f "$on_path")")")"} /usr/lib/jvm/*; do
        home=$(readlink -f "$home") || continue
        version=$(major "$home")
        [ "${version:-0}" -lt "$JDK_NEEDED" ] || echo "$version $home"
    done | sort -n -u | cut -d ' ' -f 2-
}

# The jar has a digest beside each file, which is checked before the file is run.
put() { # directory of cargo, directory in the jar
    mkdir -p "$native/$2"
    for file in libunjank_rt.so unjank-rt-task; do
        cp "$1/$file" "$native/$2/$file.new"
        sha256sum <"$native/$2/$file.new" | cut -d ' ' -f 1 >"$native/$2/$file.sha256"
        mv "$native/$2/$file.new" "$native/$2/$file"
    done
}

native_half() {
    here=$(uname -m)
    rm -rf "$native"
    if [ -n "${NATIVE:-}" ]; then
        put "$target/$NATIVE" "linux-$here"
        return 0
    fi
    "${CARGO:-cargo}" build --quiet --profile unwind --locked --package unjank-jni
    put "$target/unwind" "linux-$here"
    for other in x86_64 aarch64; do
        [ "$other" != "$here" ] || continue
        triple=$other-unknown-linux-gnu
        linker=$other-linux-gnu-gcc
        if ! command -v "$linker" >/dev/null 2>&1 ||
            ! rustup target list --installed 2>/dev/null | grep -qx "$triple"; then
            echo "unjank: the jars are made without $other; for both, install" \
                "gcc-$(echo "$other" | tr _ -)-linux-gnu and run: rustup target add $triple" >&2
            continue
        fi
        variable=CARGO_TARGET_$(echo "$triple" | tr 'a-z-' 'A-Z_')_LINKER
        env "$variable=$linker" "${CARGO:-cargo}" build --quiet --profile unwind --locked \
            --package unjank-jni --target "$triple"
        put "$target/$triple/unwind" "linux-$other"
    done
}

maven() { # home of the JDK that runs the tests, goals and options
    tested=$1
    shift
    JAVA_HOME=$compiler mvn --quiet --file java -Dnative.dir="$native" -Dtest.jdk="$tested" "$@"
}

# Fails unless everything has arrived that the users of a repository expect.
deploy() { # directory
    maven "$compiler" --activate-profiles complete deploy -DskipTests \
        -DaltDeploymentRepository="unjank::file://$1"
    version=$(sed -n 's|^  <version>\(.*\)</version>|\1|p' java/pom.xml)
    library=$1/io/github/unjank/unjank-rt/$version/unjank-rt-$version
    for file in .jar -sources.jar -javadoc.jar .pom; do
        [ -s "$library$file" ] || die "$library$file has not been deployed"
    done
    packed=$("$compiler/bin/jar" --list --file "$library.jar")
    for directory in "$native"/linux-*; do
        for file in libunjank_rt.so unjank-rt-task; do
            inside=io/github/unjank/rt/native/$(basename "$directory")/$file
            printf '%s\n' "$packed" | grep -qxF "$inside" || die "$library.jar has no $inside"
        done
    done
    echo "unjank: unjank-rt $version, its sources and its documentation are in $1" >&2
}

# Prints how many tests have run, which Maven does not.
summary() {
    cat java/*/target/surefire-reports/*.txt |
        awk -F '[:,]' '/^Tests run/ { run += $2; skipped += $8 }
            END { print "unjank: " run - skipped " tests passed, " skipped " skipped" }' >&2
}

found=$(jdks)
[ -n "$found" ] ||
    die "no JDK $JDK_NEEDED or newer here: install one (apt-get install default-jdk-headless) or set JAVA_HOME"
compiler=
for home in $found; do
    [ -n "$compiler" ] || [ ! -x "$home/bin/javac" ] || compiler=$home
done
[ -n "$compiler" ] ||
    die "a Java runtime without a compiler: install a JDK (apt-get install default-jdk-headless)"
[ "${1:-build}" = jdks ] || command -v mvn >/dev/null 2>&1 ||
    die "Maven is missing: install it (apt-get install maven), then run this again"

case "${1:-build}" in
build)
    native_half
    maven "$compiler" package -DskipTests
    ls -l java/rt/target/unjank-rt-*.jar java/jitter/target/unjank-jitter.jar
    ;;
test)
    native_half
    # Runs on every JDK, and fails at the end if one failed.
    failed=0
    for home in $found; do
        rm -rf java/*/target/surefire-reports
        echo "unjank: Java tests on JDK $(major "$home") ($home)" >&2
        maven "$home" --fail-at-end package || failed=1
        summary
    done
    rm -rf "$target/java-repository"
    (deploy "$target/java-repository") || failed=1
    exit $failed
    ;;
install)
    native_half
    maven "$compiler" --activate-profiles complete install -DskipTests
    ;;
deploy)
    [ -n "${REPOSITORY:-}" ] || die "java.sh deploy needs REPOSITORY=DIRECTORY"
    mkdir -p "$REPOSITORY"
    native_half
    deploy "$(cd "$REPOSITORY" && pwd)"
    ;;
lint)
    maven "$compiler" compile javadoc:javadoc
    ;;
jdks)
    echo "$compiler"
    echo "$found" | grep -vxF "$compiler" || true
    ;;
*) die "scripts/java.sh build, install, deploy, test, lint or jdks" ;;
esac
