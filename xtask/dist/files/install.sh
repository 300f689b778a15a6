#!/bin/sh
# Installs Roundtable into ~/.local/bin: downloads the static program, verifies its sha256, and copies it there.
#
#   sh install.sh            with the embedded model
#   sh install.sh --slim     without it: for hosted models and Ollama, a third of the size
#
# ROUNDTABLE_VERSION      another version
# ROUNDTABLE_BASE_URL     another address, with one folder v<version> for each version
# ROUNDTABLE_INSTALL_DIR  another folder
#
# If anything fails, nothing is installed and nothing is left behind.
set -eu

version=${ROUNDTABLE_VERSION:-@VERSION@}
base_url=${ROUNDTABLE_BASE_URL:-@BASE_URL@}

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

variant=
case "${1:-}" in
    '') ;;
    --slim) variant=-slim ;;
    *) fail "unknown option '$1'; the only one is --slim" ;;
esac

[ -n "$base_url" ] || fail "this copy has no download address. Set ROUNDTABLE_BASE_URL"
folder=${ROUNDTABLE_INSTALL_DIR:-${HOME:?set HOME or ROUNDTABLE_INSTALL_DIR}/.local/bin}

case "$(uname -s) $(uname -m)" in
    'Linux x86_64' | 'Linux amd64') machine=x86_64-linux ;;
    'Linux aarch64' | 'Linux arm64') machine=aarch64-linux ;;
    *) fail "there is no package for $(uname -s) $(uname -m). Build from source: cargo install --path ." ;;
esac

if command -v curl >/dev/null 2>&1; then
    download() { curl --fail --silent --show-error --location --output "$2" "$1"; }
elif command -v wget >/dev/null 2>&1; then
    download() { wget -q -O "$2" "$1"; }
else
    fail "neither curl nor wget is installed"
fi
if command -v sha256sum >/dev/null 2>&1; then
    sha256() { sha256sum "$1"; }
elif command -v shasum >/dev/null 2>&1; then
    sha256() { shasum -a 256 "$1"; }
else
    fail "neither sha256sum nor shasum is installed"
fi

name=roundtable-$version-$machine$variant
temporary=$(mktemp -d)
partial=
trap 'rm -rf "$temporary" ${partial:+"$partial"}' EXIT
trap 'exit 1' HUP INT TERM

url=$base_url/v$version
for file in SHA256SUMS "$name.tar.gz"; do
    download "$url/$file" "$temporary/$file" || fail "cannot download $url/$file"
done

expected=$(awk -v file="$name.tar.gz" '$2 == file { print $1 }' "$temporary/SHA256SUMS")
actual=$(sha256 "$temporary/$name.tar.gz" | cut -d ' ' -f 1)
[ -n "$expected" ] || fail "SHA256SUMS does not list $name.tar.gz"
[ "$expected" = "$actual" ] ||
    fail "the sha256 of $name.tar.gz is wrong: expected $expected, got $actual. Nothing was installed"

tar -xzf "$temporary/$name.tar.gz" -C "$temporary"
mkdir -p "$folder"
# Renamed in one step, so that a running program is replaced safely.
partial=$folder/.roundtable.$$
cp "$temporary/$name/roundtable" "$partial"
chmod 755 "$partial"
mv "$partial" "$folder/roundtable"
partial=

echo "Installed $("$folder/roundtable" --version) as $folder/roundtable"
case ":${PATH:-}:" in
    *":$folder:"*) ;;
    *) echo "Add $folder to your PATH" ;;
esac
