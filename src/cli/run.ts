import { AccessFileError } from '../access/access-file-syntax.ts';
import { SettingsError } from '../settings/setting.ts';
import { EXIT_CODES } from '../system.ts';
import { type CommandContext, CommandFailed, UsageError } from './command.ts';

/** Runs the command that `args` selects, and returns its exit code. Without arguments, that is `serve`. */
export async function runCommand(context: CommandContext): Promise<number> {
  try {
    if (context.args.length > 0) {
      // Loaded on demand: a service that starts without arguments needs neither the parser nor the other commands.
      const { runSelectedCommand } = await import('./selected-command.ts');
      return await runSelectedCommand(context);
    }
    await context.serve(await context.loadEnvironment());
    return EXIT_CODES.ok;
  } catch (error) {
    return report(error, context.explain);
  }
}

/** Prints an error of the user, and returns its exit code. Throws any other error. */
function report(error: unknown, explain: (text: string) => void): number {
  if (error instanceof UsageError) {
    explain(`holdall: ${error.message} See "${error.command ?? 'holdall'} --help".\n`);
    return EXIT_CODES.usage;
  }
  if (error instanceof CommandFailed) return refuse(error, error.code);
  if (error instanceof AccessFileError || error instanceof SettingsError)
    return refuse(error, EXIT_CODES.configuration);
  throw error;

  function refuse({ message }: Error, code: number): number {
    explain(`holdall: ${message}\n`);
    return code;
  }
}
