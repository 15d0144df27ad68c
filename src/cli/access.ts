import { type AccessFile, parseAccessFile } from '../access/access-file.ts';
import { AccessFileError, readAccessFile } from '../access/access-file-syntax.ts';
import type { Decision, Grant, Identity, Permission } from '../access/policy.ts';
import { isStoreError, quoted } from '../model/error.ts';
import { type FilePath, type FolderPath, isFolder, parentOf, parseFile, parseFolder, ROOT } from '../model/path.ts';
import { type CommandContext, CommandFailed, readArguments, UsageError } from './command.ts';

/** `holdall access check FILE`: validates an access file, and prints every mistake in it. */
export async function checkAccess({ args, print }: CommandContext): Promise<number> {
  const { positionals } = readArguments('access check', args, { options: {}, names: ['FILE'] });
  const [file = ''] = positionals;
  const { text } = await readAccessFile(file);
  const { users, grants, warnings } = parseAccessFile(text, file);
  const tokens = users.flatMap((user) => user.tokens).length;
  const counts = [count(users.length, 'user'), count(tokens, 'token'), count(grants.length, 'grant')];
  print(`${file} is valid: ${counts.join(', ')}.\n`);
  for (const note of warnings) print(`  ${note}\n`);
  return 0;
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/**
 * `holdall access explain NAME VERB PATH`: prints whether a user can do something, and the grants that decide it. Exit
 * codes: 0 if allowed, 1 if denied, 2 if that can't be determined.
 */
export async function explainAccess({ args, environment, print }: CommandContext): Promise<number> {
  const { values, positionals } = readArguments('access explain', args, {
    options: { file: { type: 'string' }, group: { type: 'string', multiple: true } },
    names: ['NAME', 'VERB', 'PATH'],
  });
  const [name = '', verb = '', text = ''] = positionals;
  if (!isVerb(verb)) throw usage(`VERB must be one of ${Object.keys(REQUIREMENTS).join(', ')}.`);
  const path = readPath(text, verb);
  const file = values.file ?? environment['ACCESS_FILE'];
  if (!file) throw usage('--file is required if ACCESS_FILE is not set.');
  const access = await readAccess(file);
  const user = identify(name, values.group ?? [], access);

  if (path === ROOT && REQUIREMENTS[verb].notOnRoot) {
    print(`No user may ${describeVerb(verb, path)} "/": Holdall never allows this on the root.\n`);
    return 1;
  }
  const explained = requiredPermissions(verb, path).map((query) => explainPermission(access, { user, ...query }));
  const isAllowed = explained.every(({ allowed }) => allowed);
  const subject = user === undefined ? 'An anonymous user' : quoted(user.name);
  print(`${subject} ${isAllowed ? 'may' : 'may not'} ${describeVerb(verb, path)} ${quoted(`/${path}`)}.\n`);
  for (const { lines } of explained) print(lines.map((line) => `  ${line}\n`).join(''));
  if (verb === 'list' && isFolder(path) && !isAllowed && access.policy.isVisible(user, path)) {
    print('  The listing shows only the folders that lead to accessible folders.\n');
  }
  return isAllowed ? 0 : 1;
}

const isVerb = (text: string): text is Verb => Object.hasOwn(REQUIREMENTS, text);

/** Parses a path. A folder ends with `/`, except for verbs that apply only to folders. */
function readPath(text: string, verb: Verb): FilePath | FolderPath {
  const isOfFolder = REQUIREMENTS[verb].file === undefined || text === '' || text.endsWith('/');
  if (isOfFolder && REQUIREMENTS[verb].folder === undefined) throw usage(`PATH must be a file for "${verb}".`);
  try {
    return isOfFolder ? parseFolder(text) : parseFile(text);
  } catch (error) {
    if (isStoreError(error)) throw usage(error.message);
    throw error;
  }
}

/** Returns the permissions that an operation needs, and the paths where it needs them. */
function requiredPermissions(verb: Verb, path: FilePath | FolderPath): Omit<PermissionQuery, 'user'>[] {
  const { file = [], folder = [], throughout = false, inParent = [] } = REQUIREMENTS[verb];
  if (!isFolder(path)) return file.map((permission) => ({ permission, path, throughout, where: 'there' }));
  return [
    ...folder.map((permission) => ({ permission, path, throughout, where: 'there' })),
    ...inParent.map((permission) => {
      const parent = parentOf(path);
      return {
        permission,
        path: parent,
        throughout: false,
        where: `in ${quoted(`/${parent}`)}, which will contain the new name`,
      };
    }),
  ];
}

async function readAccess(file: string): Promise<AccessFile> {
  try {
    return parseAccessFile((await readAccessFile(file)).text, file);
  } catch (error) {
    // Exit code 1 would mean that access is denied.
    if (error instanceof AccessFileError) throw new CommandFailed(error.message, { code: 2 });
    throw error;
  }
}

/** Returns the identity of a user; undefined for `everyone`, the anonymous user. */
function identify(name: string, groups: readonly string[], { policy }: AccessFile): Identity | undefined {
  if (name === 'everyone') {
    if (groups.length > 0) throw usage('--group can\'t be combined with "everyone".');
    return undefined;
  }
  // Users of an identity provider need not be in the file.
  if (policy.userEntry(name) || groups.length > 0) return { name, groups };
  throw usage(`The file has no user ${quoted(name)}. For a user of the identity provider, pass --group.`);
}

function usage(problem: string): UsageError {
  return new UsageError('access explain', problem);
}

/** A query whether a user has a permission on a path. */
export interface PermissionQuery {
  readonly user: Identity | undefined;
  readonly permission: Permission;
  readonly path: FilePath | FolderPath;
  /** Whether the permission is also needed everywhere below the folder. */
  readonly throughout: boolean;
  /** Describes the path, for the output. */
  readonly where: string;
}

/** Decides whether a user has a permission, and lists the grants that decide it as lines of text. */
export function explainPermission(
  access: AccessFile,
  { user, permission, path, throughout, where }: PermissionQuery,
): { readonly allowed: boolean; readonly lines: readonly string[] } {
  const { policy } = access;
  const decision = policy.decide(user, permission, path);
  const lines = [
    `"${permission}" is ${decision.allowed ? 'granted' : 'not granted'} ${where}:`,
    ...describeDecision(access, permission, decision),
  ];
  if (!throughout || !isFolder(path) || !decision.allowed) return { allowed: decision.allowed, lines };
  const denied = policy.grantFoldersBelow(user, path).filter((folder) => !policy.allows(user, permission, folder));
  for (const folder of denied) {
    lines.push(`"${permission}" is required for the whole folder, but not granted in ${quoted(`/${folder}`)}:`);
    lines.push(...describeDecision(access, permission, policy.decide(user, permission, folder)));
  }
  return { allowed: denied.length === 0, lines };
}

function describeDecision(access: AccessFile, permission: Permission, { effective, overridden }: Decision): string[] {
  const name = (grant: Grant) => `line ${access.lineOf(grant)}`;
  if (effective.length === 0) return ['  no grant applies. Without a matching grant, access is denied.'];
  const effectiveLines = effective.map((grant) => {
    const verdict = grant.permissions.includes(permission) ? 'grants it' : 'applies, but does not grant it';
    return `  ${name(grant)}, ${describeGrant(grant)}: ${verdict}.`;
  });
  const overriddenLines = overridden.map(({ grant, by }) => {
    const why =
      by.to.kind === grant.to.kind ? 'whose folder is deeper' : `which is more specific: ${describeSubject(by)}`;
    return `  ${name(grant)}, ${describeGrant(grant)}: overridden by ${name(by)}, ${why}.`;
  });
  return [...effectiveLines, ...overriddenLines];
}

function describeGrant(grant: Grant): string {
  const permissions = grant.permissions.length === 0 ? 'nothing' : grant.permissions.join(', ');
  return `${quoted(`/${grant.folder}`)} ${describeSubject(grant)} (${permissions})`;
}

function describeSubject({ to }: Grant): string {
  switch (to.kind) {
    case 'person':
    case 'group':
      return `to the ${to.kind} ${quoted(to.name)}`;
    case 'signed-in':
      return 'to all signed-in users';
    case 'everyone':
      return 'to everyone';
  }
}

/** The permissions that an operation needs on a file or a folder. */
export interface Requirement {
  /** Undefined if the operation does not apply to files. */
  readonly file?: readonly Permission[];
  readonly folder?: readonly Permission[];
  /** Whether the permissions are also needed everywhere below the folder. */
  readonly throughout?: true;
  /** Additional permissions for a folder, needed in its parent folder, which will contain the new name. */
  readonly inParent?: readonly Permission[];
  /** Whether the operation is denied on the root, whatever the grants. */
  readonly notOnRoot?: true;
}

/** Properties of operations on whole folders. */
const WHOLE_FOLDER = { throughout: true, notOnRoot: true } as const;

/** Permissions and operations by verb, as in docs/reference/access-file.md. A copy or move has one verb for each end. */
const requirements = {
  read: { file: ['read'], folder: ['read'] },
  write: { file: ['write'], folder: ['write'] },
  manage: { file: ['manage'], folder: ['manage'] },
  list: { folder: ['read'] },
  fetch: { file: ['read'] },
  upload: { file: ['write'], folder: ['write'] },
  replace: { file: ['write', 'manage'], folder: ['write', 'manage'], ...WHOLE_FOLDER },
  create: { folder: ['write'], notOnRoot: true },
  delete: { file: ['manage'], folder: ['manage'], ...WHOLE_FOLDER },
  rename: { file: ['manage'], folder: ['read', 'manage'], inParent: ['write'], ...WHOLE_FOLDER },
  'copy-from': { file: ['read'], folder: ['read'], ...WHOLE_FOLDER },
  'copy-to': { file: ['write'], folder: ['write'], ...WHOLE_FOLDER },
  'move-from': { file: ['read', 'manage'], folder: ['read', 'manage'], ...WHOLE_FOLDER },
  'move-to': { file: ['write'], folder: ['write'], ...WHOLE_FOLDER },
} satisfies Record<string, Requirement>;

export type Verb = keyof typeof requirements;

export const REQUIREMENTS: Readonly<Record<Verb, Requirement>> = requirements;

/** Returns a verb with its object, to precede a path: `copy to the folder`. */
export function describeVerb(verb: Verb, path: FilePath | FolderPath): string {
  if (!isFolder(path)) return `${VERB_PHRASES[verb] ?? verb} the file`;
  return `${FOLDER_VERB_PHRASES[verb] ?? VERB_PHRASES[verb] ?? verb} the folder`;
}

const VERB_PHRASES: Partial<Readonly<Record<Verb, string>>> = {
  'copy-from': 'copy',
  'copy-to': 'copy something to',
  'move-from': 'move',
  'move-to': 'move something to',
};

const FOLDER_VERB_PHRASES: typeof VERB_PHRASES = { write: 'write to', upload: 'upload to' };
