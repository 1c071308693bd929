#!/usr/bin/env node
// The subset of jq that the README's script needs, for machines without jq: paths, `[]`, `select(.name ==
// "...")`, pipes, -e and -r.
import process from "node:process";
import { text as readText } from "node:stream/consumers";

const [options = "", filter = "."] = process.argv.slice(2);
// readFileSync fails on an empty non-blocking pipe.
const text = await readText(process.stdin);

function apply(step, value) {
  const select = /^select\((.+) == (".*")\)$/.exec(step);
  if (select) {
    const [found] = apply(select[1], value);
    return found === JSON.parse(select[2]) ? [value] : [];
  }
  if (!/^(?:\.\w+(?:\[\])?)+$/.test(step)) throw new Error(`jq stand-in: unknown filter ${step}`);
  return (step.match(/\.\w+|\[\]/g) ?? []).reduce(
    (values, part) =>
      values.flatMap((one) => (part === "[]" ? one : [one?.[part.slice(1)] ?? null])),
    [value],
  );
}

const input = text.trim() === "" ? [] : [JSON.parse(text)];
const results = filter
  .split(" | ")
  .reduce((values, step) => values.flatMap((one) => apply(step, one)), input);
for (const result of results)
  process.stdout.write(
    `${typeof result === "string" && options.includes("r") ? result : JSON.stringify(result)}\n`,
  );
if (options.includes("e") && (results.at(-1) ?? null) === null)
  process.exitCode = results.length > 0 ? 1 : 4;
