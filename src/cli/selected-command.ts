import { existsSync } from 'node:fs';
import { CommanderError } from 'commander';
import { EXIT_CODES } from '../system.ts';
import { type CommandContext, type CommandSpec, UsageError } from './command.ts';
import { COMMANDS, GROUPS, PROGRAM_EXAMPLES } from './commands.ts';
import { type CliCommand, createProgram, findCommand, pathOf } from './program.ts';

/** Parses the arguments, of which there is one at least, and runs the command that they select. Returns its exit code. */
export async function runSelectedCommand(context: CommandContext): Promise<number> {
  let code: number = EXIT_CODES.ok;
  const run = async (spec: CommandSpec, command: CliCommand) => {
    try {
      const showHelp = (words: readonly string[]) => findHelp(program, words).outputHelp();
      code = await spec.run({ ...context, args: command.args, options: command.opts(), showHelp });
    } catch (error) {
      if (error instanceof UsageError) throw new UsageError(error.message, pathOf(command));
      throw error;
    }
  };
  const program = createProgram({ ...context, commands: COMMANDS, groups: GROUPS, examples: PROGRAM_EXAMPLES, run });
  try {
    await program.parseAsync(selectCommand(context.args), { from: 'user' });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    // The help or the version was printed. A group without a command prints its help as an error.
    return error.exitCode === 0 ? EXIT_CODES.ok : EXIT_CODES.usage;
  }
}

/** Returns the command to explain. Reports the first unknown word as the parser does, with a suggestion. */
function findHelp(program: CliCommand, words: readonly string[]): CliCommand {
  const found = findCommand(program, words);
  if (found) return found;
  const known = words.findIndex((_, index) => !findCommand(program, words.slice(0, index + 1)));
  return (findCommand(program, words.slice(0, known)) ?? program).rejectName(words[known] ?? '');
}

/** Adds the command `serve` where the arguments are those of `serve`: options, or a path. */
function selectCommand([first = '', ...rest]: readonly string[]): string[] {
  if (PROGRAM_OPTIONS.includes(first)) return [first, ...rest];
  const isCommand = COMMANDS.some(({ name }) => name.split(' ')[0] === first);
  const isForServe = first.startsWith('-') || (!isCommand && isPath(first));
  return isForServe ? ['serve', first, ...rest] : [first, ...rest];
}

const PROGRAM_OPTIONS: readonly string[] = ['-h', '--help', '-v', '--version'];

/** Returns whether a word looks like a path instead of a misspelled command. */
function isPath(word: string): boolean {
  return /[/\\]|^[.~]/.test(word) || existsSync(word);
}
