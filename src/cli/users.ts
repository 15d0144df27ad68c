import type { AccessFile } from '../access/access-file.ts';
import { isName, type UserEntry } from '../access/policy.ts';
import { quoted } from '../model/error.ts';
import { EXIT_CODES } from '../system.ts';
import { type Edit, editAccessFile, loadAccessFile } from './access-file-editor.ts';
import {
  accessFileOf,
  CommandFailed,
  defineCommand,
  FILE_OPTION,
  type FileOptions,
  JSON_OPTION,
  printable,
  toJson,
  toTable,
  UsageError,
} from './command.ts';
import { readPasswordHash } from './password.ts';

interface AddOptions extends FileOptions {
  readonly group: readonly string[];
  /** False for `--no-password`. */
  readonly password: boolean;
}

/** `holdall user add`: adds a user to the access file. */
export const USER_ADD = defineCommand<AddOptions>({
  name: 'user add',
  arguments: { '<user>': 'Username' },
  summary: 'Add a user to the access file',
  details:
    'Prompts for the password, or reads it from stdin if that is not a terminal. Creates a missing access file. A new user has no permissions until a grant applies: see "holdall help grant set".',
  options: [
    { flags: '-g, --group <group>', help: 'Group of the user; repeat it for several groups', isRepeatable: true },
    { flags: '--no-password', help: 'For users of tokens or of an identity provider' },
    FILE_OPTION,
    JSON_OPTION,
  ],
  examples: {
    'holdall user add ann --group family': 'Add a user to the file of ACCESS_FILE',
    'holdall user add backup --no-password --file access.json': 'Add a user for a program',
  },
  async run({ args: [name = ''], options, ...context }) {
    for (const each of [name, ...options.group]) requireName(each);
    const file = await accessFileOf(options.file, context);
    // Before the prompt; `editAccessFile` checks again.
    rejectExisting(name, await loadAccessFile(file, { create: true }), file);
    const password = options.password ? await readPasswordHash(context) : undefined;
    const groups = [...new Set(options.group)];
    const value = { ...(password !== undefined && { password }), ...(groups.length > 0 && { groups }) };
    const plan = (access: AccessFile): Edit[] => {
      rejectExisting(name, access, file);
      return [{ path: ['people', name], value }];
    };
    await editAccessFile(file, plan, { create: true });
    const user = { name, password, groups, tokens: [] };
    context.print(options.json ? toJson(describeUser(user)) : `Added the user ${quoted(name)} to ${file}.\n`);
    return EXIT_CODES.ok;
  },
});

/** `holdall user list`: lists the users of the access file. */
export const USER_LIST = defineCommand<FileOptions>({
  name: 'user list',
  summary: 'List the users of the access file',
  options: [FILE_OPTION, JSON_OPTION],
  examples: { 'holdall user list --json': 'List users for a program' },
  async run({ options, print, loadEnvironment }) {
    const { users } = await loadAccessFile(await accessFileOf(options.file, { loadEnvironment }));
    if (options.json) {
      print(toJson(users.map(describeUser)));
    } else {
      const rows = users.map(({ name, password, groups, tokens }) => [
        printable(name),
        password === undefined ? 'no' : 'yes',
        String(tokens.length),
        groups.map(printable).join(', '),
      ]);
      print(toTable(['USER', 'PASSWORD', 'TOKENS', 'GROUPS'], rows));
    }
    return EXIT_CODES.ok;
  },
});

/** `holdall user passwd`: sets the password of a user. */
export const USER_PASSWD = defineCommand<FileOptions>({
  name: 'user passwd',
  arguments: { '<user>': 'Username' },
  summary: 'Set the password of a user',
  details:
    'Prompts for the password, or reads it from stdin if that is not a terminal. A new password ends all sessions of the user.',
  options: [FILE_OPTION, JSON_OPTION],
  examples: { 'holdall user passwd ann': 'Set a password in the file of ACCESS_FILE' },
  async run({ args: [name = ''], options, ...context }) {
    const file = await accessFileOf(options.file, context);
    findUser(name, await loadAccessFile(file), file);
    const password = await readPasswordHash(context);
    let user: UserEntry | undefined;
    await editAccessFile(file, (access) => {
      user = { ...findUser(name, access, file), password };
      return [{ path: ['people', name, 'password'], value: password }];
    });
    if (options.json && user) context.print(toJson(describeUser(user)));
    else context.print(`Set the password of ${quoted(name)} in ${file}.\n`);
    return EXIT_CODES.ok;
  },
});

/** `holdall user remove`: removes a user, their tokens and their grants. */
export const USER_REMOVE = defineCommand<FileOptions>({
  name: 'user remove',
  arguments: { '<user>': 'Username' },
  summary: 'Remove a user with their tokens and grants',
  details:
    "Their share links and app tokens end permanently as soon as the running service reads the file. While it is stopped, don't add another user of the same name.",
  options: [FILE_OPTION, JSON_OPTION],
  examples: { 'holdall user remove ann': 'Remove a user from the file of ACCESS_FILE' },
  async run({ args: [name = ''], options, print, loadEnvironment }) {
    const file = await accessFileOf(options.file, { loadEnvironment });
    const removed = { tokens: 0, grants: 0 };
    await editAccessFile(file, (access) => {
      removed.tokens = findUser(name, access, file).tokens.length;
      const own = access.grants.flatMap(({ to }, index) => (to.kind === 'person' && to.name === name ? [index] : []));
      removed.grants = own.length;
      // From the last one, so that the indices of the others remain.
      const edits = own.toReversed().map((index): Edit => ({ path: ['grants', index], value: undefined }));
      return [{ path: ['people', name], value: undefined }, ...edits];
    });
    const counts = `tokens: ${removed.tokens}, grants: ${removed.grants}`;
    print(options.json ? toJson({ name, removed }) : `Removed the user ${quoted(name)} from ${file} (${counts}).\n`);
    return EXIT_CODES.ok;
  },
});

/** Returns a user. Throws `CommandFailed` if the file has none of that name. */
export function findUser(name: string, { users }: AccessFile, file: string): UserEntry {
  const user = users.find((each) => each.name === name);
  if (!user) throw new CommandFailed(`${file} has no user ${quoted(name)}.`);
  return user;
}

/** Throws `UsageError` if a text can't be the name of a user or a group. */
export function requireName(name: string): void {
  if (!isName(name)) {
    throw new UsageError(`A name has 1 to 200 characters and no control characters, not ${quoted(name)}.`);
  }
}

function rejectExisting(name: string, { users }: AccessFile, file: string): void {
  if (!users.some((user) => user.name === name)) return;
  throw new CommandFailed(
    `${file} already has the user ${quoted(name)}. To set a new password: holdall user passwd ${name}`,
  );
}

/** Returns a user for programs, without hashes. */
function describeUser({ name, password, groups, tokens }: UserEntry): object {
  return { name, hasPassword: password !== undefined, groups, tokens: tokens.map(describeToken) };
}

/** Returns a token for programs, without its hash. */
export function describeToken({ name, expires }: UserEntry['tokens'][number]) {
  return { name, expires: expires?.toISOString() ?? null, isExpired: expires !== undefined && expires <= new Date() };
}
