import { type ParseArgsConfig, parseArgs } from 'node:util';
import { COMMANDS, type CommandName } from '../config/help.ts';

/** A terminal, a pipe or a file. */
export type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** The environment of a command. */
export interface CommandContext {
  /** Arguments after the command's name. */
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: Input;
  /** Prints the result to stdout, for other programs. */
  readonly print: (text: string) => void;
  /** Prints hints for the user to stderr. */
  readonly explain: (text: string) => void;
}

/** Runs a command and returns its exit code. */
export type Command = (context: CommandContext) => Promise<number>;

/** Invalid arguments. The message includes the usage. */
export class UsageError extends Error {
  override readonly name = 'UsageError';

  constructor(command: CommandName, problem: string) {
    super(`${problem}\nUsage: holdall ${command}${COMMANDS[command].usage}`);
  }
}

/** An expected failure. The message is shown to the user. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly code: number;

  constructor(message: string, { code = 1 }: { code?: number } = {}) {
    super(message);
    this.code = code;
  }
}

/** Exit code after Ctrl+C, as shells define it. */
export const EXIT_INTERRUPTED = 130;

/** Calls `parseArgs` for a command with a fixed number of positional arguments. Throws `UsageError`. */
export function readArguments<const Options extends NonNullable<ParseArgsConfig['options']>>(
  command: CommandName,
  args: readonly string[],
  { options, names }: { options: Options; names: readonly string[] },
) {
  const parsed = parse(command, args, options);
  const missing = names[parsed.positionals.length];
  if (missing !== undefined) throw new UsageError(command, `${missing} is required.`);
  const extra = parsed.positionals[names.length];
  if (extra !== undefined) throw new UsageError(command, `Unexpected argument "${extra}".`);
  return parsed;
}

function parse<const Options extends NonNullable<ParseArgsConfig['options']>>(
  command: CommandName,
  args: readonly string[],
  options: Options,
) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(command, error instanceof Error ? error.message : String(error));
  }
}
