#!/bin/sh
# Installs Vercel's AI SDK from npm for tests/gateway/clients. Nothing of it is committed.
# Usage: scripts/install_js_clients.sh [FOLDER]   default: $PROMPTCACHE_JS_CLIENTS, else .venv/js-clients
set -eu

folder="${1:-${PROMPTCACHE_JS_CLIENTS:-$(dirname "$0")/../.venv/js-clients}}"
if ! command -v npm >/dev/null; then
    echo "install_js_clients: npm is needed, which comes with Node.js 20 or later." >&2
    exit 1
fi
mkdir -p "$folder"
cd "$folder"
[ -f package.json ] || printf '{"private": true}\n' > package.json
npm install --no-audit --no-fund --ignore-scripts "ai@>=6 <8" "@ai-sdk/openai-compatible@>=2 <4" "zod@>=4 <5"
echo "Installed in $(pwd)."
