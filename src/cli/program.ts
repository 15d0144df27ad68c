import { styleText } from 'node:util';
import { Command, type Help, InvalidArgumentError, Option } from 'commander';
import { HELP_WIDTH } from '../config/help.ts';
import { quoted } from '../model/error.ts';
import { version, versionAndCommit } from '../system.ts';
import { type CommandSpec, type OptionSpec, UsageError } from './command.ts';

/** A command or a group of commands. Errors are thrown as `UsageError`. */
export class CliCommand extends Command {
  examples: Readonly<Record<string, string>> = {};

  override createCommand(name?: string): CliCommand {
    return new CliCommand(name);
  }

  /** Throws the error for an unknown command in this group, with a suggestion. */
  rejectName(name: string): never {
    const known = this.commands.map((command) => command.name());
    throw new UsageError(`Unknown command ${quoted(name)}. Commands: ${known.join(', ') || 'none'}.`, pathOf(this));
  }

  override error(message: string): never {
    throw new UsageError(reword(message), pathOf(this));
  }
}

/** Returns a message of commander in the form of Holdall's own: `Unknown option "--prot". Did you mean "--port"?`. */
function reword(message: string): string {
  const [problem = '', suggestion] = message
    .replace(/^error: /, '')
    .split(/\n\(Did you mean (?:one of )?([^\n]*)\?\)$/);
  const text = problem
    .replace(/'([^']*)'/g, (_, name: string) => quoted(name))
    .replace(/^./, (first) => first.toUpperCase());
  const sentence = /[.?]$/.test(text) ? text : `${text}.`;
  return suggestion === undefined ? sentence : `${sentence} Did you mean ${suggestion.replace(/[^\s,]+/g, '"$&"')}?`;
}

/** Returns all words of a command, such as `holdall token new`. */
export function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

export interface ProgramOptions {
  readonly commands: readonly CommandSpec[];
  /** Descriptions of the commands that are groups. */
  readonly groups: Readonly<Record<string, string>>;
  readonly examples: Readonly<Record<string, string>>;
  readonly hasColors: boolean;
  readonly print: (text: string) => void;
  readonly explain: (text: string) => void;
  /** Called with the command that the arguments select. */
  readonly run: (spec: CommandSpec, command: CliCommand) => Promise<void>;
}

/** Creates the parser of all commands. */
export function createProgram({
  commands,
  groups,
  examples,
  hasColors,
  print,
  explain,
  run,
}: ProgramOptions): CliCommand {
  const program = new CliCommand('holdall');
  program
    .description('Files in a folder, a bucket or a repository, over HTTP and a web UI.')
    .version(versionAndCommit, '-v, --version', 'Print the version and the commit')
    .helpOption('-h, --help', 'Print the help of a command')
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: print,
      writeErr: explain,
      outputError: () => {},
      getOutHelpWidth: () => HELP_WIDTH,
      getErrHelpWidth: () => HELP_WIDTH,
    })
    .configureHelp({ formatHelp: (command, help) => formatHelp(command as CliCommand, help, hasColors) });
  program.examples = examples;
  for (const spec of commands) {
    const [first = '', second] = spec.name.split(' ');
    const group = second === undefined ? program : (findCommand(program, [first]) ?? addGroup(program, first, groups));
    addCommand(group.command(second ?? first), spec, run);
  }
  return program;
}

function addGroup(program: CliCommand, name: string, groups: ProgramOptions['groups']): CliCommand {
  return program
    .command(name)
    .description(groups[name] ?? '')
    .helpCommand(false);
}

function addCommand(command: CliCommand, spec: CommandSpec, run: ProgramOptions['run']): void {
  command.description(spec.details === undefined ? spec.summary : `${spec.summary}\n\n${spec.details}`);
  command.summary(spec.summary);
  command.examples = spec.examples;
  for (const [syntax, description] of Object.entries(spec.arguments ?? {})) command.argument(syntax, description);
  for (const option of spec.options ?? []) command.addOption(optionOf(option));
  command.action(() => run(spec, command));
}

