#!/bin/sh
# What the tests start for themselves and no Python package brings: Debian's chromium for the dashboard, servers of
# PostgreSQL and Redis. Install them where that can be done without asking; elsewhere the tests that need them are
# skipped and say so.
set -u

missing() {
  command -v chromium >/dev/null 2>&1 || echo chromium fonts-dejavu-core
  ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || echo postgresql
  command -v redis-server >/dev/null 2>&1 || command -v valkey-server >/dev/null 2>&1 || echo redis-server
}

packages=$(missing | tr '\n' ' ')
[ -z "$packages" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "installing for the tests: $packages" >&2
  # The servers are the tests' own: none is to be started now.
  policy=/usr/sbin/policy-rc.d
  [ -e "$policy" ] || { printf '#!/bin/sh\nexit 101\n' > "$policy" && chmod +x "$policy" && made=1; }
  apt-get update -qq >/dev/null 2>&1
  # shellcheck disable=SC2086
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null 2>&1
  [ -z "${made:-}" ] || rm -f "$policy"
fi
left=$(missing | tr '\n' ' ')
[ -z "$left" ] || echo "not installed, their tests will be skipped: $left" >&2
exit 0
