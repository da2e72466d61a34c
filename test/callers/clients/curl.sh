#!/usr/bin/env bash
# Makes one call with curl, as a shell script does.
set -euo pipefail
get() { jq -r "$1 // empty" <<<"$CALL"; }
url=$BASE$(get .path)
id=$(get .id)
[ -z "$id" ] || url+=$(jq -rn --arg id "$id" '$id|@uri')$(get .rest)
args=(-sS -o /dev/null)
while IFS= read -r line; do args+=(-H "$line"); done < <(jq -r '.headers | to_entries[] | .key + ": " + .value' <<<"$CALL")
case $(get .method) in
  HEAD) args+=(-I) ;;
  POST) args+=(-X POST) ;;
esac
if [ -n "$(get .body)" ]; then
  args+=(-H "Content-Type:$([ -z "$(get .type)" ] || echo " $(get .type)")" --data-binary "$(get .body)")
fi
if [ -n "$(get .chunks)" ]; then
  args+=(-H 'Transfer-Encoding: chunked' -T -)
fi
curl "${args[@]}" "$url" </dev/null
