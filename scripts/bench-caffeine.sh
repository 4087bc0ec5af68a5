#!/bin/sh
# Miss ratios of w-tinylfu beside those of Caffeine, which Maven fetches from Maven Central once:
# com.github.ben-manes.caffeine:caffeine:3.2.3. Needs a JDK 17 or newer, and Maven.
set -eu

cd "$(dirname "$0")/.."
CAFFEINE=3.2.3
target=${CARGO_TARGET_DIR:-$PWD/target}

if ! command -v java >/dev/null 2>&1 || ! command -v mvn >/dev/null 2>&1; then
    echo "w-tinylfu against Caffeine needs java and mvn: skipped"
    exit 0
fi
if [ ! -e "$target/caffeine-$CAFFEINE.jar" ]; then
    mvn --quiet org.apache.maven.plugins:maven-dependency-plugin:3.7.0:copy \
        -Dartifact="com.github.ben-manes.caffeine:caffeine:$CAFFEINE" -DoutputDirectory="$target"
fi
exec "${CARGO:-cargo}" bench --locked --package unjank-cachesim --bench caffeine
