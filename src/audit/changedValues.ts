/** Characters of a value; of longer ones a part with the first difference is shown. */
const maxValue = 4_000;
/** Characters before the first difference, where a part does not begin with the value. */
const maxContext = 200;

/** Both values of a change; of long ones the part with the first difference. */
export function shortened(before: unknown, after: unknown): [before: unknown, after: unknown] {
  if (textOf(before).length <= maxValue && textOf(after).length <= maxValue) return [before, after];
  const texts = [textOf(before), textOf(after)] as const;
  const shorter = Math.min(texts[0].length, texts[1].length);
  let same = 0;
  while (same < shorter && texts[0][same] === texts[1][same]) same++;
  const start = same > maxValue - maxContext && shorter > 0 ? same - maxContext : 0;
  const part = (value: unknown, text: string): unknown => {
    if (value == null) return value;
    const end = start + maxValue;
    return `${start > 0 ? "…" : ""}${text.slice(start, end).toWellFormed()}${text.length > end ? "…" : ""}`;
  };
  return [part(before, texts[0]), part(after, texts[1])];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
