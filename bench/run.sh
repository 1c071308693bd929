#!/bin/sh
# Runs a program of this folder by its name, `npm run bench -- <name> [arguments]`: npm puts Node 24 first in PATH.
program="bench/$1.ts"
if [ ! -f "$program" ]; then
  echo "There is no program $program. There are:" >&2
  ls bench/*.ts bench/*/*.ts | sed 's/^bench\//  /; s/\.ts$//' >&2
  exit 2
fi
shift
exec node "$program" "$@"
