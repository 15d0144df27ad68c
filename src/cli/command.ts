import { type ParseArgsConfig, parseArgs } from 'node:util';
import { COMMANDS, type CommandName } from '../config/help.ts';

/** A terminal, a pipe or a file. */
export type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** What a command has of the world. */
export interface CommandContext {
  /** What follows the command's name. */
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: Input;
  /** For what the command was asked for, so that it can be used by programs. */
  readonly print: (text: string) => void;
  /** For all else that a person should know. */
  readonly explain: (text: string) => void;
}

/** Does what a command is for, and gives its exit code. */
export type Command = (context: CommandContext) => Promise<number>;

/** A command was not written as it has to be. */
export class UsageError extends Error {
  override readonly name = 'UsageError';

  constructor(command: CommandName, problem: string) {
    super(`${problem}\nUsage: holdall ${command}${COMMANDS[command].usage}`);
  }
}

/** A command can't do what it was asked for, for a reason that a person needs to know. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly code: number;

  constructor(message: string, { code = 1 }: { code?: number } = {}) {
    super(message);
    this.code = code;
  }
}

/** As `parseArgs`, for a command with a fixed number of arguments beside its options. Throws `UsageError`. */
export function readArguments<const Options extends NonNullable<ParseArgsConfig['options']>>(
  command: CommandName,
  args: readonly string[],
  { options, names }: { options: Options; names: readonly string[] },
) {
  const parsed = parse(command, args, options);
  const lacking = names[parsed.positionals.length];
  if (lacking !== undefined) throw new UsageError(command, `${lacking} is needed.`);
  const further = parsed.positionals[names.length];
  if (further !== undefined) throw new UsageError(command, `"${further}" is one argument too many.`);
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
