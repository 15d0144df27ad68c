import { isIPv6 } from 'node:net';
import type { AccessFile } from '../access/access-file.ts';
import { type Creator, createCreator } from '../access/creator.ts';
import { OPEN_POLICY, type Policy } from '../access/policy.ts';
import type { Config } from '../config/settings.ts';
import { describeLink } from '../links/descriptions.ts';
import {
  type Link,
  type LinkPermission,
  type LinkSettings,
  linkUrl,
  PERMISSION_OF_SETTING,
  parseLabel,
  parsePermissions,
} from '../links/link.ts';
import { Links } from '../links/links.ts';
import { quoted } from '../model/error.ts';
import { parseExpiry } from '../model/expiry.ts';
import { type FilePath, type FolderPath, isFolder, parseFile, parseFolder } from '../model/path.ts';
import { MAX_PAGE } from '../model/store.ts';
import { integer, positiveSize } from '../settings/readers.ts';
import { EXIT_CODES } from '../system.ts';
import { loadAccessFile } from './access-file-editor.ts';
import {
  type CommandContext,
  CommandFailed,
  checkOf,
  defineCommand,
  JSON_OPTION,
  type JsonOptions,
  printable,
  toJson,
  toTable,
  UsageError,
  valueOf,
} from './command.ts';
import { readExpiry } from './expiry.ts';
import { readEngine, withDatabase } from './open-database.ts';
import { readPasswordHash } from './password.ts';
import { findUser } from './users.ts';

interface CreateOptions extends JsonOptions {
  readonly permissions?: string;
  readonly label?: string;
  readonly expires?: string;
  readonly password?: true;
  readonly maxDownloads?: string;
  readonly maxUploads?: string;
  readonly maxUploadBytes?: string;
  readonly askSender?: true;
  readonly as?: string;
}

const COUNT = integer(1, Number.MAX_SAFE_INTEGER);

/** `holdall link create`: creates a share link. Its URL is shown once. */
export const LINK_CREATE = defineCommand<CreateOptions>({
  name: 'link create',
  arguments: { '<path>': 'File, or folder with a "/" at the end, such as photos/' },
  summary: 'Share a file or folder by a link',
  details:
    'Prints the URL for visitors once. The link gives at most what its creator can do at that moment, so with an access file, --as is required. Does not check that the path exists.',
  options: [
    { flags: '--permissions <list>', help: 'read, write (visitors only upload) or read,write (default: read)' },
    { flags: '--label <text>', help: 'Note, which visitors also see' },
    { flags: '--expires <time>', help: 'Lifetime such as 30d, or a time such as 2027-01-01 (default: never)' },
    { flags: '--password', help: 'Require a password: prompts for it, or reads it from stdin' },
    {
      flags: '--max-downloads <count>',
      help: 'How many downloads the link allows (default: any number)',
      check: checkOf(COUNT),
    },
    {
      flags: '--max-uploads <count>',
      help: 'How many uploads and new folders the link allows (default: any number)',
      check: checkOf(COUNT),
    },
    {
      flags: '--max-upload-bytes <size>',
      help: 'Maximum size of each uploaded file, such as 50MB (default: any size)',
      check: checkOf(positiveSize),
    },
    { flags: '--ask-sender', help: 'Require the name of the sender, which becomes the folder of their files' },
    { flags: '--as <user>', help: 'User of the access file who is the creator of the link' },
    JSON_OPTION,
  ],
  examples: {
    'holdall link create photos/ --as ann --expires 30d': 'Share a folder for a month',
    'holdall link create inbox/ --as ann --permissions write --ask-sender': 'Request files',
  },
  async run({ args: [text = ''], options, print, explain, stdin, ...context }) {
    const { link, token, root, policy } = await withLinks(context, async (tables) => {
      const path = readPath(text);
      const settings = readSettings(options, path);
      const creator = findCreator(options.as, tables);
      requirePermissions(creator, { permissions: settings.permissions, path, policy: tables.policy });
      const passwordHash = options.password ? await readPasswordHash({ stdin, explain }) : undefined;
      const created = await tables.links.create(path, { ...settings, passwordHash }, creator, {
        since: await tables.links.follow(),
      });
      return { ...created, root: rootOf(tables.config), policy: tables.policy };
    });
    const url = linkUrl(root, token);
    if (options.json) {
      print(toJson({ ...describeLink(link, policy), token, url }));
      return EXIT_CODES.ok;
    }
    // Without its "/" at the end, a folder would be shared as a file that does not exist.
    const item = `${isFolder(link.path) ? 'folder' : 'file'} ${quoted(`/${link.path}`)}`;
    explain(`Created the link ${link.id} to the ${item}. Its URL is shown only once:\n`);
    print(`${url}\n`);
    return EXIT_CODES.ok;
  },
});

