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
  const tokens = users.flatMap((person) => person.tokens).length;
  const counts = [count(users.length, 'person', 'people'), count(tokens, 'token'), count(grants.length, 'grant')];
  print(`${file} is right: ${counts.join(', ')}.\n`);
  for (const note of warnings) print(`  ${note}\n`);
  return 0;
}

function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
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
  if (!isVerb(verb)) throw usage(`VERB must be one of ${Object.keys(NEEDS).join(', ')}.`);
  const path = readPath(text, verb);
  const file = values.file ?? environment['ACCESS_FILE'];
  if (!file) throw usage('--file is needed, where ACCESS_FILE is not set.');
  const access = await readAccess(file);
  const who = identify(name, values.group ?? [], access);

  if (path === ROOT && NEEDS[verb].notToRoot) {
    print(`Nobody may ${sayVerb(verb, path)} "/", whatever they are given: the service refuses that of the root.\n`);
    return 1;
  }
  const explained = questionsOf(verb, path).map((question) => explainRight(access, { who, ...question }));
  const isAllowed = explained.every(({ allowed }) => allowed);
  const subject = who === undefined ? 'Somebody who is not signed in' : quoted(who.name);
  print(`${subject} ${isAllowed ? 'may' : 'may not'} ${sayVerb(verb, path)} ${quoted(`/${path}`)}.\n`);
  for (const { lines } of explained) print(lines.map((line) => `  ${line}\n`).join(''));
  if (verb === 'list' && isFolder(path) && !isAllowed && access.policy.isVisible(who, path)) {
    print('  Its listing shows nothing but the folders on the way to what they may do.\n');
  }
  return isAllowed ? 0 : 1;
}

const isVerb = (text: string): text is Verb => Object.hasOwn(NEEDS, text);

/** Parses a path. A folder ends with `/`, except for verbs that apply only to folders. */
function readPath(text: string, verb: Verb): FilePath | FolderPath {
  const isOfFolder = NEEDS[verb].file === undefined || text === '' || text.endsWith('/');
  if (isOfFolder && NEEDS[verb].folder === undefined) throw usage(`PATH must be that of a file for "${verb}".`);
  try {
    return isOfFolder ? parseFolder(text) : parseFile(text);
  } catch (error) {
    if (isStoreError(error)) throw usage(error.message);
    throw error;
  }
}

