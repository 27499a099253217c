#!/usr/bin/env bash
# Uses raddle as somebody does who has it from the registry: packs what is published, installs `cargo raddle` from
# the packed files, sets it up and checks new crates, all outside of this checkout. Ten minutes and more.
#
#   REAL_WORK   where that is done, a folder in /tmp if it is not set
set -euo pipefail
cd "$(dirname "$0")/../.."

work=${REAL_WORK:-/tmp/raddle-real}/packages
rm -rf "$work"
mkdir -p "$work/packed" "$work/home"
published=(raddle raddle-check raddle-engine raddle-loom raddle-macros raddle-queue raddle-relevance raddle-report raddle-runs raddle-settings raddle-shuttle raddle-native cargo-raddle)

# In a folder of its own, so that old packages do not count.
cargo package --allow-dirty --locked --no-verify --target-dir "$work/target" "${published[@]/#/--package=}"
for package in "$work"/target/package/*.crate; do
    tar -xzf "$package" -C "$work/packed"
done

# A home of cargo's in which the registry has these packages too.
from=${CARGO_HOME:-$HOME/.cargo}
for part in registry git; do
    if [ -e "$from/$part" ]; then ln -s "$from/$part" "$work/home/$part"; fi
done
if [ -e "$from/config.toml" ]; then cp "$from/config.toml" "$work/home/config.toml"; fi
{
    echo '[patch.crates-io]'
    for name in "${published[@]}"; do
        [ "$name" != cargo-raddle ] || continue
        echo "$name = { path = \"$(echo "$work/packed/$name"-[0-9]*)\" }"
    done
} >>"$work/home/config.toml"
export CARGO_HOME=$work/home PATH=$work/home/bin:$PATH
unset CARGO_TARGET_DIR

cd "$work"
cargo install --path "$work"/packed/cargo-raddle-[0-9]* --target-dir "$work/target"
cargo raddle setup

# new_crate NAME LIBRARY TEST: a crate with a test that loses a deposit, written with this library.
new_crate() {
    local name=$1 library=$2 test=$3
    mkdir -p "$name/src"
    cat >"$name/Cargo.toml" <<END
[package]
name = "$name"
version = "0.1.0"
edition = "2024"

[dev-dependencies]
END
    cat >"$name/src/lib.rs" <<END
#[cfg(test)]
mod tests {
    use $library::sync::{Arc, Mutex};

    #[$test]
    fn two_deposits() {
        let account = Arc::new(Mutex::new(0));
        let other = account.clone();
        let deposit = move || {
            let balance = *other.lock().unwrap();
            *other.lock().unwrap() = balance + 1;
        };
        let thread = $library::thread::spawn(deposit.clone());
        deposit();
        thread.join().unwrap();
        assert_eq!(*account.lock().unwrap(), 2);
    }
}
END
}

# fails NAME ARGUMENT...: the test of that crate fails, as it should.
fails() {
    local name=$1 said
    shift
    said=$(cd "$name" && cargo raddle test "$@" 2>&1) || true
    grep "^FAIL  $name tests::two_deposits  panic after" <<<"$said" || {
        echo "$said" >&2
        exit 1
    }
}

new_crate controlled raddle raddle::test
echo 'raddle = { version = "*", features = ["check"] }' >>controlled/Cargo.toml
fails controlled
new_crate as_it_is std test
fails as_it_is --native