function optionOf({ flags, help, check, choices, isRepeatable }: OptionSpec): Option {
  const option = new Option(flags, help);
  if (choices) option.choices([...choices]);
  if (isRepeatable) {
    option.default([], 'none').argParser((text: string, earlier: readonly string[]) => [...earlier, text]);
  }
  if (check) {
    option.argParser((text: string) => {
      const problem = check(text);
      if (problem !== undefined) throw new InvalidArgumentError(problem);
      return text;
    });
  }
  return option;
}

/** Returns the command or group with these words; undefined if there is none. */
export function findCommand(program: Command, words: readonly string[]): CliCommand | undefined {
  let found: Command | undefined = program;
  for (const word of words) found = found?.commands.find((command) => command.name() === word);
  return found as CliCommand | undefined;
}

const INDENT = 2;

/** Maximum characters of a term on the line of its description. Longer ones have a line of their own. */
const MAX_TERM_WIDTH = 70;

/** Returns the help of a command: usage, examples, commands, arguments and options. */
function formatHelp(command: CliCommand, help: Help, hasColors: boolean): string {
  const heading = (text: string) => (hasColors ? styleText('bold', text, { validateStream: false }) : text);
  const isProgram = command.parent === null;
  const [summary = '', ...details] = help.commandDescription(command).split('\n\n');
  const indent = (text: string) => `${' '.repeat(INDENT)}${text}`;
  const sections: [string, readonly (readonly [string, string])[]][] = [
    ['Examples', Object.entries(command.examples)],
    ['Commands', help.visibleCommands(command).map((each) => [commandTerm(each), help.subcommandDescription(each)])],
    ['Arguments', help.visibleArguments(command).map((each) => [each.name(), help.argumentDescription(each)])],
    ['Options', help.visibleOptions(command).map((each) => [each.flags, help.optionDescription(each)])],
  ];
  const filled = sections.filter(([, rows]) => rows.length > 0);
  const lines = [
    isProgram ? `Holdall ${version}: ${summary}` : summary,
    ...details.flatMap((text) => ['', help.boxWrap(text, HELP_WIDTH)]),
    '',
    heading('Usage:'),
    ...usagesOf(command, isProgram).map(indent),
  ];
  for (const [title, rows] of filled) {
    const width = Math.max(0, ...rows.map(([term]) => term.length).filter((length) => length <= MAX_TERM_WIDTH));
    lines.push('', heading(`${title}:`));
    for (const [term, text] of rows) {
      if (term.length <= width) lines.push(help.formatItem(term, width, text, help));
      else lines.push(indent(term), help.formatItem('', width, text, help));
    }
  }
  if (isProgram) lines.push('', ...FOOTER);
  return `${lines.join('\n')}\n`;
}

const FOOTER = [
  'Settings are environment variables or lines of a file .env: see "holdall help settings".',
  'Help for a command: "holdall help user add".',
];

/** Returns a command with its arguments, or a group with the names of its commands: `token new|list|revoke`. */
function commandTerm(command: Command): string {
  const names = command.commands.map((each) => each.name());
  const parts = names.length > 0 ? [names.join('|')] : command.registeredArguments.map(argumentTerm);
  return [command.name(), ...parts].join(' ');
}

function argumentTerm(argument: Command['registeredArguments'][number]): string {
  const text = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${text}>` : `[${text}]`;
}

function usagesOf(command: CliCommand, isProgram: boolean): string[] {
  if (isProgram) return ['holdall [serve] [folder] [options]', 'holdall <command>'];
  if (command.commands.length > 0) return command.commands.map((each) => `${pathOf(command)} ${usageOf(each)}`);
  return [`${pathOf(command.parent as Command)} ${usageOf(command)}`];
}

function usageOf(command: Command): string {
  const words = [command.name(), ...command.registeredArguments.map(argumentTerm)];
  return [...words, ...(command.options.length > 0 ? ['[options]'] : [])].join(' ');
}
