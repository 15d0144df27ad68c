import { createToken } from '../access/credentials.ts';
import { isName } from '../access/policy.ts';
import { quoted } from '../model/error.ts';
import { EXIT_CODES } from '../system.ts';
import { editAccessFile, loadAccessFile } from './access-file-editor.ts';
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
import { readExpiry } from './expiry.ts';
import { describeToken, findUser } from './users.ts';

interface NewTokenOptions extends FileOptions {
  readonly name?: string;
  readonly expires?: string;
}

/** `holdall token new`: creates a token. Only its hash is stored. */
export const TOKEN_NEW = defineCommand<NewTokenOptions>({
  name: 'token new',
  arguments: { '[user]': 'User of the token' },
  summary: 'Create an access token',
  details:
    'Prints the token once, and adds its hash to the user in the access file. Without a user, prints the entry for the access file instead.',
  options: [
    { flags: '-n, --name <name>', help: 'Name of the token (default: the date)' },
    { flags: '--expires <time>', help: 'Lifetime such as 90d, or a time such as 2027-01-01' },
    FILE_OPTION,
    JSON_OPTION,
  ],
  examples: {
    'holdall token new ann --name laptop --expires 90d': 'Add a token to the file of ACCESS_FILE',
    'holdall token new --name laptop': 'Print a token and its entry for the access file',
  },
  async run({ args: [user], options, loadEnvironment, print, explain }) {
    const now = new Date();
    const name = options.name ?? `token of ${now.toISOString().slice(0, 10)}`;
    if (!isName(name)) throw new UsageError('--name must have 1 to 200 characters and no control characters.');
    const expires = options.expires === undefined ? undefined : readExpiry(options.expires, now);
    const { token, hash } = createToken();
    const entry = { name, hash, ...(expires !== undefined && { expires }) };
    const file = user === undefined ? undefined : await accessFileOf(options.file, { loadEnvironment });
    if (user !== undefined && file !== undefined) await addToken(file, user, entry);
    if (options.json) {
      print(toJson({ token, user: user ?? null, ...entry, expires: expires ?? null }));
      return EXIT_CODES.ok;
    }
    explain('Your new token. It is shown only once; keep it as safe as a password:\n');
    print(`${token}\n`);
    if (user !== undefined) {
      explain(`Added ${quoted(name)} to the tokens of ${quoted(user)} in ${file}.\n`);
    } else {
      explain('Add this entry to "tokens" of its user in the access file:\n');
      explain(toJson(entry));
    }
    return EXIT_CODES.ok;
  },
});

async function addToken(file: string, user: string, entry: { readonly name: string }): Promise<void> {
  await editAccessFile(file, (access) => {
    const { tokens } = findUser(user, access, file);
    if (tokens.some(({ name }) => name === entry.name)) {
      throw new CommandFailed(`${quoted(user)} already has a token ${quoted(entry.name)}. Choose another --name.`);
    }
    const path = ['people', user, 'tokens'];
    // The key can be missing if there are no tokens.
    return [tokens.length === 0 ? { path, value: [entry] } : { path: [...path, -1], value: entry }];
  });
}

/** `holdall token list`: lists tokens of the access file. */
export const TOKEN_LIST = defineCommand<FileOptions>({
  name: 'token list',
  arguments: { '[user]': 'User of the tokens (default: all users)' },
  summary: 'List the tokens in the access file',
  options: [FILE_OPTION, JSON_OPTION],
  examples: { 'holdall token list ann': 'List the tokens of a user' },
  async run({ args: [name], options, loadEnvironment, print }) {
    const file = await accessFileOf(options.file, { loadEnvironment });
    const access = await loadAccessFile(file);
    const users = name === undefined ? access.users : [findUser(name, access, file)];
    const tokens = users.flatMap((user) => user.tokens.map((token) => ({ user: user.name, ...describeToken(token) })));
    if (options.json) {
      print(toJson(tokens));
      return EXIT_CODES.ok;
    }
    const rows = tokens.map(({ user, name: token, expires, isExpired }) => [
      printable(user),
      printable(token),
      expires === null ? 'never' : `${expires}${isExpired ? ' (expired)' : ''}`,
    ]);
    print(toTable(['USER', 'TOKEN', 'EXPIRES'], rows));
    return EXIT_CODES.ok;
  },
});

/** `holdall token revoke`: removes a token from the access file. */
export const TOKEN_REVOKE = defineCommand<FileOptions>({
  name: 'token revoke',
  arguments: { '<user>': 'User of the token', '<token>': 'Name of the token' },
  summary: 'Remove a token from the access file',
  options: [FILE_OPTION, JSON_OPTION],
  examples: { 'holdall token revoke ann laptop': 'Remove a token from the file of ACCESS_FILE' },
  async run({ args: [user = '', name = ''], options, loadEnvironment, print }) {
    const file = await accessFileOf(options.file, { loadEnvironment });
    await editAccessFile(file, (access) => {
      const index = findUser(user, access, file).tokens.findIndex((token) => token.name === name);
      if (index === -1) {
        throw new CommandFailed(`${quoted(user)} has no token ${quoted(name)}. List the tokens: holdall token list`);
      }
      return [{ path: ['people', user, 'tokens', index], value: undefined }];
    });
    print(
      options.json
        ? toJson({ user, name, removed: true })
        : `Revoked the token ${quoted(name)} of ${quoted(user)} in ${file}.\n`,
    );
    return EXIT_CODES.ok;
  },
});