/** Returns the permissions that an operation needs, and the paths where it needs them. */
function questionsOf(verb: Verb, path: FilePath | FolderPath): Omit<Question, 'who'>[] {
  const { file = [], folder = [], throughout = false, beside = [] } = NEEDS[verb];
  if (!isFolder(path)) return file.map((right) => ({ right, path, throughout, where: 'there' }));
  return [
    ...folder.map((right) => ({ right, path, throughout, where: 'there' })),
    ...beside.map((right) => {
      const parent = parentOf(path);
      return {
        right,
        path: parent,
        throughout: false,
        where: `in ${quoted(`/${parent}`)}, where the new name will be`,
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
    if (groups.length > 0) throw usage('--group is for somebody who is signed in.');
    return undefined;
  }
  // Users of an identity provider need not be in the file.
  if (policy.userEntry(name) || groups.length > 0) return { name, groups };
  throw usage(`There is no ${quoted(name)} in the file. For somebody whom a provider tells of, say a --group.`);
}

function usage(problem: string): UsageError {
  return new UsageError('access explain', problem);
}

/** A question whether a user has a permission on a path. */
export interface Question {
  readonly who: Identity | undefined;
  readonly right: Permission;
  readonly path: FilePath | FolderPath;
  /** Whether the permission is also needed everywhere below the folder. */
  readonly throughout: boolean;
  /** Describes the path, for the output. */
  readonly where: string;
}

/** Decides whether a user has a permission, and lists the grants that decide it as lines of text. */
export function explainRight(
  access: AccessFile,
  { who, right, path, throughout, where }: Question,
): { readonly allowed: boolean; readonly lines: readonly string[] } {
  const { policy } = access;
  const decision = policy.decide(who, right, path);
  const lines = [
    `"${right}" is ${decision.allowed ? 'given' : 'not given'} ${where}:`,
    ...describeDecision(access, right, decision),
  ];
  if (!throughout || !isFolder(path) || !decision.allowed) return { allowed: decision.allowed, lines };
  const closed = policy.grantFoldersBelow(who, path).filter((folder) => !policy.allows(who, right, folder));
  for (const folder of closed) {
    lines.push(`"${right}" is needed in all of it, and is not given in ${quoted(`/${folder}`)}:`);
    lines.push(...describeDecision(access, right, policy.decide(who, right, folder)));
  }
  return { allowed: closed.length === 0, lines };
}

function describeDecision(access: AccessFile, right: Permission, { effective, overridden }: Decision): string[] {
  const name = (grant: Grant) => `line ${access.lineOf(grant)}`;
  if (effective.length === 0) return ['  no grant is for them there, and what no grant gives is not allowed.'];
  const decides = effective.map((grant) => {
    const verdict = grant.permissions.includes(right) ? 'gives it' : 'holds, and does not give it';
    return `  ${name(grant)}, ${describeGrant(grant)}: ${verdict}.`;
  });
  const loses = overridden.map(({ grant, by }) => {
    const why = by.to.kind === grant.to.kind ? 'whose folder is deeper' : `which is closer: ${describeSubject(by)}`;
    return `  ${name(grant)}, ${describeGrant(grant)}: overruled by ${name(by)}, ${why}.`;
  });
  return [...decides, ...loses];
}

function describeGrant(grant: Grant): string {
  const rights = grant.permissions.length === 0 ? 'nothing' : grant.permissions.join(', ');
  return `${quoted(`/${grant.folder}`)} ${describeSubject(grant)} (${rights})`;
}

function describeSubject({ to }: Grant): string {
  switch (to.kind) {
    case 'person':
    case 'group':
      return `to the ${to.kind} ${quoted(to.name)}`;
    case 'signed-in':
      return 'to all who are signed in';
    case 'everyone':
      return 'to everyone';
  }
}

/** The permissions that an operation needs on a file or a folder. */
export interface Need {
  /** Undefined if the operation does not apply to files. */
  readonly file?: readonly Permission[];
  readonly folder?: readonly Permission[];
  /** Whether the permissions are also needed everywhere below the folder. */
  readonly throughout?: true;
  /** Additional permissions for a folder, needed in its parent folder, which will contain the new name. */
  readonly beside?: readonly Permission[];
  /** Whether the operation is denied on the root, whatever the grants. */
  readonly notToRoot?: true;
}

/** Properties of operations on whole folders. */
const WHOLE = { throughout: true, notToRoot: true } as const;

/** Permissions and operations by verb, as in docs/access.md. A copy or move has one verb for each end. */
const needs = {
  read: { file: ['read'], folder: ['read'] },
  write: { file: ['write'], folder: ['write'] },
  manage: { file: ['manage'], folder: ['manage'] },
  list: { folder: ['read'] },
  fetch: { file: ['read'] },
  upload: { file: ['write'], folder: ['write'] },
  replace: { file: ['write', 'manage'], folder: ['write', 'manage'], ...WHOLE },
  create: { folder: ['write'], notToRoot: true },
  delete: { file: ['manage'], folder: ['manage'], ...WHOLE },
  rename: { file: ['manage'], folder: ['read', 'manage'], beside: ['write'], ...WHOLE },
  'copy-from': { file: ['read'], folder: ['read'], ...WHOLE },
  'copy-to': { file: ['write'], folder: ['write'], ...WHOLE },
  'move-from': { file: ['read', 'manage'], folder: ['read', 'manage'], ...WHOLE },
  'move-to': { file: ['write'], folder: ['write'], ...WHOLE },
} satisfies Record<string, Need>;

export type Verb = keyof typeof needs;

export const NEEDS: Readonly<Record<Verb, Need>> = needs;

/** Returns a verb with its object, to precede a path: `copy to the folder`. */
export function sayVerb(verb: Verb, path: FilePath | FolderPath): string {
  if (!isFolder(path)) return `${WORDS[verb] ?? verb} the file`;
  return `${WORDS_OF_FOLDERS[verb] ?? WORDS[verb] ?? verb} the folder`;
}

const WORDS: Partial<Readonly<Record<Verb, string>>> = {
  'copy-from': 'copy',
  'copy-to': 'copy something to',
  'move-from': 'move',
  'move-to': 'move something to',
};

const WORDS_OF_FOLDERS: typeof WORDS = { write: 'write to', upload: 'upload to' };
