/** A Prometheus sample. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** Parses the Prometheus text format of `/metrics`. */
export function readExposition(text: string): Sample[] {
  return text
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
      if (!match) throw new Error(`not a sample: ${line}`);
      const [, name = "", inside = "", value = ""] = match;
      const labels = Object.fromEntries(
        [...inside.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key = "", content = ""]) => [
          key,
          content,
        ]),
      );
      return { name, labels, value: Number(value.replace("+Inf", "Infinity")) };
    });
}

/** The value of the sample with these labels; undefined without one. */
export function valueOf(
  samples: readonly Sample[],
  name: string,
  labels: Record<string, string> = {},
): number | undefined {
  return samples.find(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  )?.value;
}

/** Scrapes a process. */
export async function scrape(url: string): Promise<Sample[]> {
  const response = await fetch(`${url}/metrics`);
  if (!response.ok) throw new Error(`/metrics returned ${response.status}`);
  return readExposition(await response.text());
}

/** The operations URL from a process's log. */
export function operationsUrl(output: string): string {
  const url = /"metrics":"([^"]+)\/metrics"/.exec(output)?.[1];
  if (url === undefined) throw new Error(`no operations port in the log:\n${output}`);
  return url;
}
