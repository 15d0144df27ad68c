import { readText } from '../config/environment.ts';
import type { SettingName } from '../config/settings.ts';
import { quoted } from '../model/error.ts';
import type { Reader } from '../settings/readers.ts';
import { EXIT_CODES } from '../system.ts';

/** A terminal, a pipe or a file. */
export type Input = NodeJS.ReadableStream & { readonly isTTY?: boolean };

export type Variables = Readonly<Record<string, string | undefined>>;

/** Environment variables, including those of `.env` and of options. */
export interface Environment {
  readonly variables: Variables;
  /** Where each variable comes from that is not from the environment of the process. */
  readonly sources: ReadonlyMap<string, '.env' | 'option'>;
}

/** What a command uses of its process. */
export interface CommandContext {
  /** Arguments after `holdall`. */
  readonly args: readonly string[];
  readonly stdin: Input;
  /** Prints the result to stdout, for other programs. */
  readonly print: (text: string) => void;
  /** Prints hints for the user to stderr. */
  readonly explain: (text: string) => void;
  /** Whether stdout shows colors. */
  readonly hasColors: boolean;
  /** Returns the environment. The settings in `options` take precedence. Throws `CommandFailed` if `.env` is unusable. */
  readonly loadEnvironment: (options?: Variables) => Promise<Environment>;
  /** Serves until a stop signal. */
  readonly serve: (environment: Environment) => Promise<void>;
}

/** One use of a command. */
export interface Invocation<Options> extends CommandContext {
  /** Positional arguments. The required ones are present. */
  readonly args: readonly string[];
  readonly options: Options;
  /** Prints the help of the command with these words, or of the program. Throws `UsageError` if there is none. */
  readonly showHelp: (words: readonly string[]) => void;
}

/** An option of a command. */
export interface OptionSpec {
  /** In the syntax of commander: `-p, --port <port>`. */
  readonly flags: string;
  readonly help: string;
  /** Returns the reason why a value is invalid. */
  readonly check?: (text: string) => string | undefined;
  readonly choices?: readonly string[];
  /** Whether the option can occur several times. Its value is then a list, empty by default. */
  readonly isRepeatable?: true;
}

/** A command: its documentation, its syntax and its function. */
export interface CommandSpec<Options = unknown> {
  /** All words of the command: `token new`. */
  readonly name: string;
  /** In the syntax of commander: `<user>`, `[folder]`, `[topic...]`. */
  readonly arguments?: Readonly<Record<string, string>>;
  readonly summary: string;
  /** Paragraphs below the summary. */
  readonly details?: string;
  readonly options?: readonly OptionSpec[];
  /** Commands with their descriptions. */
  readonly examples: Readonly<Record<string, string>>;
  /** Runs the command and returns its exit code. */
  run(invocation: Invocation<Options>): Promise<number>;
}

/** Checks that the options of a command have the declared type. */
export function defineCommand<Options>(spec: CommandSpec<Options>): CommandSpec {
  return spec;
}

/** The option of all commands with output for programs. */
export const JSON_OPTION: OptionSpec = { flags: '--json', help: 'Print JSON for programs' };

/** The option that selects the access file. */
export const FILE_OPTION: OptionSpec = { flags: '-f, --file <file>', help: 'Access file (default: ACCESS_FILE)' };

/** The value of `JSON_OPTION`. */
export interface JsonOptions {
  readonly json?: true;
}

/** Values of `FILE_OPTION` and `JSON_OPTION`. */
export interface FileOptions extends JsonOptions {
  readonly file?: string;
}

/** Returns the check of an option that `read` parses. */
export function checkOf(read: Reader<unknown>): NonNullable<OptionSpec['check']> {
  return (text) => {
    const reading = read(text);
    return 'problem' in reading ? `It ${reading.problem}.` : undefined;
  };
}

/** Returns the value of an option that was checked; undefined without the option. */
export function valueOf<Value>(read: Reader<Value>, text: string | undefined): Value | undefined {
  const reading = text === undefined ? undefined : read(text);
  return reading && 'value' in reading ? reading.value : undefined;
}

/** Returns the access file that a command uses. */
export async function accessFileOf(
  file: string | undefined,
  { loadEnvironment }: Pick<CommandContext, 'loadEnvironment'>,
): Promise<string> {
  const path = file ?? textOf((await loadEnvironment()).variables, 'ACCESS_FILE');
  if (!path) throw new UsageError('No access file is selected. Pass --file FILE, or set ACCESS_FILE.');
  return path;
}

/** Returns the text of a setting. Throws `CommandFailed` if its variables contradict each other. */
function textOf(variables: Variables, name: SettingName): string | undefined {
  const reading = readText(variables, name);
  if ('problem' in reading) throw new CommandFailed(reading.problem, { code: EXIT_CODES.configuration });
  return reading.text;
}

/** Returns a value as indented JSON with a line break. */
export function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** Returns a name without characters that could control a terminal. */
export function printable(name: string): string {
  const text = quoted(name);
  return text === `"${name}"` ? name : text;
}

/** Returns rows as aligned columns. */
export function toTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** Invalid arguments. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  /** The command of the arguments: `holdall token new`. */
  readonly command: string | undefined;

  constructor(problem: string, command?: string) {
    super(problem);
    this.command = command;
  }
}

/** An expected failure. The message is shown to the user. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
  readonly code: number;

  constructor(message: string, { code = EXIT_CODES.failed }: { code?: number } = {}) {
    super(message);
    this.code = code;
  }
}
