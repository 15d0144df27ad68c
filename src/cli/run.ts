import { AccessFileError } from '../access/access-file-syntax.ts';
import { type CommandName, commandsOf, describeCommands, findCommand } from '../config/help.ts';
import { checkAccess, explainAccess } from './access.ts';
import { type Command, type CommandContext, CommandFailed, UsageError } from './command.ts';
import { runDoctor } from './doctor.ts';
import { makePassword } from './password.ts';
import { makeToken } from './token.ts';

const COMMAND_FUNCTIONS: Readonly<Record<CommandName, Command>> = {
  'access check': checkAccess,
  'access explain': explainAccess,
  doctor: runDoctor,
  password: makePassword,
  'token new': makeToken,
};

/** Runs the command that `args` begins with, and returns its exit code. Returns 2 for invalid arguments. */
export async function runCommand({ args, ...context }: CommandContext): Promise<number> {
  const found = findCommand(args);
  try {
    if (found === undefined) throw new CommandFailed(describeCommandGroup(args), { code: 2 });
    return await COMMAND_FUNCTIONS[found]({ ...context, args: args.slice(found.split(' ').length) });
  } catch (error) {
    if (error instanceof UsageError) return refuse(error, 2);
    if (error instanceof CommandFailed) return refuse(error, error.code);
    if (error instanceof AccessFileError) return refuse(error, 1);
    throw error;
  }

  function refuse({ message }: Error, code: number): number {
    context.explain(`holdall: ${message}\n`);
    return code;
  }
}

/** Lists the commands that begin with the same word as an unknown command. */
function describeCommandGroup([first = '']: readonly string[]): string {
  return `Unknown command. Commands that start with "${first}":\n${describeCommands(commandsOf(first)).trimEnd()}`;
}