/** `holdall link list`: lists the links of all users. */
export const LINK_LIST = defineCommand<JsonOptions & { readonly below?: string }>({
  name: 'link list',
  summary: 'List the share links of all users',
  details: 'The newest first. The URLs of links are not stored.',
  options: [{ flags: '--below <folder>', help: 'Only links to this folder and to anything in it' }, JSON_OPTION],
  examples: { 'holdall link list --below photos/': 'List the links to a folder' },
  async run({ options, print, ...context }) {
    const { below } = options;
    const { found, policy } = await withLinks(context, async (tables) => ({
      found: await listAll(tables.links, below === undefined ? undefined : parseFolder(below)),
      policy: tables.policy,
    }));
    if (options.json) print(toJson(found.map((link) => describeLink(link, policy))));
    else
      print(
        toTable(
          COLUMNS,
          found.map((link) => rowOf(link, policy)),
        ),
      );
    return EXIT_CODES.ok;
  },
});

/** `holdall link revoke`: ends a link. */
export const LINK_REVOKE = defineCommand<JsonOptions>({
  name: 'link revoke',
  arguments: { '<id>': 'ID of the link' },
  summary: 'Revoke a share link',
  details: 'Ends it at once. Responses to its visitors that are in progress end within two seconds.',
  options: [JSON_OPTION],
  examples: { 'holdall link revoke ID': 'Revoke a link' },
  async run({ args: [id = ''], options, print, ...context }) {
    await withLinks(context, ({ links }) => links.revoke(id));
    print(options.json ? toJson({ id, revoked: true }) : `Revoked the link ${id}.\n`);
    return EXIT_CODES.ok;
  },
});

interface Tables {
  readonly links: Links;
  /** Undefined if `ACCESS_FILE` is not set. */
  readonly access: AccessFile | undefined;
  /** The policy of the access file, or of a service without one. */
  readonly policy: Policy;
  readonly config: Config;
}

/** Opens the table of links for `work`. */
async function withLinks<Result>(
  context: Pick<CommandContext, 'loadEnvironment'>,
  work: (tables: Tables) => Promise<Result>,
): Promise<Result> {
  const { config, engine } = await readEngine(context);
  const access = config.ACCESS_FILE === undefined ? undefined : await loadAccessFile(config.ACCESS_FILE);
  const policy = access?.policy ?? OPEN_POLICY;
  return withDatabase(engine, (database) => work({ links: new Links(database, () => policy), access, policy, config }));
}

/** Returns the creator of a new link. Without an access file, it is anonymous and has all permissions. */
function findCreator(
  name: string | undefined,
  { access, policy, config: { ACCESS_FILE: file } }: Omit<Tables, 'links'>,
): Creator | undefined {
  if (!access || file === undefined) {
    if (name !== undefined) throw new UsageError('--as has no effect, because ACCESS_FILE is not set.');
    return undefined;
  }
  if (name === undefined) {
    throw new UsageError(
      'The link needs a creator, whose permissions limit it. Pass --as USER, a user of the access file.',
    );
  }
  const user = findUser(name, access, file);
  // The policy adds the groups of the access file.
  return createCreator({ name: user.name, groups: [] }, policy);
}

