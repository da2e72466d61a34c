#!/usr/bin/env bash
# Makes one call with wget.
set -euo pipefail
get() { jq -r "$1 // empty" <<<"$CALL"; }
url=$BASE$(get .path)
id=$(get .id)
[ -z "$id" ] || url+=$(jq -rn --arg id "$id" '$id|@uri')$(get .rest)
args=(-q -O /dev/null --tries=1)
while IFS= read -r line; do args+=("--header=$line"); done < <(jq -r '.headers | to_entries[] | .key + ": " + .value' <<<"$CALL")
case $(get .method) in
  HEAD) args+=(--spider) ;;
  POST) args+=(--method=POST) ;;
esac
[ -z "$(get .chunks)" ] || { echo "wget sends no chunks" >&2; exit 3; }
if [ -n "$(get .body)" ]; then
  [ -n "$(get .type)" ] || { echo "wget always sends a Content-Type" >&2; exit 3; }
  args+=("--body-data=$(get .body)" "--header=Content-Type: $(get .type)")
fi
exec wget "${args[@]}" "$url"
