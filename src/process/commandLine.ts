import { type ParseArgsOptionsConfig, parseArgs } from "node:util";
import { OperatorError } from "../text/OperatorError.ts";
import { didYouMean } from "../text/suggest.ts";

/** A command of operators, as `--help` and errors describe it. */
export interface CommandLine<Options extends ParseArgsOptionsConfig> {
  /** How to call it: one form on each line. */
  usage: string;
  options: Options;
}

/** What was given to a command. */
export type Arguments<Options extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ options: Options; allowPositionals: true }>
>;

/** The arguments do not fit the command. The message ends with the usage. */
export class UsageError extends OperatorError {
  override name = "UsageError";

  constructor(problem: string, usage: string) {
    super(`${problem}\n${usage}`);
  }
}

/**
 * Reads the arguments of a command.
 * @returns null when the caller asked for `--help`
 * @throws UsageError for unknown options and missing values
 */
export function readCommandLine<const Options extends ParseArgsOptionsConfig>(
  { usage, options }: CommandLine<Options>,
  args: readonly string[],
): Arguments<Options> | null {
  // Everything after `--` is positional, so `--help` there asks for nothing.
  const end = args.indexOf("--");
  if (args.slice(0, end === -1 ? undefined : end).includes("--help")) return null;
  try {
    const given = parseArgs({ args: [...args], options, allowPositionals: true, tokens: true });
    refuseUnclear(given, options, usage);
    return given;
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    if (!code?.startsWith("ERR_PARSE_ARGS")) throw error;
    const unknown = /^Unknown option '([\w-]+)/.exec(message)?.[1];
    const known = Object.keys(options).map((name) => `--${name}`);
    const problem = unknown
      ? `There is no option ${unknown}${didYouMean(unknown, known)}`
      : // The first sentence names the option; the others are about command lines in general.
        (message.split(". ")[0] ?? message);
    throw new UsageError(problem, usage);
  }
}

/** Refuses empty arguments, and an option that is given twice and takes one value. */
function refuseUnclear(
  { tokens }: { tokens: readonly { kind: string; name?: string; value?: unknown }[] },
  options: ParseArgsOptionsConfig,
  usage: string,
): void {
  const seen = new Set<string>();
  for (const { kind, name, value } of tokens) {
    const what = name === undefined ? "An argument" : `--${name}`;
    if (kind !== "option-terminator" && typeof value === "string" && value.trim() === "")
      throw new UsageError(`${what} is empty`, usage);
    if (name === undefined) continue;
    if (seen.has(name) && options[name]?.multiple !== true)
      throw new UsageError(`${what} is given twice`, usage);
    seen.add(name);
  }
}