/** Throws `CommandFailed` unless the creator has all permissions of the link. */
function requirePermissions(
  creator: Creator | undefined,
  {
    permissions,
    path,
    policy,
  }: {
    readonly permissions: readonly LinkPermission[];
    readonly path: FilePath | FolderPath;
    readonly policy: Policy;
  },
): void {
  const missing = permissions.find((permission) => !policy.allows(creator, permission, path));
  if (missing === undefined) return;
  throw new CommandFailed(
    `${quoted(creator?.name ?? 'everyone')} doesn't have the permission "${missing}" for ${quoted(`/${path}`)}.`,
  );
}

/** Returns the settings of a new link, except its password. */
function readSettings(options: CreateOptions, path: FilePath | FolderPath): Omit<LinkSettings, 'passwordHash'> {
  const permissions = parsePermissions(readPermissions(options.permissions), path);
  requireUseful(options, permissions);
  return {
    permissions,
    label: parseLabel(options.label),
    expiresAt: options.expires === undefined ? undefined : parseExpiry(readExpiry(options.expires, new Date())),
    maxDownloads: valueOf(COUNT, options.maxDownloads),
    maxUploads: valueOf(COUNT, options.maxUploads),
    maxUploadBytes: valueOf(positiveSize, options.maxUploadBytes),
    asksSender: options.askSender === true,
  };
}

/** Throws `UsageError` for an option that has no effect with the permissions of the link. */
function requireUseful(options: CreateOptions, permissions: readonly LinkPermission[]): void {
  for (const [name, permission] of PERMISSION_OF_SETTING) {
    if (options[name] === undefined || permissions.includes(permission)) continue;
    const flag = `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    throw new UsageError(`${flag} has no effect without the permission "${permission}".`);
  }
}

function readPath(text: string): FilePath | FolderPath {
  // A script whose variable is empty must not share all files.
  if (text === '') throw new UsageError('The path is empty. Pass "/" to share all files.');
  return text.endsWith('/') ? parseFolder(text) : parseFile(text);
}

function readPermissions(text = 'read'): LinkPermission[] {
  return text.split(',').map((part) => {
    const name = part.trim();
    if (name === 'read' || name === 'write') return name;
    throw new UsageError(`--permissions must be read, write or read,write, not ${quoted(text)}.`);
  });
}

/** Returns the URL of the service: PUBLIC_URL, or its address on this machine. */
function rootOf({ PUBLIC_URL, HOST, PORT, BASE_PATH }: Config): string {
  if (PUBLIC_URL !== undefined) return PUBLIC_URL;
  const host = HOST === '0.0.0.0' || HOST === '::' ? '127.0.0.1' : HOST;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${PORT}${BASE_PATH}`;
}

async function listAll(links: Links, below: FolderPath | undefined): Promise<Link[]> {
  const found: Link[] = [];
  let cursor: string | undefined;
  do {
    const page = await links.list({ limit: MAX_PAGE, below, cursor });
    found.push(...page.links);
    ({ cursor } = page);
  } while (cursor !== undefined);
  return found;
}

const COLUMNS = ['ID', 'PATH', 'PERMISSIONS', 'CREATOR', 'EXPIRES', 'DOWNLOADS', 'UPLOADS', 'STATE', 'LABEL'];

function rowOf(link: Link, policy: Policy): string[] {
  const { id, path, permissions, creator, expiresAt, inactiveReason } = describeLink(link, policy);
  const use = (count: number, max: number | undefined) => (max === undefined ? `${count}` : `${count}/${max}`);
  return [
    id,
    printable(`/${path}`),
    permissions.join(','),
    printable(creator ?? ''),
    expiresAt ?? 'never',
    use(link.downloads, link.maxDownloads),
    use(link.uploads, link.maxUploads),
    inactiveReason === undefined ? 'active' : STATES[inactiveReason],
    printable(link.label ?? ''),
  ];
}

/** Why a link is not active. */
const STATES = {
  expired: 'expired',
  permission: 'its creator lost the permission',
  item: 'its file or folder is gone',
  downloads: 'download limit reached',
  uploads: 'upload limit reached',
} as const;
