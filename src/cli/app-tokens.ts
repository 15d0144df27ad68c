import { createCreator } from '../access/creator.ts';
import { OPEN_POLICY, PERMISSIONS, type Permission, type Policy } from '../access/policy.ts';
import { type AppToken, type AppTokenSettings, parseName } from '../app-tokens/app-token.ts';
import { AppTokens } from '../app-tokens/app-tokens.ts';
import { describeForOperator } from '../app-tokens/descriptions.ts';
import { quoted } from '../model/error.ts';
import { parseExpiry } from '../model/expiry.ts';
import { ROOT } from '../model/path.ts';
import { EXIT_CODES } from '../system.ts';
import { loadAccessFile } from './access-file-editor.ts';
import {
  type CommandContext,
  defineCommand,
  JSON_OPTION,
  type JsonOptions,
  printable,
  toJson,
  toTable,
  UsageError,
} from './command.ts';
import { readExpiry } from './expiry.ts';
import { readFolder, readPermissions } from './grants.ts';
import { readEngine, withDatabase } from './open-database.ts';
import { findUser } from './users.ts';

interface NewOptions extends JsonOptions {
  readonly name?: string;
  readonly folder?: string;
  readonly permissions?: string;
  readonly expires?: string;
}

/** `holdall app-token new`: creates an app token. Its secret is shown once. */
export const APP_TOKEN_NEW = defineCommand<NewOptions>({
  name: 'app-token new',
  arguments: { '<user>': 'User of the access file' },
  summary: 'Create a token for one app of a user',
  details:
    'Prints the token once. It gives at most what its user can do at that moment. Does not check that the folder exists.',
  options: [
    { flags: '-n, --name <name>', help: 'Name of the app (default: the date)' },
    { flags: '--folder <folder>', help: 'Folder to which the token is limited (default: all files)' },
    { flags: '--permissions <list>', help: 'Permissions that the token gives at most (default: read,write,manage)' },
    { flags: '--expires <time>', help: 'Lifetime such as 90d, or a time such as 2027-01-01 (default: never)' },
    JSON_OPTION,
  ],
  examples: {
    'holdall app-token new ann --name Phone --folder photos/ --permissions read,write': 'Let a phone upload photos',
  },
  async run({ args: [userName = ''], options, print, explain, ...context }) {
    const { created, policy } = await withAppTokens(context, async ({ tokens, accessFile, policy: current }) => {
      if (accessFile === undefined) throw new UsageError('There are no users, because ACCESS_FILE is not set.');
      const { name } = findUser(userName, await loadAccessFile(accessFile), accessFile);
      // The policy adds the groups of the access file.
      const owner = createCreator({ name, groups: [] }, current);
      return { created: await tokens.create(readSettings(options), owner), policy: current };
    });
    const { token, secret } = created;
    if (options.json) {
      print(toJson({ ...describeForOperator(token, policy), secret }));
      return EXIT_CODES.ok;
    }
    explain(`Created the app token ${token.id} of ${quoted(userName)} for ${quoted(`/${token.folder}`)}.\n`);
    explain('It is shown only once; keep it as safe as a password:\n');
    print(`${secret}\n`);
    return EXIT_CODES.ok;
  },
});

/** `holdall app-token list`: lists the app tokens of all users, or of one. */
export const APP_TOKEN_LIST = defineCommand<JsonOptions>({
  name: 'app-token list',
  arguments: { '[user]': 'User of the tokens (default: all users)' },
  summary: 'List app tokens',
  details: 'The newest first. The tokens themselves are not stored.',
  options: [JSON_OPTION],
  examples: { 'holdall app-token list ann': 'List the app tokens of a user' },
  async run({ args: [userName], options, print, ...context }) {
    const { found, policy } = await withAppTokens(context, async ({ tokens, policy: current }) => ({
      found: await tokens.list(userName),
      policy: current,
    }));
    if (options.json) print(toJson(found.map((token) => describeForOperator(token, policy))));
    else
      print(
        toTable(
          COLUMNS,
          found.map((token) => rowOf(token, policy)),
        ),
      );
    return EXIT_CODES.ok;
  },
});

