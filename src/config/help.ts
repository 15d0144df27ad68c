import type { Setting } from '../settings/setting.ts';
import { SETTINGS } from './settings.ts';

/** The commands other than the service itself: their arguments, with a leading space, and their description. */
export const COMMANDS = {
  'token new': {
    usage: ' [--name NAME] [--expires 90d|2027-01-01]',
    help: 'prints a new token, and what to put into the access file for it',
  },
  password: {
    usage: '',
    help: 'asks for a password, or reads it from stdin, and prints its hash for the access file',
  },
  'access check': {
    usage: ' FILE',
    help: 'says whether an access file is right, or every mistake in it',
  },
  'access explain': {
    usage: ' NAME VERB PATH [--group GROUP]... [--file FILE]',
    help: `says whether a person, or "everyone", may do something, and by which grants. VERB is read, write, manage, list, fetch, upload, replace, create, delete, rename, copy-from, copy-to, move-from or move-to; the PATH of a folder ends with a /`,
  },
  doctor: {
    usage: ' [--url URL] [--token TOKEN] [--json]',
    help: 'looks at the settings, the store, and the service at PUBLIC_URL or URL, and says what to do about what is wrong. It writes a folder of its own to the store, unless READ_ONLY=true, and removes it. The token, better given as HOLDALL_TOKEN, is for a service with ACCESS_FILE',
  },
} as const;

export type CommandName = keyof typeof COMMANDS;

export const COMMAND_NAMES = Object.keys(COMMANDS) as CommandName[];

/** Returns the commands that begin with a word. */
export function commandsOf(word: string | undefined): CommandName[] {
  return COMMAND_NAMES.filter((name) => name.split(' ')[0] === word);
}

/** Returns the command that the first arguments name. */
export function findCommand(args: readonly string[]): CommandName | undefined {
  return COMMAND_NAMES.find((name) => name.split(' ').every((word, index) => args[index] === word));
}

/** Returns the usage and description of commands. */
export function describeCommands(names: readonly CommandName[] = COMMAND_NAMES): string {
  return names.map((name) => `  holdall ${name}${COMMANDS[name].usage}\n      ${COMMANDS[name].help}\n`).join('');
}

/** Returns the output of `--help`. */
export function helpText(version: string): string {
  const settings = Object.entries(SETTINGS).map(([name, setting]: [string, Setting<unknown>]) => {
    const defaultText = setting.defaultText === null ? '' : ` [${setting.defaultText}]`;
    return `  ${name}${defaultText}\n      ${setting.help.replaceAll('`', '')}`;
  });
  return `Holdall ${version}: one HTTP interface for the files in a folder of this machine, a bucket or a repository.

Usage: holdall [--help | --version]
       holdall COMMAND

Without a command it serves. It is set by environment variables, or by a file .env in the working directory; defaults
in brackets:

${settings.join('\n')}

Commands:

${describeCommands()}`;
}