/** `holdall app-token revoke`: ends an app token, or all of a user. */
export const APP_TOKEN_REVOKE = defineCommand<JsonOptions & { readonly user?: string }>({
  name: 'app-token revoke',
  arguments: { '[id]': 'ID of the token' },
  summary: 'Revoke an app token',
  details:
    'A running service ends it within two seconds, with its requests and jobs in progress. With --user instead of an ID, revokes all app tokens of a user, who need not be in the access file.',
  options: [{ flags: '--user <user>', help: 'User whose tokens are all revoked' }, JSON_OPTION],
  examples: {
    'holdall app-token revoke ID': 'Revoke one token',
    'holdall app-token revoke --user ann': 'Revoke all app tokens of a user',
  },
  async run({ args: [id], options, print, ...context }) {
    const { user } = options;
    if ((id === undefined) === (user === undefined))
      throw new UsageError('Pass either the ID of a token or --user USER.');
    const revoked = await withAppTokens(context, async ({ tokens }) =>
      id === undefined ? tokens.revokeAll(user ?? '') : [await tokens.revoke(id)],
    );
    if (options.json) print(toJson({ revoked: revoked.map((token) => token.id) }));
    else if (id !== undefined) print(`Revoked the app token ${id}.\n`);
    else
      print(`Revoked ${revoked.length} app ${revoked.length === 1 ? 'token' : 'tokens'} of ${quoted(user ?? '')}.\n`);
    return EXIT_CODES.ok;
  },
});

interface Tables {
  readonly tokens: AppTokens;
  /** Undefined if `ACCESS_FILE` is not set. */
  readonly accessFile: string | undefined;
  /** The policy of the access file, or of a service without one. */
  readonly policy: Policy;
}

/** Opens the table of app tokens for `work`. */
async function withAppTokens<Result>(
  context: Pick<CommandContext, 'loadEnvironment'>,
  work: (tables: Tables) => Promise<Result>,
): Promise<Result> {
  const { config, engine } = await readEngine(context);
  const accessFile = config.ACCESS_FILE;
  const policy = accessFile === undefined ? OPEN_POLICY : (await loadAccessFile(accessFile)).policy;
  return withDatabase(engine, (database) => work({ tokens: new AppTokens(database), accessFile, policy }));
}

function readSettings({ name, folder, permissions, expires }: NewOptions): AppTokenSettings {
  const now = new Date();
  return {
    name: parseName(name ?? `token of ${now.toISOString().slice(0, 10)}`),
    folder: folder === undefined ? ROOT : readFolder(folder),
    permissions: permissions === undefined ? PERMISSIONS : readSome(permissions),
    expiresAt: expires === undefined ? undefined : parseExpiry(readExpiry(expires, now)),
  };
}

function readSome(text: string): readonly Permission[] {
  const permissions = readPermissions(text);
  if (permissions.length > 0) return permissions;
  throw new UsageError('A token without permissions is useless. Pass read, write or manage, separated by commas.');
}

const COLUMNS = ['ID', 'USER', 'NAME', 'FOLDER', 'PERMISSIONS', 'LAST USED', 'EXPIRES', 'STATE'];

function rowOf(token: AppToken, policy: Policy): string[] {
  const { id, user, name, folder, permissions, lastUsedAt, expiresAt, inactiveReason } = describeForOperator(
    token,
    policy,
  );
  return [
    id,
    printable(user),
    printable(name),
    printable(`/${folder}`),
    permissions.join(','),
    lastUsedAt ?? 'never',
    expiresAt ?? 'never',
    inactiveReason === undefined ? 'active' : STATES[inactiveReason],
  ];
}

/** Why a token is not active. */
const STATES = { expired: 'expired', owner: 'its user was removed' } as const;
